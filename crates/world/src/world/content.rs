//! The world taken apart into what cannot be worked out again, and put together from it.
//!
//! Routes, deadlines, watched transactions and open pairs follow from the subjects; what the last record
//! ended is of interest for one record only; heads that no record names are seen and
//! refusals counted by the running ledger alone.

use super::{
    FirstAnswer, HeldMachine, Live, Machines, OwedNotice, Roots, Sight, StoredFailed, Subjects,
    World,
};
use crate::agent::Agent;
use crate::for_each_machine;
use crate::keyring::Keyring;
use crate::recent::Recent;
use crate::spent::Spent;
use imbl::OrdMap;
use std::collections::HashMap;
use std::sync::Arc;
use x811_eventlog::{Frontier, Head};
use x811_protocol::did::Did;
use x811_protocol::digest::Digest;
use x811_protocol::event::{LedgerOpened, RulesChanged};
use x811_protocol::id::EnvelopeId;
use x811_protocol::machine::Machine;
use x811_protocol::observation::NetworkHead;
use x811_protocol::parameters::Parameters;
use x811_protocol::stream::Subject;
use x811_protocol::time::TimestampMs;
use x811_protocol::trust::TrustCounters;

/// What a world is made of, in no particular order.
#[derive(Debug)]
pub struct WorldContent {
    /// Size of the log, and hash of its last record.
    pub head: Head,
    /// The Merkle tree over its records.
    pub frontier: Frontier,
    /// The root of all states.
    pub roots: Roots,
    /// The identity of the ledger, from position 0.
    pub identity: Option<Arc<LedgerOpened>>,
    /// The keys of the ledger.
    pub keyring: Option<Arc<Keyring>>,
    /// The rules in force.
    pub rules: RulesChanged,
    /// Parameters by their positions.
    pub parameters: Vec<(u64, Arc<Parameters>)>,
    /// Next place in the stream `ledger`.
    pub ledger_seq: u64,
    /// The networks, and the sight of each.
    pub networks: Vec<Sighted>,
    /// Registered agents.
    pub agents: Vec<(Did, Arc<Agent>)>,
    /// The trust counters of agents.
    pub trust: Vec<(Did, TrustCounters)>,
    /// Subjects that take records, of every machine.
    pub subjects: StoredSubjects,
    /// Notices that are owed: position of the cause, recipient, notice.
    pub owed: Vec<(u64, Did, OwedNotice)>,
    /// Day and deliveries.
    pub charged: Vec<(Did, (u64, u64))>,
    /// Rounds that failed and may be proposed again.
    pub failed: Vec<StoredFailed>,
    /// With the numbers of their buckets of time.
    pub nonces: Vec<(Digest, FirstAnswer, u64)>,
    /// With the numbers of their buckets of time.
    pub envelope_ids: Vec<(EnvelopeId, u64, u64)>,
}

/// A network's name, next place in its stream, since when it is blind, and the last head that the log
/// names.
pub type Sighted = (String, u64, Option<TimestampMs>, Option<NetworkHead>);

/// A subject of a machine and the position of the parameters it was opened under.
pub(super) type StoredOf<M> = (<M as Machine>::Id, u64, Arc<Live<<M as Machine>::State>>);

macro_rules! stored_subjects {
    ($($held:ident: $subject:ident($machine:ty), $kind:literal;)+) => {
        /// Subjects of every machine that take records.
        #[derive(Debug)]
        pub struct StoredSubjects {
            $(/// The subjects of this machine.
            pub $held: Vec<StoredOf<$machine>>,)+
        }

        impl StoredSubjects {
            fn of(
                live: &Subjects,
                opened_under: impl Fn(&Arc<Parameters>) -> u64 + Copy,
            ) -> StoredSubjects {
                StoredSubjects {
                    $($held: stored(&live.$held, opened_under),)+
                }
            }

            fn put_back(self, world: &mut World) -> Result<(), ContentError> {
                $(world.put_all_back::<$machine>(self.$held)?;)+
                Ok(())
            }
        }
    };
}

for_each_machine!(stored_subjects);

fn copied<'a, K: Copy + 'a, V: Copy + 'a>(
    entries: impl Iterator<Item = (&'a K, &'a V)>,
) -> Vec<(K, V)> {
    entries.map(|(key, value)| (*key, *value)).collect()
}

fn copied_ids(seen: &Recent<EnvelopeId, u64>) -> Vec<(EnvelopeId, u64, u64)> {
    let entries = seen.entries();
    entries
        .map(|(id, position, bucket)| (*id, *position, bucket))
        .collect()
}

fn listed(owed: &OrdMap<(u64, Did), OwedNotice>) -> Vec<(u64, Did, OwedNotice)> {
    let owed = owed.iter();
    owed.map(|((cause, to), notice)| (*cause, *to, notice.clone()))
        .collect()
}

/// Parts that do not make a world.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ContentError {
    /// A subject names parameters that are not among them.
    #[error("{0} was opened under parameters that are not there")]
    NoParameters(Subject),
    /// The tree is not as long as the log.
    #[error("the tree has {tree} leaves, the log {log} records")]
    TreeSize {
        /// Leaves of the tree.
        tree: u64,
        /// Records of the log.
        log: u64,
    },
}

impl World {
    /// Takes the world apart.
    pub fn content(&self) -> WorldContent {
        // Every member is named: a new one must be decided on.
        let World {
            head,
            frontier,
            roots,
            identity,
            keyring,
            rules,
            parameters,
            ledger_seq,
            networks,
            agents,
            trust,
            trust_moved: _,
            retiring: _,
            routes: _,
            requests: _,
            deadlines: _,
            causes: _,
            rounds_about: _,
            rounds_moved: _,
            told: _,
            draws: _,
            charged,
            hidden: _,
            failed: _,
            failed_until: _,
            alone: _,
            subjects,
            watches: _,
            owed,
            nonces,
            refusals: _,
            envelope_ids,
        } = self;
        let positions: HashMap<*const Parameters, u64> = parameters
            .iter()
            .map(|(position, shared)| (Arc::as_ptr(shared), *position))
            .collect();
        let opened_under = |parameters: &Arc<Parameters>| {
            // Unknown parameters cannot be restored, so that such a snapshot would be refused.
            let known = positions.get(&Arc::as_ptr(parameters));
            known.copied().unwrap_or(u64::MAX)
        };
        WorldContent {
            head: *head,
            frontier: frontier.clone(),
            roots: *roots,
            identity: identity.clone(),
            keyring: keyring.clone(),
            rules: *rules,
            parameters: parameters.iter().map(|(p, q)| (*p, q.clone())).collect(),
            ledger_seq: *ledger_seq,
            networks: networks.iter().map(sighted).collect(),
            agents: agents.iter().map(|(did, a)| (*did, a.clone())).collect(),
            trust: copied(trust.iter()),
            subjects: StoredSubjects::of(subjects, opened_under),
            charged: copied(charged.iter()),
            failed: self.failed_rounds(),
            owed: listed(owed),
            nonces: nonces.entries(),
            envelope_ids: copied_ids(envelope_ids),
        }
    }

    /// Puts a world together.
    pub fn from_content(content: WorldContent) -> Result<World, ContentError> {
        if content.frontier.size() != content.head.size {
            return Err(ContentError::TreeSize {
                tree: content.frontier.size(),
                log: content.head.size,
            });
        }
        let (nonces, envelope_ids) = (content.nonces, content.envelope_ids);
        let (nonces, envelope_ids) = rayon::join(
            || Spent::from_entries(nonces),
            || Recent::from_entries(envelope_ids),
        );
        let mut world = World {
            head: content.head,
            frontier: content.frontier,
            roots: content.roots,
            identity: content.identity,
            keyring: content.keyring,
            rules: content.rules,
            parameters: content.parameters.into_iter().collect(),
            ledger_seq: content.ledger_seq,
            networks: content.networks.into_iter().map(sight).collect(),
            agents: content.agents.into_iter().collect(),
            trust: content.trust.into_iter().collect(),
            charged: content.charged.into_iter().collect(),
            owed: content
                .owed
                .into_iter()
                .map(|(cause, to, notice)| ((cause, to), notice))
                .collect(),
            nonces,
            envelope_ids,
            ..World::empty()
        };
        content.subjects.put_back(&mut world)?;
        world.list_envelopes();
        world.list_rounds();
        world.remember_failed(content.failed);
        Ok(world)
    }

    fn put_all_back<M: HeldMachine>(
        &mut self,
        stored: Vec<StoredOf<M>>,
    ) -> Result<(), ContentError> {
        for (id, position, live) in stored {
            let parameters = self.opened_under(M::subject(id), position)?;
            self.put_subject_back::<M>(id, parameters, Arc::unwrap_or_clone(live));
        }
        Ok(())
    }

    fn opened_under(
        &self,
        subject: Subject,
        position: u64,
    ) -> Result<Arc<Parameters>, ContentError> {
        let parameters = self.parameters.get(&position).cloned();
        parameters.ok_or(ContentError::NoParameters(subject))
    }
}

/// The subjects of a machine; `opened_under` finds the position of parameters.
fn stored<M: Machine>(
    machines: &Machines<M>,
    opened_under: impl Fn(&Arc<Parameters>) -> u64,
) -> Vec<StoredOf<M>> {
    let position = |live: &Live<M::State>| opened_under(M::parameters(&live.state));
    machines
        .all_held()
        .map(|(id, live)| (*id, position(live), live.clone()))
        .collect()
}

fn sighted((name, sight): (&String, &Sight)) -> Sighted {
    let recorded = sight.recorded.clone();
    (name.clone(), sight.next_seq, sight.blind_since, recorded)
}

fn sight((name, next_seq, blind_since, recorded): Sighted) -> (String, Sight) {
    let sight = Sight {
        next_seq,
        blind_since,
        head: None,
        recorded,
        silent: Vec::new(),
    };
    (name, sight)
}
