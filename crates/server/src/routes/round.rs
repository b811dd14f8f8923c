//! `GET /api/v1/rounds/{id}`: a round as it stands.

use super::capability_subject::shown;
use super::interaction::Question;
use super::round_readers::readable;
use crate::app::App;
use crate::extract::Asked;
use crate::openapi::Refused;
use crate::openapi::round::RoundAnswer;
use crate::signed_read::{ReadRefusal, Reader};
use axum::Json;
use axum::extract::{Path, State};
use serde_json::Value;
use std::sync::Arc;
use x811_ledger::clock::Clock;
use x811_protocol::id::RoundId;
use x811_protocol::stream::Subject;

/// 200, or 404, also to those who take no part in it.
#[utoipa::path(
    get,
    path = "/api/v1/rounds/{id}",
    operation_id = "readRound",
    tag = "rounds",
    params(("id" = String, Path, description = "The envelope id of its proposal"), Question),
    responses((status = 200, description = "As it stands", body = RoundAnswer), Refused),
    security(("signature" = [], "signature_input" = []), ("bearer" = []), ()),
)]
pub(super) async fn handle<C: Clock>(
    reader: Reader,
    State(app): State<Arc<App<C>>>,
    Path(id): Path<String>,
    Asked(question): Asked<Question>,
) -> Result<Json<Value>, ReadRefusal> {
    question.await_rows(&app).await?;
    let subject = RoundId::lenient(&id).ok().map(Subject::Round);
    let row = readable(&app, &reader, subject).await?;
    Ok(Json(shown(&row)))
}
