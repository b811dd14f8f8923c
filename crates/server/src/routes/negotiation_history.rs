//! `GET /api/v1/negotiations/{id}/history`: a negotiation's records, leaves as they are stored.

use super::negotiation::readable;
use super::stream_page::{Question, StreamPage};
use crate::app::App;
use crate::extract::Asked;
use crate::openapi::Refused;
use crate::openapi::negotiation::NegotiationHistoryAnswer;
use crate::signed_read::{ReadRefusal, Reader};
use axum::extract::{Path, State};
use axum::response::Response;
use std::sync::Arc;
use x811_ledger::clock::Clock;
use x811_protocol::stream::{Stream, Subject};

/// 200, or 404, also to those who take no part in it.
#[utoipa::path(
    get,
    path = "/api/v1/negotiations/{id}/history",
    operation_id = "readNegotiationHistory",
    tag = "negotiations",
    params(("id" = String, Path, description = "`neg-` and the envelope id of its offer"), Question),
    responses((status = 200, description = "Its records", body = NegotiationHistoryAnswer), Refused),
    security(("signature" = [], "signature_input" = []), ("bearer" = []), ()),
)]
pub(super) async fn handle<C: Clock>(
    reader: Reader,
    State(app): State<Arc<App<C>>>,
    Path(id): Path<String>,
    Asked(question): Asked<Question>,
) -> Result<Response, ReadRefusal> {
    question.await_rows(&app).await?;
    let (id, row) = readable(&app, &reader, &id).await?;
    let page = StreamPage::read(&app, &Stream::Of(Subject::Contract(id)), &question).await?;
    page.check_end(&app, &question, row.last_position).await?;
    // Every record of a negotiation is shown.
    let of = ("negotiation", id.to_public());
    Ok(page.answer(app, of, |_| true).await?)
}
