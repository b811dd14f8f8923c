//! `GET /api/v1/interactions/{id}/history`: an interaction's records, leaves as they are stored.

use super::interaction::readable;
use super::stream_page::{Question, StreamPage};
use crate::app::App;
use crate::extract::{Asked, Named};
use crate::openapi::Refused;
use crate::openapi::schema::{HistoryAnswer, Uuid};
use crate::signed_read::{ReadRefusal, Reader};
use axum::extract::State;
use axum::response::Response;
use std::sync::Arc;
use x811_ledger::clock::Clock;
use x811_protocol::id::InteractionId;
use x811_protocol::stream::Stream;

/// 200, or 404, also to those who are no party to it.
#[utoipa::path(
    get,
    path = "/api/v1/interactions/{id}/history",
    operation_id = "readHistory",
    tag = "interactions",
    params(("id" = Uuid, Path, description = "Envelope id of its REQUEST"), Question),
    responses((status = 200, description = "Its records", body = HistoryAnswer), Refused),
    security(("signature" = [], "signature_input" = []), ("bearer" = []), ()),
)]
pub(super) async fn handle<C: Clock>(
    reader: Reader,
    State(app): State<Arc<App<C>>>,
    Named(id): Named<InteractionId>,
    Asked(question): Asked<Question>,
) -> Result<Response, ReadRefusal> {
    question.await_rows(&app).await?;
    let row = readable(&app, &reader, id).await?;
    let page = StreamPage::read(&app, &Stream::interaction(id), &question).await?;
    page.check_end(&app, &question, row.last_position).await?;
    // Every record of an interaction is shown.
    let of = ("interaction", id.to_string());
    Ok(page.answer(app, of, |_| true).await?)
}
