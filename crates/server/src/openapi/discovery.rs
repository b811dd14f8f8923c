//! Forms of what is said of agents: who there is, whether they are there, what they have earned.

#![expect(
    dead_code,
    reason = "forms are described here and made elsewhere; tests hold the two together"
)]

use super::schema::DidText;
use utoipa::ToSchema;

/// A page of agents.
#[derive(ToSchema)]
pub(crate) struct AgentsAnswer {
    /// In order of registration.
    #[schema(max_items = 100)]
    agents: Vec<AgentFound>,
    /// Position of the last record that the page reflects.
    as_of: u64,
    /// For `after`; absent when there are no more.
    #[schema(nullable = false)]
    next: Option<u64>,
}

/// An agent that may act.
#[derive(ToSchema)]
pub(crate) struct AgentFound {
    /// Its DID.
    #[schema(value_type = DidText)]
    did: String,
    /// Place of its registration in the log.
    position: u64,
    /// Task types it offers, in the order of their names.
    #[schema(max_items = 64)]
    capabilities: Vec<String>,
    /// `online`, `busy`, `offline` or `unknown`, as far as this server knows.
    availability: String,
    /// What it has earned.
    trust: TrustMembers,
}

/// A score, what it was made of, and how much of that may be made up.
#[derive(ToSchema)]
pub(crate) struct TrustMembers {
    /// 0 to 100; 50 without history.
    #[schema(maximum = 100)]
    score_hundredths: u64,
    /// Successes: how many interactions ended well.
    s: u64,
    /// Failures: how many ended because its RESULT or VERIFY did not come in time.
    f: u64,
    /// Disputes: how many ended in a dispute that counts against it.
    d: u64,
    /// Those of `d` that rest on the word of the other party alone.
    contested: u64,
    /// Accounts that confirmed payments to it came from; 1,000 are 1,000 or more.
    #[schema(maximum = 1_000)]
    distinct_payers: u64,
}

/// What an agent has earned as of a record.
#[derive(ToSchema)]
pub(crate) struct TrustAnswer {
    /// Its DID.
    #[schema(value_type = DidText)]
    did: String,
    /// Position of the record.
    as_of: u64,
    /// Place of the last record that moved it; absent without history.
    #[schema(nullable = false)]
    position: Option<u64>,
    /// 0 to 100; 50 without history.
    #[schema(maximum = 100)]
    score_hundredths: u64,
    /// Successes: how many interactions ended well.
    s: u64,
    /// Failures: how many ended because its RESULT or VERIFY did not come in time.
    f: u64,
    /// Disputes: how many ended in a dispute that counts against it.
    d: u64,
    /// Those of `d` that rest on the word of the other party alone.
    contested: u64,
    /// Accounts that confirmed payments to it came from; 1,000 are 1,000 or more.
    #[schema(maximum = 1_000)]
    distinct_payers: u64,
}

/// How an agent is now.
#[derive(ToSchema)]
pub(crate) struct PresenceAnswer {
    /// Its DID.
    #[schema(value_type = DidText)]
    did: String,
    /// `active`, `deactivated`, `revoked` or `expired`.
    status: String,
    /// `online`, `busy`, `offline` or `unknown`, as far as this server knows.
    availability: String,
    /// ms since the Unix epoch; absent when it never sent a heartbeat to this process.
    #[schema(nullable = false)]
    last_seen_at_ms: Option<u64>,
}

/// An agent card of A2A 1.0, signed by the ledger.
#[derive(ToSchema)]
pub(crate) struct AgentCard {
    /// Its DID.
    #[schema(value_type = DidText)]
    name: String,
    /// In words.
    description: String,
    /// Of the protocol that it speaks.
    version: String,
}
