//! Forms of answers about rounds.

#![expect(dead_code, reason = "shapes are described here and made elsewhere")]

use utoipa::ToSchema;

/// A round as it stands. What somebody voted is not in it.
#[derive(ToSchema)]
pub(crate) struct RoundAnswer {
    /// The envelope id of its proposal.
    id: String,
    /// `proposed`, `open`, `suspended`, `revealing`, `held`, `committed`, `done`, `aborted`, `failed`,
    /// `escalated`, `human_approved`, `human_rejected`, `undecided`.
    status: String,
    /// Who proposed it.
    proposer: String,
    /// Who leads: the ledger or an agent.
    leader: String,
    /// Who votes, in the order of the proposal.
    participants: Vec<String>,
    /// `majority`, `weighted`, `leader`, `optimistic`.
    mechanism: String,
    /// `open` or `sealed`.
    voting: String,
    /// Which attempt it is, from 1.
    attempt: u64,
    /// Until when votes count.
    timeout_ms: u64,
    /// SHA-256 of the proposal, which votes repeat.
    proposal_hash: String,
    /// Who is ready.
    ready: Vec<String>,
    /// Who has cast a vote, whatever it says.
    voted: Vec<String>,
    /// The failed round that it retries; absent where it retries none.
    #[schema(nullable = false)]
    resubmission_of: Option<String>,
    /// Its retry; absent while there is none.
    #[schema(nullable = false)]
    retried_by: Option<String>,
    /// The rival that was accepted in its place, or that stayed in a cycle; absent where there is none.
    #[schema(nullable = false)]
    superseded_by: Option<String>,
    /// The least number of votes.
    quorum: u64,
    /// Type of the action.
    action_type: String,
    /// SHA-256 of the action.
    action_hash: String,
    /// SHA-256 of participants and weights, of a weighted round.
    #[schema(nullable = false)]
    weights_hash: Option<String>,
    /// Who has done what was decided.
    executed: Vec<String>,
    /// Who could not.
    failed: Vec<String>,
    /// The tally with outcome and reason; absent before it is decided.
    #[schema(value_type = Option<Object>, nullable = false)]
    outcome: Option<serde_json::Value>,
    /// Whether humans were asked.
    escalated: bool,
    /// End of the window that is open; absent when none is.
    #[schema(nullable = false)]
    deadline_at_ms: Option<u64>,
    /// Position of its last record.
    last_position: u64,
    /// When it was proposed.
    opened_at_ms: u64,
    /// When its last record was recorded.
    updated_at_ms: u64,
}

/// The records of a round.
#[derive(ToSchema)]
pub(crate) struct RoundHistoryAnswer {
    /// Which.
    round: String,
    /// In order.
    #[schema(max_items = 200)]
    records: Vec<crate::stored::HistoryRecord>,
    /// The `after_seq` to go on with, while there are more.
    #[schema(nullable = false)]
    next: Option<u64>,
}

/// Rounds, without their messages.
#[derive(ToSchema)]
pub(crate) struct RoundsAnswer {
    /// In order of id.
    #[schema(max_items = 100)]
    rounds: Vec<RoundAnswer>,
    /// The `after` to go on with, while there are more.
    #[schema(nullable = false)]
    next: Option<String>,
}

/// Rounds that wait for a human.
#[derive(ToSchema)]
pub(crate) struct EscalationsAnswer {
    /// In order of id.
    #[schema(max_items = 100)]
    escalations: Vec<WaitingRound>,
    /// The `after` to go on with, while there are more.
    #[schema(nullable = false)]
    next: Option<String>,
}

/// A round that waits for a human, with the other members of a round.
#[derive(ToSchema)]
pub(crate) struct WaitingRound {
    /// The envelope id of its proposal.
    id: String,
    /// `escalated`.
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
    #[schema(value_type = Object)]
    subject: serde_json::Value,
    /// What is to be done, or `{sha256, begins}` of what is long.
    #[schema(value_type = Object)]
    action: serde_json::Value,
    /// What was voted, in order: `position`, `envelope_id`, `voter`, `counted`, and `decision` and
    /// `rationale`, or `commitment`.
    #[schema(value_type = Vec<Object>)]
    votes: Vec<serde_json::Value>,
}

/// What a round and its retries, a session, an agreement or a contract rests on.
#[derive(ToSchema)]
pub(crate) struct TraceAnswer {
    /// The id that was asked for.
    wid: String,
    /// JWTs of type `exec+jwt` by the ledger's receipt key, each behind those that it rests on.
    tokens: Vec<String>,
    /// Tokens that agents put into their signed messages; the ledger checks none of them.
    own: Vec<OwnTokenAnswer>,
}

/// A token of an agent's own.
#[derive(ToSchema)]
pub(crate) struct OwnTokenAnswer {
    /// `jti` of the ledger's token for the message that it was in; that token has its SHA-256.
    node: String,
    /// A JWT of type `exec+jwt`, by the word of its agent.
    token: String,
}
