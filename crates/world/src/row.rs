//! The rows of the read model and how they change: what `store` writes and `server` reads.

use crate::agent::Status;
use serde_json::Value;
use std::sync::Arc;
use uuid::Uuid;
use x811_eventlog::Hash;
use x811_protocol::did::Did;
use x811_protocol::evm::EvmAddress;
use x811_protocol::id::EnvelopeId;
use x811_protocol::stream::Subject;
use x811_protocol::time::TimestampMs;
use x811_protocol::trust::TrustCounters;

/// A subject as readers see it (machines.md section 10). Its detail is a value or, on its way to where rows
/// are kept, JSON text.
#[derive(Debug, Clone, PartialEq)]
pub struct SubjectRow<D = Value> {
    /// The subject that is shown.
    pub subject: Subject,
    /// Name of its state.
    pub state: String,
    /// The agents that may read it, in the order of its machine: of an interaction the initiator, then the
    /// provider.
    pub members: Vec<Did>,
    /// End of the window that is open; absent when none is.
    pub deadline_at_ms: Option<TimestampMs>,
    /// When the message that opened it was recorded.
    pub opened_at_ms: TimestampMs,
    /// When its last record was recorded.
    pub updated_at_ms: TimestampMs,
    /// Position of its last record.
    pub last_position: u64,
    /// Everything else that is shown, as one JSON object.
    pub detail: D,
}

impl<D> SubjectRow<D> {
    /// The same with another form of its detail.
    pub fn with_detail<E>(self, form: impl FnOnce(D) -> E) -> SubjectRow<E> {
        SubjectRow {
            subject: self.subject,
            state: self.state,
            members: self.members,
            deadline_at_ms: self.deadline_at_ms,
            opened_at_ms: self.opened_at_ms,
            updated_at_ms: self.updated_at_ms,
            last_position: self.last_position,
            detail: form(self.detail),
        }
    }
}

impl From<SubjectRow> for RowChange {
    fn from(row: SubjectRow) -> RowChange {
        RowChange::Subject(Box::new(row.with_detail(|detail| detail.to_string())))
    }
}

/// An entry of the index from members to the subjects that they may read.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct MemberRow {
    /// Name of the machine.
    pub kind: String,
    /// The agent that may read the subject.
    pub member: Did,
    /// The id within its machine, as in [`Subject::uuid`].
    pub id: Uuid,
}

impl MemberRow {
    /// The entries of a subject with these members, in their order; none of a subject that no list has.
    pub fn of(subject: Subject, members: &[Did]) -> impl Iterator<Item = MemberRow> {
        let members = members.iter().filter(move |_| subject.has_list());
        members.map(move |member| MemberRow {
            kind: subject.kind().to_owned(),
            member: *member,
            id: subject.uuid(),
        })
    }
}

/// An envelope on its way to somebody.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DeliveryRow {
    /// The agent that it is delivered to.
    pub recipient: Did,
    /// Position of the record that carries it.
    pub position: u64,
    /// Id of the envelope.
    pub envelope_id: EnvelopeId,
}

/// The place of a record in its stream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StreamRow {
    /// Name of the stream.
    pub stream: String,
    /// Place in it.
    pub stream_seq: u64,
    /// Place in the log.
    pub position: u64,
}

/// A registered agent as discovery finds it (agents.md section 3).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AgentRow {
    /// Position of its registration: the order of pages, which never changes.
    pub registered_position: u64,
    /// DID of the agent.
    pub did: Did,
    /// What it asked to be.
    pub status: Status,
    /// The moment after which it counts as expired, if there is one.
    pub expires_at_ms: Option<TimestampMs>,
    /// What it has earned.
    pub trust: TrustCounters,
}

/// An agent on a page of discovery.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FoundAgent {
    /// The row of the agent.
    pub row: AgentRow,
    /// Task types it offers, in the order of their names.
    pub capabilities: Vec<String>,
    /// Accounts that confirmed payments to it came from, counted up to [`MAX_PAYERS`].
    pub distinct_payers: u64,
}

/// As far as distinct payers are counted, so that an agent with many is no slower to show.
pub const MAX_PAYERS: u64 = 1_000;

/// What an agent has earned, from this record on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TrustRow {
    /// The agent that earned it.
    pub did: Did,
    /// The record that moved it.
    pub position: u64,
    /// What it has earned.
    pub trust: TrustCounters,
}

/// What an agent had earned as of some record.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TrustAsOf {
    /// The last change up to there, if there was one.
    pub row: Option<TrustRow>,
    /// Accounts that payments confirmed up to there came from, counted up to [`MAX_PAYERS`].
    pub distinct_payers: u64,
}

/// One change of the read model.
#[derive(Debug, Clone, PartialEq)]
pub enum RowChange {
    /// Insert or replace by subject. The members of its detail stand in the order of their names.
    Subject(Box<SubjectRow<String>>),
    /// Insert: an envelope on its way to somebody.
    Delivery(DeliveryRow),
    /// Insert: the place of a record in its stream.
    StreamRecord(StreamRow),
    /// Insert or replace by the position of the registration.
    Agent(AgentRow),
    /// Replace all of the agent's.
    Capabilities {
        /// Position of the agent's registration.
        registered_position: u64,
        /// Task types it offers.
        names: Arc<[String]>,
    },
    /// Insert: what an agent has earned, from a record on.
    Trust(TrustRow),
    /// Insert, unless that account has paid before.
    Payer {
        /// Who was paid.
        did: Did,
        /// From which account.
        account: EvmAddress,
        /// The record that confirmed it.
        position: u64,
    },
    /// Append to the tree's tiles: the hash of a record. They come in order, without gaps.
    Leaf {
        /// Place in the log.
        position: u64,
        /// Its record hash.
        hash: Hash,
    },
}
