//! `POST /api/v1/interactions/{id}/erasure`: an operator has the bodies of REQUEST and RESULT of an
//! interaction erased (record.md section 4).
//!
//! The request has no body: all it says is in path and query, which the signature covers, as that
//! of a read does. The record keeps that signature, so that it shows who ordered it.

use crate::app::App;
use crate::error::ApiError;
use crate::extract::{Asked, Named};
use crate::openapi::Refused;
use crate::openapi::schema::{ErasedAnswer, Uuid};
use crate::signed_read::{Operator, ReadRefusal};
use axum::Json;
use axum::extract::State;
use serde::Deserialize;
use std::sync::Arc;
use x811_ledger::clock::Clock;
use x811_ledger::erasure::{ErasureRequest, ReasonCode};
use x811_ledger::sequencer::ErasureAnswer;
use x811_protocol::id::InteractionId;
use x811_protocol::stream::Subject;

/// What has to be said.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Order {
    reason_code: String,
}

/// 200 once the bodies are gone; 403 for everybody but operators.
#[utoipa::path(
    post,
    path = "/api/v1/interactions/{id}/erasure",
    operation_id = "eraseBodies",
    tag = "interactions",
    params(
        ("id" = Uuid, Path, description = "Envelope id of its REQUEST"),
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
    Named(interaction): Named<InteractionId>,
    Asked(order): Asked<Order>,
) -> Result<Json<ErasureAnswer>, ReadRefusal> {
    erase(&app, operator, Subject::Interaction(interaction), &order).await
}

/// Has the bodies of a subject erased.
pub(super) async fn erase<C: Clock>(
    app: &App<C>,
    operator: Operator,
    subject: Subject,
    order: &Order,
) -> Result<Json<ErasureAnswer>, ReadRefusal> {
    let reason_code: Result<ReasonCode, _> = order.reason_code.parse();
    let reason_code = reason_code.map_err(|error| ApiError::malformed(error.to_string()))?;
    let request = ErasureRequest {
        subject,
        operator: operator.did,
        order: Some(operator.order(subject, &reason_code.to_string())?),
        reason_code,
    };
    Ok(Json(app.ledger.erase(request).await?))
}
