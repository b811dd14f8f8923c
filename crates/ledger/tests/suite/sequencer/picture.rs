//! Everything that can be seen of a ledger's state, to be compared with what its log adds up to
//! (design.md section 8, promise 2).

use super::ledgerbox::Ledgerbox;
use super::watches::assert_watches;
use std::collections::BTreeMap;
use x811_eventlog::{ChainVerifier, Head, Record};
use x811_ledger::memory::{MemoryReadModel, Rows};
use x811_ledger::port::{LedgerStore, ReadModel};
use x811_ledger::snapshot;
use x811_ledger::store_audit::audit_store;
use x811_protocol::did::Did;
use x811_protocol::digest::Digest;
use x811_protocol::event::Event;
use x811_protocol::evm::TxHash;
use x811_protocol::id::{EnvelopeId, InteractionId};
use x811_protocol::interaction::Interaction;
use x811_protocol::parameters::Parameters;
use x811_protocol::stream::Subject;
use x811_protocol::time::TimestampMs;
use x811_world::agent::Agent;
use x811_world::projection;
use x811_world::{FirstAnswer, HeldMachine as _, Live, OwedNotice, World};

/// Nonces and ids may be forgotten a bucket of time apart; within this they may not.
const REMEMBERED_MS: u64 = 14 * 60_000;

/// What can be seen of a world.
#[derive(Debug)]
pub(crate) struct Picture {
    head: Head,
    frontier: Vec<u8>,
    rules_version: u64,
    parameters: Option<(u64, Parameters)>,
    agents: BTreeMap<Did, Agent>,
    interactions: BTreeMap<InteractionId, Live>,
    owed: Vec<(u64, Did, OwedNotice)>,
    next_deadline: Option<(TimestampMs, Subject)>,
    blind_since: Option<TimestampMs>,
    network_seq: Option<u64>,
    declarers: Vec<(TxHash, Vec<InteractionId>)>,
    routes: Vec<(EnvelopeId, Option<InteractionId>)>,
    nonces: BTreeMap<Digest, Option<FirstAnswer>>,
    envelope_ids: BTreeMap<EnvelopeId, Option<u64>>,
}

impl Picture {
    /// At `now`, for what is old by then may be forgotten.
    pub(crate) fn of(world: &World, events: &[(Record, Event)], now: TimestampMs) -> Picture {
        let mut agents = BTreeMap::new();
        let mut routes = Vec::new();
        let mut nonces = BTreeMap::new();
        let mut envelope_ids = BTreeMap::new();
        for (record, event) in events {
            let Some(envelope) = event.envelope() else {
                continue;
            };
            for did in [envelope.from, envelope.to] {
                if let Some(agent) = world.agent(did) {
                    agents.insert(did, (**agent).clone());
                }
            }
            routes.push((envelope.id, world.route(envelope.id)));
            let age_ms = now.since(TimestampMs::new(record.recorded_at_ms()));
            if age_ms < REMEMBERED_MS {
                let tag = envelope.nonce_tag;
                nonces.insert(tag, world.first_answer(&tag));
                envelope_ids.insert(envelope.id, world.recent_envelope(&envelope.id));
            }
        }
        let sight = world.sight("base");
        Picture {
            head: world.head(),
            frontier: world.frontier().to_bytes(),
            rules_version: world.rules_version(),
            parameters: world
                .parameters()
                .map(|(position, parameters)| (position, (**parameters).clone())),
            agents,
            interactions: world
                .interactions()
                .map(|(id, live)| (*id, (**live).clone()))
                .collect(),
            owed: world
                .owed()
                .map(|(cause, to, notice)| (cause, to, notice.clone()))
                .collect(),
            next_deadline: world.next_deadline(),
            blind_since: sight.and_then(|sight| sight.blind_since),
            network_seq: sight.map(|sight| sight.next_seq),
            declarers: world
                .watched("base")
                .into_iter()
                .map(|tx_hash| (tx_hash, world.declarers("base", tx_hash)))
                .collect(),
            routes,
            nonces,
            envelope_ids,
        }
    }
}

impl Picture {
    /// Compares member by member, so that a difference is named.
    pub(crate) fn assert_equals(&self, expected: &Picture) {
        assert_eq!(self.head, expected.head, "head");
        assert_eq!(self.frontier, expected.frontier, "frontier");
        assert_eq!(self.rules_version, expected.rules_version, "rules_version");
        assert_eq!(self.parameters, expected.parameters, "parameters");
        assert_eq!(self.agents, expected.agents, "agents");
        assert_eq!(self.interactions, expected.interactions, "interactions");
        assert_eq!(self.owed, expected.owed, "owed");
        assert_eq!(self.next_deadline, expected.next_deadline, "next_deadline");
        assert_eq!(self.blind_since, expected.blind_since, "blind_since");
        assert_eq!(self.network_seq, expected.network_seq, "network_seq");
        assert_eq!(self.declarers, expected.declarers, "declarers");
        assert_eq!(self.routes, expected.routes, "routes");
        assert_eq!(self.nonces, expected.nonces, "nonces");
        assert_eq!(self.envelope_ids, expected.envelope_ids, "envelope_ids");
    }
}

/// The world and the rows that a log adds up to, checked for breaks on the way.
pub(crate) async fn replay(events: &[(Record, Event)]) -> (World, Rows) {
    let rows = MemoryReadModel::new();
    let mut world = World::empty();
    let mut chain = ChainVerifier::new();
    let mut changes = Vec::new();
    for (record, event) in events {
        assert_eq!(chain.push(record), [], "the hash chain is whole");
        let touched = world.apply(record, event).expect("the history is legal");
        changes.extend(projection::changes(&world, record, event, &touched));
    }
    let size = world.head().size;
    rows.apply(0, size, &changes).await.unwrap();
    (world, rows.rows())
}

/// Asserts that what quotas count is what counting again gives (ledger-contract.md section 3).
fn assert_counts(world: &World, events: &[(Record, Event)]) {
    let (mut by_pair, mut by_initiator) = (BTreeMap::new(), BTreeMap::new());
    for (_, live) in world.interactions() {
        let opening = live.state.opening();
        if !live.state.name().is_terminal() {
            let pair = (opening.initiator, opening.provider);
            *by_pair.entry(pair).or_insert(0_u64) += 1;
            *by_initiator.entry(opening.initiator).or_insert(0_u64) += 1;
        }
    }
    assert_eq!(world.sizes().open_pairs, by_pair.len(), "pairs");
    let interactions = Interaction::of(world);
    for ((initiator, provider), open) in &by_pair {
        let counted = interactions.open_between(*initiator, *provider);
        assert_eq!(counted, *open, "pair");
    }
    let today = world.head().recorded_at_ms / 86_400_000;
    let mut bytes: BTreeMap<Did, u64> = BTreeMap::new();
    for (record, event) in events {
        if let Some(envelope) = event.envelope() {
            let counts = record.recorded_at_ms() / 86_400_000 == today;
            *bytes.entry(envelope.from).or_default() += if counts { envelope.size } else { 0 };
        }
    }
    let head_at = TimestampMs::new(world.head().recorded_at_ms);
    for (did, bytes) in bytes {
        let agent = world.agent(did).expect("whoever sent is registered");
        assert_eq!(agent.accepted_bytes_on(head_at), bytes, "bytes of the day");
        let open = by_initiator.get(&did).copied().unwrap_or(0);
        assert_eq!(agent.open_requests, open, "open requests");
    }
}

impl Ledgerbox {
    /// Asserts that live state, rows and stored tree are what the log adds up to.
    pub(crate) async fn assert_log_adds_up(&self) {
        self.settle().await;
        let events = self.events().await;
        let (world, rows) = replay(&events).await;
        let live = self.ledger().world();
        let now = self.ledger().now();
        Picture::of(&live, &events, now).assert_equals(&Picture::of(&world, &events, now));
        let bytes = snapshot::encode(&live, now, &self.identity.key).unwrap();
        let snapshot = {
            let opened = self.opened();
            snapshot::decode(&bytes, &opened, opened.keys.envelope).unwrap()
        };
        assert_eq!(snapshot::check(&world, &snapshot), [], "a snapshot of it");
        assert_eq!(self.rows.rows(), rows, "rows are what the log adds up to");
        assert_counts(&live, &events);
        assert_watches(&live, &events);
        let published = self.watched();
        assert!(published.into_iter().eq(live.watched("base")), "published");
        let frontier = self.store.frontier().await.unwrap();
        let expected = (world.head().size, world.frontier().to_bytes());
        assert_eq!(frontier, Some(expected), "the tree is as long as the log");
        let report = audit_store(&*self.store, None::<&MemoryReadModel>, None).await;
        assert_eq!(report.unwrap().findings, [], "no false alarms");
    }
}
