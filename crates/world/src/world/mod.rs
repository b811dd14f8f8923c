//! Everything the log adds up to, as far as decisions need it: the one state that the sequencer
//! runs on, that a restart rebuilds and that an audit replays.
//!
//! A `World` is cheap to clone: all maps share their structure. A batch is decided on a clone (the
//! *overlay*); only when it is durable does the clone become the ledger's state, and if it is not,
//! dropping it is the whole undo. Finished interactions leave the world as soon as nothing is owed
//! to their parties, so memory follows live business only.

mod apply;
mod content;
mod contests;
mod fault;
mod interactions;
mod machines;
mod roots;
mod trust;
mod watches;
mod written;

pub use apply::Touched;
pub use content::{ContentError, Sighted, StoredSubjects, WorldContent};
pub use contests::StoredFailed;
pub use fault::Fault;
pub(crate) use machines::Machines;
pub use machines::{HeldMachine, LiveSubject, SubjectState, Subjects};
pub use roots::{EVERY_RECORDS as STATE_ROOT_EVERY, Roots};

use crate::agent::Agent;
use crate::keyring::Keyring;
use crate::recent::{Recent, Scattered, Tally};
use crate::spent::Spent;
use apply::{Applying, Causes};
use imbl::{OrdMap, OrdSet};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use serde_with::skip_serializing_none;
use std::sync::Arc;
use watches::Watches;
use x811_eventlog::{Frontier, Head};
use x811_protocol::capability::agreement;
use x811_protocol::capability::conduct;
use x811_protocol::capability::descriptor;
use x811_protocol::capability::session;
use x811_protocol::code::Code;
use x811_protocol::contract;
use x811_protocol::did::Did;
use x811_protocol::digest::Digest;
use x811_protocol::envelope::AcceptedHeader;
use x811_protocol::event::{LedgerOpened, RulesChanged};
use x811_protocol::facts::RequestFacts;
use x811_protocol::id::{AgreementId, ContractId, EnvelopeId, InteractionId, RoundId, SessionId};
use x811_protocol::interaction::State;
use x811_protocol::machine::News;
use x811_protocol::observation::NetworkHead;
use x811_protocol::parameters::{Leniency, Parameters};
use x811_protocol::round::{self, Failed, Relation};
use x811_protocol::rules::Rules;
use x811_protocol::stream::Subject;
use x811_protocol::time::TimestampMs;
use x811_protocol::trust::TrustCounters;

/// How many lapses are recorded at one moment before something else is decided, although more are due: so many
/// that a backlog is soon over, so few that nobody waits long for a turn. The audit counts them.
pub const LAPSES_AT_A_TIME: usize = 256;

/// How long envelope ids are held in memory. An id's own time lies within 5 minutes of `created`
/// and `created` within 5 minutes of the clock, so a repeat comes within 20 minutes or is refused
/// for its time.
const IDS_HELD_MS: u64 = 25 * 60_000;

/// How long nonces are held at least, whatever the parameters say (AX-27).
const NONCES_HELD_MS: u64 = 15 * 60_000;

/// How the first message with some nonce was answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FirstAnswer {
    /// Accepted, or answered from, the record at this position.
    Record(u64),
    /// Refused with this code.
    Refused(Code),
}

/// A live subject of a machine: an interaction, where no other state is named.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Live<S = State> {
    /// State as of its last record.
    pub state: S,
    /// Next place in its stream.
    pub next_seq: u64,
    /// Envelopes of it by which others refer to it: of interactions.
    pub envelopes: Vec<EnvelopeId>,
    /// Tag of its REQUEST's idempotency key, by which others may refer to it: of interactions under the
    /// leniency for the published SDK (decision 0190).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request_tag: Option<Digest>,
    /// Notices that have not been issued yet.
    pub notices_owed: u64,
    /// When the message that opened it was recorded.
    pub opened_at: TimestampMs,
    /// When its last record was recorded.
    pub updated_at: TimestampMs,
    /// Position of its last record.
    pub last_position: u64,
}

impl<S> Live<S> {
    /// One that a record opens; [`Live::note`] follows.
    fn opened(state: S, step: &Applying<'_>) -> Live<S> {
        Live {
            state,
            next_seq: 0,
            envelopes: Vec::new(),
            request_tag: None,
            notices_owed: 0,
            opened_at: step.at,
            updated_at: step.at,
            last_position: step.position,
        }
    }

    /// The same in another state, without a copy of this one: that of a large round is long.
    fn beside(&self, state: S) -> Live<S> {
        Live {
            state,
            next_seq: self.next_seq,
            envelopes: self.envelopes.clone(),
            request_tag: self.request_tag,
            notices_owed: self.notices_owed,
            opened_at: self.opened_at,
            updated_at: self.updated_at,
            last_position: self.last_position,
        }
    }

    /// Its next record.
    fn note(&mut self, step: &Applying<'_>) {
        self.next_seq += 1;
        self.updated_at = step.at;
        self.last_position = step.position;
    }
}

/// A notice that a party is owed.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OwedNotice {
    /// What it is about.
    pub subject: Subject,
    /// What to tell.
    pub code: Option<Code>,
    /// Members of its payload besides those that every notice has, or in place of them.
    pub more: Option<Arc<Map<String, Value>>>,
    /// What happened, where it is told by a notice of the machine's own namespace.
    pub news: Option<News>,
    /// The message that opened the window (AX-32).
    pub related: Option<EnvelopeId>,
}

/// How well a network is seen.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Sight {
    /// Next place in its `network:` stream.
    pub next_seq: u64,
    /// Since when nothing is seen, moved by downtime.
    pub blind_since: Option<TimestampMs>,
    /// The last head, as far as this process has seen one; not from the log.
    pub head: Option<NetworkHead>,
    /// The last head that the log names as such.
    pub recorded: Option<NetworkHead>,
    /// Endpoints that gave no usable answer when this process last heard of the network.
    pub silent: Vec<String>,
}

/// The state of the ledger after some prefix of its log.
#[derive(Debug, Clone, Default)]
pub struct World {
    head: Head,
    frontier: Frontier,
    roots: Roots,
    identity: Option<Arc<LedgerOpened>>,
    keyring: Option<Arc<Keyring>>,
    rules: RulesChanged,
    parameters: OrdMap<u64, Arc<Parameters>>,
    ledger_seq: u64,
    networks: OrdMap<String, Sight>,
    agents: Scattered<Did, Arc<Agent>>,
    /// Of those who have any history: an agent without one costs nothing.
    trust: Scattered<Did, TrustCounters>,
    /// Whose counters the last record moved.
    trust_moved: [Option<Did>; 2],
    subjects: Subjects,
    /// When the watching of an interaction that is over ends at the latest.
    retiring: OrdSet<(TimestampMs, InteractionId)>,
    routes: OrdMap<EnvelopeId, InteractionId>,
    /// Live interactions by [`Live::request_tag`].
    requests: OrdMap<Digest, InteractionId>,
    /// Open rounds by the resources that they are about.
    rounds_about: OrdMap<Digest, contests::Listed>,
    /// Rounds that the last record changed beside its own.
    rounds_moved: Vec<RoundId>,
    /// What the notice told that was the last record.
    told: Option<News>,
    /// By round, network and height of the block that draws in it.
    draws: OrdMap<RoundId, (String, u64)>,
    /// By proposer, the last day of UTC on which it proposed, and the deliveries it is charged then.
    charged: Scattered<Did, (u64, u64)>,
    /// Rounds whose reveals nobody is to read yet, and the place of the first of each.
    hidden: OrdMap<RoundId, u64>,
    /// Rounds that failed lately, by proposer and what others are related to them by, each with the last
    /// moment at which it counts.
    failed: OrdMap<(Did, Relation), (TimestampMs, Arc<Failed>)>,
    /// The same by that moment.
    failed_until: OrdSet<(TimestampMs, (Did, Relation))>,
    /// Most of the log is not here.
    alone: Option<contests::Alone>,
    deadlines: OrdSet<(TimestampMs, Subject)>,
    /// Where the records stand that an effect may follow from.
    causes: Causes,
    /// Of each network, by its name.
    watches: OrdMap<String, Watches>,
    owed: OrdMap<(u64, Did), OwedNotice>,
    nonces: Spent,
    refusals: Tally<Did>,
    envelope_ids: Recent<EnvelopeId, u64>,
}

impl World {
    /// Before the first record.
    pub fn empty() -> World {
        World::default()
    }

    /// Before the first record, for replaying: nonces and ids of envelopes are not held, which
    /// tell a running ledger what it was sent before. Nothing that was accepted rests on them.
    pub fn without_repeats() -> World {
        World {
            nonces: Spent::never(),
            envelope_ids: Recent::never(),
            ..World::empty()
        }
    }

    /// Takes nothing of the records up to `position`, which are not at hand: where one interaction
    /// and what it rests on are replayed alone. No hash of the log is known from then on.
    pub fn step_to(&mut self, position: u64) {
        self.head.size = position;
        self.causes = Causes::Unknown;
        self.alone.get_or_insert_default();
    }

    /// Size and last record hash.
    pub fn head(&self) -> Head {
        self.head
    }

    /// Running state of the Merkle tree.
    pub fn frontier(&self) -> &Frontier {
        &self.frontier
    }

    /// Who this ledger is, and the keys it began with; `None` before position 0.
    pub fn identity(&self) -> Option<&Arc<LedgerOpened>> {
        self.identity.as_ref()
    }

    /// The ledger's keys, now and before; `None` before position 0.
    pub fn keyring(&self) -> Option<&Keyring> {
        self.keyring.as_deref()
    }

    /// Number of the decision rules in force; 0 before position 0.
    pub fn rules_version(&self) -> u64 {
        self.rules.rules_version
    }

    /// The decision rules in force: those of the last record that named some. Before position 0 the
    /// latest.
    pub fn rules(&self) -> Rules {
        self.rules.known().unwrap_or(Rules::LATEST)
    }

    /// The parameters in force and their position.
    pub fn parameters(&self) -> Option<(u64, &Arc<Parameters>)> {
        self.parameters
            .get_max()
            .map(|(position, parameters)| (*position, parameters))
    }

    /// The parameters that were set at that position, whether or not they are still in force.
    pub fn parameters_at(&self, position: u64) -> Option<&Arc<Parameters>> {
        self.parameters.get(&position)
    }

    /// Whether a check was ever relaxed, now or under earlier parameters.
    pub fn was_ever_lenient(&self, leniency: Leniency) -> bool {
        let mut parameters = self.parameters.values();
        parameters.any(|parameters| parameters.is_lenient(leniency))
    }

    /// A registered DID, the ledger's own included.
    pub fn agent(&self, did: Did) -> Option<&Arc<Agent>> {
        self.agents.get(&did)
    }

    /// A live interaction.
    pub fn interaction(&self, id: InteractionId) -> Option<&Arc<Live>> {
        self.subjects.interactions.get(id)
    }

    /// An interaction that is live, or over and its transactions still watched.
    pub fn watching(&self, id: InteractionId) -> Option<&Arc<Live>> {
        self.subjects.interactions.held(id)
    }

    /// An interaction that is held or that the last record ended.
    pub fn latest(&self, id: InteractionId) -> Option<&Arc<Live>> {
        self.subjects.interactions.latest(id)
    }

    /// All live interactions, in order of id.
    pub fn interactions(&self) -> impl Iterator<Item = (&InteractionId, &Arc<Live>)> {
        self.subjects.interactions.iter()
    }

    /// The live interaction that an envelope belongs to.
    pub fn route(&self, envelope: EnvelopeId) -> Option<InteractionId> {
        self.routes.get(&envelope).copied()
    }

    /// The live interaction between the two of `header` that was requested under this idempotency key,
    /// where its parameters are lenient to the published SDK (decision 0190).
    pub fn requested_under(
        &self,
        header: &AcceptedHeader,
        key: EnvelopeId,
    ) -> Option<InteractionId> {
        if self.requests.is_empty() {
            return None;
        }
        let of = |initiator: Did, provider: Did| {
            let id = self
                .requests
                .get(&RequestFacts::tag(initiator, &key.to_string()))?;
            let opening = self.interaction(*id)?.state.opening();
            ((opening.initiator, opening.provider) == (initiator, provider)).then_some(*id)
        };
        of(header.from, header.to).or_else(|| of(header.to, header.from))
    }

    /// A negotiation that is live.
    pub fn contract(&self, id: ContractId) -> Option<&Arc<Live<contract::State>>> {
        self.subjects.contracts.get(id)
    }

    /// What that agent says that it can do.
    pub fn descriptor(&self, agent: Did) -> Option<&Arc<Live<descriptor::State>>> {
        self.subjects.descriptors.get(agent)
    }

    /// A session that is open.
    pub fn session(&self, id: SessionId) -> Option<&Arc<Live<session::State>>> {
        self.subjects.sessions.get(id)
    }

    /// An agreement that is active.
    pub fn agreement(&self, id: AgreementId) -> Option<&Arc<Live<agreement::State>>> {
        self.subjects.agreements.get(id)
    }

    /// A round that is not over.
    pub fn round(&self, id: RoundId) -> Option<&Arc<Live<round::State>>> {
        self.subjects.rounds.get(id)
    }

    /// A round that is not over or that the last record ended.
    pub fn latest_round(&self, id: RoundId) -> Option<&Arc<Live<round::State>>> {
        self.subjects.rounds.latest(id)
    }

    /// Rounds that wait for a human, each with the position of its escalation.
    pub fn escalated_rounds(&self) -> Vec<(RoundId, u64)> {
        let live = self.subjects.rounds.iter();
        live.filter_map(|(id, live)| Some((*id, live.state.escalation()?)))
            .collect()
    }

    /// What an agent answers for, if it broke an agreement once.
    pub fn conduct(&self, did: Did) -> Option<&Arc<Live<conduct::State>>> {
        self.subjects.conducts.get(did)
    }

    /// Whether that agent is excluded from new sessions and rounds at `now`.
    pub fn is_excluded(&self, did: Did, now: TimestampMs) -> bool {
        self.conduct(did)
            .is_some_and(|live| live.state.is_excluded(now))
    }

    /// The earliest deadline and whose it is.
    pub fn next_deadline(&self) -> Option<(TimestampMs, Subject)> {
        self.deadlines.get_min().copied()
    }

    /// Subjects whose deadline has passed, the earliest first.
    pub fn due(&self, now: TimestampMs) -> impl Iterator<Item = Subject> {
        let passed = self.deadlines.iter();
        passed
            .take_while(move |(deadline, _)| now > *deadline)
            .map(|(_, id)| *id)
    }

    /// How well a network is seen.
    pub fn sight(&self, network: &str) -> Option<&Sight> {
        self.networks.get(network)
    }

    /// Last known heads of all networks, however old: what this process saw, else what the log says
    /// of a network that is in force.
    pub fn heads(&self) -> Vec<NetworkHead> {
        let in_force = self.parameters().map(|(_, parameters)| parameters);
        let is_in_force =
            |head: &&NetworkHead| in_force.is_some_and(|set| set.network(&head.network).is_some());
        let each = self.networks.values().filter_map(|sight| {
            let recorded = sight.recorded.as_ref().filter(is_in_force);
            sight.head.as_ref().or(recorded)
        });
        each.cloned().collect()
    }

    /// Notes which endpoints gave no usable answer. It is no part of any state.
    pub fn heard_of(&mut self, network: &str, silent: &[String]) {
        if let Some(sight) = self.networks.get_mut(network)
            && sight.silent != silent
        {
            sight.silent = silent.to_vec();
            sight.silent.sort_unstable();
            sight.silent.dedup();
        }
    }

    /// Whether some head of the network is known, of this process or from the log.
    pub fn has_head(&self, network: &str) -> bool {
        let sight = self.networks.get(network);
        sight.is_some_and(|sight| sight.head.is_some() || sight.recorded.is_some())
    }

    /// The heads that this process has seen.
    pub fn seen_heads(&self) -> Vec<NetworkHead> {
        let each = self.networks.values();
        each.filter_map(|sight| sight.head.clone()).collect()
    }

    /// Notes a head that was seen; no event, so nothing a replay would know.
    pub fn saw_head(&mut self, head: NetworkHead) {
        let network = head.network.clone();
        self.networks.entry(network).or_default().head = Some(head);
    }

    /// Notices that parties are owed: position of the cause, to whom, what.
    pub fn owed(&self) -> impl Iterator<Item = (u64, Did, &OwedNotice)> {
        self.owed
            .iter()
            .map(|((cause, to), notice)| (*cause, *to, notice))
    }

    /// What the last record tells, if it is a notice of a machine's own namespace.
    pub(crate) fn told(&self) -> Option<News> {
        self.told
    }

    /// What that party is owed of the record at `cause`.
    pub fn owed_to(&self, cause: u64, to: Did) -> Option<&OwedNotice> {
        self.owed.get(&(cause, to))
    }

    /// Those of records from `cause` on, the last first.
    pub fn owed_since(&self, cause: u64) -> impl Iterator<Item = (u64, Did, &OwedNotice)> {
        self.owed
            .iter()
            .rev()
            .take_while(move |((known, _), _)| *known >= cause)
            .map(|((cause, to), notice)| (*cause, *to, notice))
    }

    /// How the first message with this nonce was answered, if it is still held.
    pub fn first_answer(&self, nonce_tag: &Digest) -> Option<FirstAnswer> {
        self.nonces.get(nonce_tag)
    }

    /// Position of the envelope of that id, if it was accepted lately.
    pub fn recent_envelope(&self, id: &EnvelopeId) -> Option<u64> {
        self.envelope_ids.get(id).copied()
    }

    /// Whether that party is owed a notice of the record at `cause`.
    pub fn is_owed(&self, cause: u64, to: Did) -> bool {
        self.owed.contains_key(&(cause, to))
    }

    /// Messages of that DID that were refused or repeated lately; not from the log.
    pub(crate) fn refusals(&self, from: Did) -> u64 {
        self.refusals.count(&from)
    }

    /// Notes a nonce as spent.
    pub fn spend_nonce(&mut self, tag: Digest, answer: FirstAnswer, at: TimestampMs) {
        self.nonces.insert(tag, answer, at);
    }

    /// Notes a message of `from` that spent a nonce and left no record.
    pub fn count_refusal(&mut self, from: Did, at: TimestampMs) {
        self.refusals.add(from, at);
    }

    /// Figures of what is held in memory, for operators.
    pub fn sizes(&self) -> Sizes {
        Sizes {
            agents: self.agents.len(),
            interactions: self.subjects.interactions.len(),
            aftermath: self.subjects.interactions.aftermath.len(),
            contracts: self.subjects.contracts.len(),
            descriptors: self.subjects.descriptors.len(),
            sessions: self.subjects.sessions.len(),
            agreements: self.subjects.agreements.len(),
            rounds: self.subjects.rounds.len(),
            open_pairs: self.subjects.interactions.open_pairs(),
            routes: self.routes.len(),
            watched: self.watches.values().map(Watches::len).sum(),
            notices_owed: self.owed.len(),
            nonces: self.nonces.len(),
            envelope_ids: self.envelope_ids.len(),
        }
    }

    /// How long nonces stay spent.
    pub fn nonces_held_ms(&self) -> u64 {
        self.parameters()
            .map_or(0, |(_, parameters)| parameters.limits.nonce_window_ms)
            .max(NONCES_HELD_MS)
    }

    /// Forgets nonces and envelope ids that no message can repeat any more.
    pub fn forget_old(&mut self, now: TimestampMs) {
        let nonces_before = now.saturating_sub_ms(self.nonces_held_ms());
        self.nonces.forget(nonces_before);
        self.refusals.forget(nonces_before);
        self.envelope_ids.forget(now.saturating_sub_ms(IDS_HELD_MS));
    }
}

/// What is held in memory, by count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sizes {
    /// Registered DIDs, the ledger's own included.
    pub agents: usize,
    /// Interactions that are live.
    pub interactions: usize,
    /// Interactions that are over and whose transactions are still watched.
    pub aftermath: usize,
    /// Negotiations of contracts that are live.
    pub contracts: usize,
    /// Descriptors of capabilities.
    pub descriptors: usize,
    /// Sessions that are open.
    pub sessions: usize,
    /// Agreements that are active.
    pub agreements: usize,
    /// Rounds that are not over.
    pub rounds: usize,
    /// Pairs of initiator and provider that have an interaction open.
    pub open_pairs: usize,
    /// Envelopes that messages to come may refer to.
    pub routes: usize,
    /// Transactions being watched.
    pub watched: usize,
    /// Notices not issued yet.
    pub notices_owed: usize,
    /// Nonces that are held.
    pub nonces: usize,
    /// Envelope ids held.
    pub envelope_ids: usize,
}
