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

/// A negotiation's records.
#[derive(ToSchema)]
pub(crate) struct NegotiationHistoryAnswer {
    /// Which.
    negotiation: String,
    /// In order.
    #[schema(max_items = 200)]
    records: Vec<super::schema::HistoryRecord>,
    /// The `after_seq` to go on with, while there are more.
    #[schema(nullable = false)]
    next: Option<u64>,
}
