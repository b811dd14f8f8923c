//! Forms of what is said of agents: who there is, whether they are there, what they have earned.

#![expect(
    dead_code,
    reason = "forms are described here and made elsewhere; tests hold the two together"
)]

use super::schema::{DidText, Uuid};
use serde_json::Value;
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
    /// How many the answer holds at most.
    limit: u64,
    /// How many it stepped over.
    offset: u64,
    /// How many there are, on the last page alone: the rows are not counted.
    #[schema(nullable = false)]
    total: Option<u64>,
}

/// A registration in the form of the published SDK (decision 0190).
#[derive(ToSchema)]
pub(crate) struct SdkRegistration {
    /// A REQUEST of the agent to itself; its payload has a `name`.
    #[schema(value_type = Object)]
    envelope: Value,
    /// The document of its DID, with one Ed25519 key.
    #[schema(value_type = Object)]
    did_document: Value,
    /// That key, 32 bytes as base64url.
    public_key: String,
}

/// A deactivation in the form of the published SDK (decision 0190).
#[derive(ToSchema)]
pub(crate) struct SdkDeactivation {
    /// A REQUEST of the agent to itself; its payload is empty.
    #[schema(value_type = Object)]
    envelope: Value,
}

/// Who was deactivated.
#[derive(ToSchema)]
pub(crate) struct DeactivatedAgent {
    /// UUID of its DID.
    #[schema(value_type = Uuid)]
    id: String,
    /// `deactivated`.
    status: String,
    /// The same as a sentence.
    message: String,
}

/// Who was registered.
#[derive(ToSchema)]
pub(crate) struct RegisteredAgent {
    /// UUID of its DID.
    #[schema(value_type = Uuid)]
    id: String,
    /// Its DID.
    #[schema(value_type = DidText)]
    did: String,
    /// What it calls itself.
    name: String,
    /// `active`.
    status: String,
    /// From 0 to 1; 0.5 without history.
    trust_score: f64,
    /// Task types it offers.
    #[schema(max_items = 64)]
    capabilities: Vec<String>,
    /// RFC 3339.
    created_at: String,
}

/// An agent that may act.
#[derive(ToSchema)]
pub(crate) struct AgentFound {
    /// UUID of its DID.
    #[schema(value_type = Uuid)]
    id: String,
    /// `active`.
    status: String,
    /// The score from 0 to 1, as the published SDK reads it.
    trust_score: f64,
    /// What it called itself; of agents that registered in the form of the published SDK.
    #[schema(nullable = false)]
    name: Option<String>,
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
    /// The same in RFC 3339, as the published SDK reads it.
    #[schema(nullable = false)]
    last_seen_at: Option<String>,
}

/// The card that the published SDK reads (decision 0190).
#[derive(ToSchema)]
pub(crate) struct SdkCard {
    /// What it calls itself; its DID where it registered by a message.
    name: String,
    /// In its own words; empty without any.
    description: String,
    /// Where it says that it listens; empty without. Nothing connects to it.
    url: String,
    /// Of the protocol that it speaks.
    version: String,
    /// Task types it offers, each with its `name`.
    #[schema(max_items = 64, value_type = Vec<Object>)]
    capabilities: Vec<Value>,
    /// Its DID and standing, and what it has earned.
    #[schema(value_type = Object)]
    x811: Value,
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
