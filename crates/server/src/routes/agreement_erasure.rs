//! `POST /api/v1/agreements/{id}/erasure`: an operator has the body of the message erased that revoked an
//! agreement (machines.md section 6). Ordered and recorded as the erasure of
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
use x811_protocol::id::AgreementId;
use x811_protocol::stream::Subject;

/// 200 once the bodies are gone; 403 for everybody but operators.
#[utoipa::path(
    post,
    path = "/api/v1/agreements/{id}/erasure",
    operation_id = "eraseAgreement",
    tag = "capabilities",
    params(
        ("id" = Uuid, Path, description = "The id of the session that made its first revision"),
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
    Named(id): Named<AgreementId>,
    Asked(order): Asked<Order>,
) -> Result<Json<ErasureAnswer>, ReadRefusal> {
    erase(&app, operator, Subject::Agreement(id), &order).await
}
