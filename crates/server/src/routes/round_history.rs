//! `GET /api/v1/rounds/{id}/history`: its records, leaves as they are stored; votes only once it is decided.

use super::round_readers::{is_vote, may_read_votes, readable};
use super::stream_page::{Question, StreamPage};
use crate::app::App;
use crate::extract::Asked;
use crate::openapi::Refused;
use crate::openapi::round::RoundHistoryAnswer;
use crate::signed_read::{ReadRefusal, Reader};
use axum::extract::{Path, State};
use axum::response::Response;
use std::sync::Arc;
use x811_ledger::clock::Clock;
use x811_protocol::event::Event;
use x811_protocol::id::RoundId;
use x811_protocol::stream::{Stream, Subject};

/// 200, or 404, also to those who take no part in it. Votes are left out until the round is decided, to all
/// but a leader of open ones.
#[utoipa::path(
    get,
    path = "/api/v1/rounds/{id}/history",
    operation_id = "readRoundHistory",
    tag = "rounds",
    params(("id" = String, Path, description = "The envelope id of its proposal"), Question),
    responses((status = 200, description = "Its records", body = RoundHistoryAnswer), Refused),
    security(("signature" = [], "signature_input" = []), ("bearer" = []), ()),
)]
pub(super) async fn handle<C: Clock>(
    reader: Reader,
    State(app): State<Arc<App<C>>>,
    Path(id): Path<String>,
    Asked(question): Asked<Question>,
) -> Result<Response, ReadRefusal> {
    question.await_rows(&app).await?;
    let subject = RoundId::lenient(&id).ok().map(Subject::Round);
    let row = readable(&app, &reader, subject).await?;
    let page = StreamPage::read(&app, &Stream::Of(row.subject), &question).await?;
    page.check_end(&app, &question, row.last_position).await?;
    let of = ("round", row.subject.public_id());
    let wanted = if may_read_votes(&app, &reader, &row) {
        |_: &Event| true
    } else {
        |event: &Event| !is_vote(event)
    };
    Ok(page.answer(app, of, wanted).await?)
}
