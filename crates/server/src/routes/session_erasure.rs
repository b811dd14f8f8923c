//! `POST /api/v1/sessions/{id}/erasure`: an operator has the bodies of a closed session erased, but for
//! what both signed (machines.md section 6). Ordered and recorded as the erasure of
//! an interaction is.

use super::erasure::{Order, erase};
use crate::app::App;
use crate::extract::{Asked, Named};
use crate::openapi::Refused;
use crate::openapi::schema::{ErasedAnswer, Uuid};
use crate::signed_read::{Operator, ReadRefusal};
use axum::Json;
use axum::extract::State;
use std::sync::Arc;
use x811_ledger::clock::Clock;
use x811_ledger::sequencer::ErasureAnswer;
use x811_protocol::id::SessionId;
use x811_protocol::stream::Subject;

/// 200 once the bodies are gone; 403 for everybody but operators.
#[utoipa::path(
    post,
    path = "/api/v1/sessions/{id}/erasure",
    operation_id = "eraseSession",
    tag = "capabilities",
    params(
        ("id" = Uuid, Path, description = "The envelope id of its request"),
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
    Named(id): Named<SessionId>,
    Asked(order): Asked<Order>,
) -> Result<Json<ErasureAnswer>, ReadRefusal> {
    erase(&app, operator, Subject::Session(id), &order).await
}
