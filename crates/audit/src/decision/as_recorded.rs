//! The ledger before a record, where some answers are the record's own.

use crate::replay::decided::Decided;
use x811_protocol::did::Did;
use x811_protocol::digest::Digest;
use x811_protocol::envelope::AcceptedHeader;
use x811_protocol::event::EnvelopeAccepted;
use x811_protocol::facts::{ConsensusFacts, Facts};
use x811_protocol::id::{EnvelopeId, InteractionId};
use x811_protocol::machine::{AgentView, LedgerView, Machine, SchemaFit};
use x811_protocol::observation::NetworkHead;
use x811_protocol::parameters::Parameters;
use x811_protocol::round::Round;
use x811_protocol::time::TimestampMs;
use x811_world::AsOf;

/// The world before the record of a message, as its decision is made again.
#[derive(Debug, Clone, Copy)]
pub(super) struct AsRecorded<'a> {
    world: AsOf<'a>,
    accepted: &'a EnvelopeAccepted,
    is_extract: bool,
}

impl<'a> AsRecorded<'a> {
    /// The world before `decided`, the record of `accepted`; `None` before it has parameters.
    pub(super) fn of(
        decided: &Decided<'a>,
        accepted: &'a EnvelopeAccepted,
    ) -> Option<AsRecorded<'a>> {
        let world = AsOf::at(decided.before, decided.at)?;
        let world = match decided.body {
            Some(body) => world.holding(body, decided.schemas),
            None => world,
        };
        Some(AsRecorded {
            world,
            accepted,
            is_extract: decided.is_extract,
        })
    }

    /// Height of the head that the record of a vote names: that of the block that draws, less the
    /// blocks in between.
    fn named_height(&self) -> Option<u64> {
        let Facts::Consensus(ConsensusFacts::Vote(vote)) = &self.accepted.facts else {
            return None;
        };
        let seed = self.accepted.derived.seed.as_ref()?;
        let round = self.world.state::<Round>(vote.proposal_id)?;
        seed.height.checked_sub(round.opening.rounds.draw_blocks)
    }
}

impl LedgerView for AsRecorded<'_> {
    fn now(&self) -> TimestampMs {
        self.world.now()
    }

    fn ledger(&self) -> Did {
        self.world.ledger()
    }

    fn parameters(&self) -> (u64, &Parameters) {
        self.world.parameters()
    }

    fn agent(&self, did: Did) -> Option<AgentView<'_>> {
        self.world.agent(did)
    }

    fn is_excluded(&self, did: Did) -> bool {
        self.world.is_excluded(did)
    }

    /// In an extract nobody's trust can be counted: the sender has what the record says, and
    /// everybody else enough.
    fn trust_hundredths(&self, did: Did) -> u64 {
        match self.accepted.derived.authority {
            Some(authority) if self.is_extract && did == self.accepted.envelope.from => authority,
            Some(_) if self.is_extract => u64::MAX,
            Some(_) | None => self.world.trust_hundredths(did),
        }
    }

    /// Heads are what a watcher saw: the record names them.
    fn heads(&self) -> Vec<NetworkHead> {
        self.accepted.derived.heads.clone().unwrap_or_default()
    }

    /// The height of the head that the record names, and otherwise of the last one; a blind network has none.
    fn height(&self, network: &str) -> Option<u64> {
        self.world
            .sees(network)
            .then(|| self.named_height().or(self.world.height(network)))
            .flatten()
    }

    fn state<M: Machine>(&self, id: M::Id) -> Option<&M::State> {
        self.world.state::<M>(id)
    }

    fn open<M: Machine>(&self, by: Did, with: Option<Did>) -> u64 {
        self.world.open::<M>(by, with)
    }

    fn states<M: Machine>(&self) -> impl Iterator<Item = &M::State> {
        self.world.states::<M>()
    }

    fn deliveries_charged(&self, proposer: Did) -> u64 {
        self.world.deliveries_charged(proposer)
    }

    fn requested_under(&self, envelope: &AcceptedHeader, key: EnvelopeId) -> Option<InteractionId> {
        self.world.requested_under(envelope, key)
    }

    /// Without both bodies the fit is attested by the ledger only.
    fn fit(&self, schema: Digest) -> SchemaFit {
        match self.world.fit(schema) {
            SchemaFit::Unreadable => SchemaFit::Fits,
            fit @ (SchemaFit::Fits | SchemaFit::Unfit(_)) => fit,
        }
    }
}
