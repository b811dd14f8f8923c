//! A negotiation as the published page has it.

#![expect(dead_code, reason = "shapes are described here and made elsewhere")]

use serde_json::Value;
use utoipa::ToSchema;

/// A contract, the ten members of the published page and the profile of its hash chain.
#[derive(ToSchema)]
#[schema(rename_all = "camelCase")]
pub(crate) struct NegotiationAnswer {
    /// `x811-jcs-1`: which bytes are hashed.
    chain_profile: String,
    /// `neg-` and the envelope id of its offer.
    id: String,
    /// Who made the offer.
    initiator: String,
    /// To whom.
    responder: String,
    /// `pending`, `countered`, `accepted`, `rejected` or `expired`.
    status: String,
    /// The last terms.
    #[schema(value_type = Object)]
    terms: Value,
    /// What was done, oldest first: `action`, `agent`, `terms`, `message`, `at`, `hash`.
    #[schema(value_type = Vec<Object>)]
    history: Vec<Value>,
    /// The hash of the last entry.
    hash_chain: String,
    /// When the offer was recorded, RFC 3339.
    created_at: String,
    /// The first moment at which the last terms cannot be accepted any more.
    expires_at: String,
    /// When the accept was recorded; null until then.
    accepted_at: Option<String>,
}

/// Negotiations, without their messages.
#[derive(ToSchema)]
pub(crate) struct NegotiationsAnswer {
    /// In order of id.
    #[schema(max_items = 100)]
    negotiations: Vec<ListedNegotiation>,
    /// The `after` to go on with, while there are more.
    #[schema(nullable = false)]
    next: Option<String>,
}

/// A negotiation as it stands.
#[derive(ToSchema)]
pub(crate) struct ListedNegotiation {
    /// Who proposed the last terms.
    author: String,
    /// End of the window that is open; absent when none is.
    #[schema(nullable = false)]
    deadline_at_ms: Option<u64>,
    /// What becomes of an agreed contract: `state` (`open`, `engaged`, `lapsed`), `interaction_id`.
    #[schema(value_type = Option<Object>, nullable = false)]
    engagement: Option<Value>,
    /// From this moment on the last terms cannot be accepted.
    expires_at_ms: u64,
    /// `neg-` and the envelope id of its offer.
    id: String,
    /// Who made the offer.
    initiator: String,
    /// Position of its last record.
    last_position: u64,
    /// The most turns; the offer is the first.
    max_turns: u64,
    /// When the offer was recorded.
    opened_at_ms: u64,
    /// To whom.
    responder: String,
    /// `pending`, `countered`, `accepted`, `rejected` or `expired`.
    status: String,
    /// The message that proposed the last terms.
    step_id: String,
    /// What of the last terms decides.
    #[schema(value_type = Object)]
    terms: Value,
    /// How many terms were proposed.
    turn: u64,
    /// When its last record was recorded.
    updated_at_ms: u64,
}

/// A negotiation's records.
#[derive(ToSchema)]
pub(crate) struct NegotiationHistoryAnswer {
    /// Which.
    negotiation: String,
    /// In order.
    #[schema(max_items = 200)]
    records: Vec<crate::stored::HistoryRecord>,
    /// The `after_seq` to go on with, while there are more.
    #[schema(nullable = false)]
    next: Option<u64>,
}

/// What negotiations of contracts are held to.
#[derive(ToSchema)]
pub(crate) struct ContractsInForce {
    /// How long an agreed contract waits for its REQUEST.
    engagement_ms: u64,
    /// The longest time from now to `expires_at`.
    max_life_ms: u64,
    /// The most turns; the offer is the first.
    max_turns: u64,
    /// The shortest time from now to `expires_at`.
    min_life_ms: u64,
    /// Most negotiations one initiator may have open with one responder.
    open_per_pair: u64,
    /// Most negotiations an initiator may have open.
    open_per_initiator: u64,
}
