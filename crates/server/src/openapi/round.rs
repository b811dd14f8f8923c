//! Forms of answers about rounds.

#![expect(dead_code, reason = "shapes are described here and made elsewhere")]

use super::schema::{Object, RecordsPage};
use serde::Serialize;
use utoipa::ToSchema;
use x811_protocol::answer::RoundView;

/// The records of a round.
#[derive(Serialize, ToSchema)]
pub(crate) struct RoundHistoryAnswer {
    /// Id of the round: the envelope id of its proposal.
    round: String,
    #[serde(flatten)]
    page: RecordsPage,
}

/// Rounds, without their messages.
#[derive(ToSchema)]
pub(crate) struct RoundsAnswer {
    /// In order of id.
    #[schema(max_items = 100)]
    rounds: Vec<RoundView>,
    /// The `after` to go on with, while there are more.
    next: Option<String>,
}

/// Rounds that wait for a human.
#[derive(ToSchema)]
pub(crate) struct EscalationsAnswer {
    /// In order of id.
    #[schema(max_items = 100)]
    escalations: Vec<WaitingRound>,
    /// The `after` to go on with, while there are more.
    next: Option<String>,
}

/// A round that waits for a human, with the other members of a round.
#[derive(ToSchema)]
pub(crate) struct WaitingRound {
    /// The envelope id of its proposal.
    id: String,
    /// The state of the round, always `escalated`.
    status: String,
    /// Position of the escalation, which the decision names.
    escalation: u64,
    /// Until when a human decides.
    deadline_at_ms: u64,
}

/// What humans decide on, with the other members of a round.
#[derive(ToSchema)]
pub(crate) struct EscalationAnswer {
    /// The envelope id of its proposal.
    id: String,
    /// As of a round.
    status: String,
    /// Position of the last escalation, which the decision names.
    escalation: u64,
    /// `deadlock`, `retries`, `time_critical` or `execution`, which only informs.
    reason: String,
    /// What was proposed: a text, or `{sha256, begins}` of one that is long.
    subject: Object,
    /// What is to be done, or `{sha256, begins}` of what is long.
    action: Object,
    /// What was voted, in order: `position`, `envelope_id`, `voter`, `counted`, and `decision` and
    /// `rationale`, or `commitment`.
    votes: Vec<Object>,
}
