//! Forms of answers about negotiations.

#![expect(dead_code, reason = "shapes are described here and made elsewhere")]

use super::schema::RecordsPage;
use serde::Serialize;
use utoipa::ToSchema;
use x811_protocol::answer::ListedNegotiation;

/// Negotiations, without their messages.
#[derive(ToSchema)]
pub(crate) struct NegotiationsAnswer {
    /// In order of id.
    #[schema(max_items = 100)]
    negotiations: Vec<ListedNegotiation>,
    /// The `after` to go on with, while there are more.
    next: Option<String>,
}

/// A negotiation's records.
#[derive(Serialize, ToSchema)]
pub(crate) struct NegotiationHistoryAnswer {
    /// Id of the negotiation: `neg-` and the envelope id of its offer.
    negotiation: String,
    #[serde(flatten)]
    page: RecordsPage,
}
