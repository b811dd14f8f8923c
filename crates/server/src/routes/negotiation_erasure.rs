//! `POST /api/v1/negotiations/{id}/erasure`: an operator has the bodies of a closed negotiation erased
//! (machines.md section 6). Ordered and recorded as the erasure of an interaction is.

use super::erasure::{Order, erase};
use crate::app::App;
use crate::error::ApiError;
use crate::extract::Asked;
use crate::openapi::Refused;
use crate::openapi::schema::ErasedAnswer;
use crate::signed_read::{Operator, ReadRefusal};
use axum::Json;
use axum::extract::{Path, State};
use std::sync::Arc;
use x811_ledger::clock::Clock;
use x811_ledger::sequencer::ErasureAnswer;
use x811_protocol::id::ContractId;
use x811_protocol::stream::Subject;

/// 200 once the bodies are gone; 403 for everybody but operators.
#[utoipa::path(
    post,
    path = "/api/v1/negotiations/{id}/erasure",
    operation_id = "eraseNegotiation",
    tag = "negotiations",
    params(
        ("id" = String, Path, description = "`neg-` and the envelope id of its offer"),
        (
            "reason_code" = String,
            Query,
            pattern = "^[a-z0-9_]{1,32}$",
            description = "Why; it is recorded"
        ),
    ),
    responses(
        (status = 200, description = "The bodies are gone", body = ErasedAnswer),
        Refused,
    ),
    security(("signature" = [], "signature_input" = [])),
)]
pub(super) async fn handle<C: Clock>(
    operator: Operator,
    State(app): State<Arc<App<C>>>,
    Path(id): Path<String>,
    Asked(order): Asked<Order>,
) -> Result<Json<ErasureAnswer>, ReadRefusal> {
    let id = ContractId::from_public(&id);
    let id = id.map_err(|error| ApiError::malformed(error.to_string()))?;
    erase(&app, operator, Subject::Contract(id), &order).await
}
