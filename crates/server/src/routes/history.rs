//! `GET /api/v1/…/history`: the records of a subject, leaves as they are stored; of a round votes only once it
//! is decided.

use super::round_readers::{is_vote, may_read_votes};
use super::stream_page::{Question, StreamPage};
use super::subject::readable;
use super::{interaction, negotiation, round_readers};
use crate::app::App;
use crate::extract::{Asked, Named};
use crate::openapi::Refused;
use crate::openapi::capability::CapabilityHistoryAnswer;
use crate::openapi::negotiation::NegotiationHistoryAnswer;
use crate::openapi::round::RoundHistoryAnswer;
use crate::openapi::schema::HistoryAnswer;
use crate::signed_read::{ReadRefusal, Reader};
use axum::extract::{Path, State};
use axum::response::Response;
use std::sync::Arc;
use x811_ledger::clock::Clock;
use x811_protocol::event::Event;
use x811_protocol::id::{AgreementId, InteractionId, RoundId, SessionId};
use x811_protocol::stream::{Stream, Subject};

/// 200, or 404, also to those who are no party to it.
#[utoipa::path(
    get,
    path = "/api/v1/interactions/{id}/history",
    operation_id = "readHistory",
    tag = "interactions",
    params(("id" = InteractionId, Path, description = "Envelope id of its REQUEST"), Question),
    responses((status = 200, description = "Its records", body = HistoryAnswer), Refused),
    security(("signature" = [], "signature_input" = []), ("bearer" = []), ()),
)]
pub(super) async fn of_interaction<C: Clock>(
    reader: Reader,
    State(app): State<Arc<App<C>>>,
    Named(id): Named<InteractionId>,
    Asked(question): Asked<Question>,
) -> Result<Response, ReadRefusal> {
    question.await_rows(&app).await?;
    let row = interaction::readable(&app, &reader, id).await?;
    let of = ("interaction", Subject::Interaction(id), row.last_position);
    answer(app, question, of, every).await
}

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
pub(super) async fn of_negotiation<C: Clock>(
    reader: Reader,
    State(app): State<Arc<App<C>>>,
    Path(id): Path<String>,
    Asked(question): Asked<Question>,
) -> Result<Response, ReadRefusal> {
    question.await_rows(&app).await?;
    let (_, row) = negotiation::readable(&app, &reader, &id).await?;
    let of = ("negotiation", row.subject, row.last_position);
    answer(app, question, of, every).await
}

/// 200, or 404, also to those who take no part in it.
#[utoipa::path(
    get,
    path = "/api/v1/sessions/{id}/history",
    operation_id = "readSessionHistory",
    tag = "capabilities",
    params(("id" = String, Path, description = "The envelope id of its request"), Question),
    responses((status = 200, description = "Its records", body = CapabilityHistoryAnswer), Refused),
    security(("signature" = [], "signature_input" = []), ("bearer" = []), ()),
)]
pub(super) async fn of_session<C: Clock>(
    reader: Reader,
    State(app): State<Arc<App<C>>>,
    Path(id): Path<String>,
    Asked(question): Asked<Question>,
) -> Result<Response, ReadRefusal> {
    question.await_rows(&app).await?;
    let subject = SessionId::lenient(&id).ok().map(Subject::Session);
    let row = readable(&app, &reader, subject).await?;
    let of = ("session", row.subject, row.last_position);
    answer(app, question, of, every).await
}

/// 200, or 404, also to those who take no part in it.
#[utoipa::path(
    get,
    path = "/api/v1/agreements/{id}/history",
    operation_id = "readAgreementHistory",
    tag = "capabilities",
    params(("id" = String, Path, description = "The envelope id of the request of its first session"), Question),
    responses((status = 200, description = "Its records", body = CapabilityHistoryAnswer), Refused),
    security(("signature" = [], "signature_input" = []), ("bearer" = []), ()),
)]
pub(super) async fn of_agreement<C: Clock>(
    reader: Reader,
    State(app): State<Arc<App<C>>>,
    Path(id): Path<String>,
    Asked(question): Asked<Question>,
) -> Result<Response, ReadRefusal> {
    question.await_rows(&app).await?;
    let subject = AgreementId::lenient(&id).ok().map(Subject::Agreement);
    let row = readable(&app, &reader, subject).await?;
    let of = ("agreement", row.subject, row.last_position);
    answer(app, question, of, every).await
}

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
pub(super) async fn of_round<C: Clock>(
    reader: Reader,
    State(app): State<Arc<App<C>>>,
    Path(id): Path<String>,
    Asked(question): Asked<Question>,
) -> Result<Response, ReadRefusal> {
    question.await_rows(&app).await?;
    let subject = RoundId::lenient(&id).ok().map(Subject::Round);
    let row = round_readers::readable(&app, &reader, subject).await?;
    let of = ("round", row.subject, row.last_position);
    let wanted = match may_read_votes(&app, &reader, &row) {
        true => every,
        false => |event: &Event| !is_vote(event),
    };
    answer(app, question, of, wanted).await
}

fn every(_: &Event) -> bool {
    true
}

/// The page that was asked for, of what is `wanted` of a subject: its name in the answer, which it is, and the
/// position of its last record.
async fn answer<C: Clock>(
    app: Arc<App<C>>,
    question: Question,
    (name, subject, last_position): (&str, Subject, u64),
    wanted: fn(&Event) -> bool,
) -> Result<Response, ReadRefusal> {
    let page = StreamPage::read(&app, &Stream::Of(subject), &question).await?;
    page.check_end(&app, &question, last_position).await?;
    Ok(page
        .answer(app, (name, subject.public_id()), wanted)
        .await?)
}
