//! `GET /api/v1/{kind}/{id}/history`: the records of a subject, leaves as they are stored; of a round votes only
//! once it is decided.

use super::round_readers::is_vote;
use super::stream_page::{Question, StreamPage};
use super::subject::{SubjectOf, may_read_votes, readable};
use crate::app::App;
use crate::extract::Asked;
use crate::openapi::Refused;
use crate::signed_read::{ReadRefusal, Reader};
use axum::extract::State;
use axum::response::Response;
use std::sync::Arc;
use x811_ledger::clock::Clock;
use x811_protocol::event::Event;
use x811_protocol::stream::Stream;

/// 200, or 404, also to those who take no part in it.
#[utoipa::path(
    get,
    path = "/api/v1/{kind}/{id}/history",
    params(Question),
    responses(Refused),
    security(("signature" = [], "signature_input" = []), ("bearer" = []), ()),
)]
pub(super) async fn handle<C: Clock>(
    reader: Reader,
    State(app): State<Arc<App<C>>>,
    SubjectOf { kind, subject }: SubjectOf,
    Asked(question): Asked<Question>,
) -> Result<Response, ReadRefusal> {
    question.await_rows(&app).await?;
    let row = readable(&app, &reader, kind, subject).await?;
    let wanted: fn(&Event) -> bool = match may_read_votes(&app, &reader, &row) {
        true => |_| true,
        false => |event| !is_vote(event),
    };
    let page = StreamPage::read(&app, &Stream::Of(row.subject), &question).await?;
    page.check_end(&app, &question, row.last_position).await?;
    let of = (kind.name, row.subject.public_id());
    Ok(page.answer(app, of, wanted).await?)
}
