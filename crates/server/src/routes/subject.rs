//! `GET /api/v1/sessions/{id}`, `/agreements/{id}`, `/rounds/{id}`: a subject as it stands. Who may read a session or
//! an agreement, and how a row is shown.

use super::interaction::Question;
use super::round_readers;
use crate::app::App;
use crate::error::ApiError;
use crate::extract::Asked;
use crate::openapi::Refused;
use crate::signed_read::{ReadRefusal, Reader};
use axum::Json;
use axum::extract::{Path, State};
use serde_json::Value;
use std::sync::Arc;
use x811_ledger::clock::Clock;
use x811_ledger::port::ReadModel as _;
use x811_protocol::answer::{AgreementView, RoundView, SessionView};
use x811_protocol::id::{AgreementId, RoundId, SessionId};
use x811_protocol::stream::Subject;
use x811_world::row::SubjectRow;

/// 200, or 404, also to those who take no part in it.
#[utoipa::path(
    get,
    path = "/api/v1/sessions/{id}",
    operation_id = "readSession",
    tag = "capabilities",
    params(("id" = String, Path, description = "The envelope id of its request"), Question),
    responses((status = 200, description = "As it stands", body = SessionView), Refused),
    security(("signature" = [], "signature_input" = []), ("bearer" = []), ()),
)]
pub(super) async fn session<C: Clock>(
    reader: Reader,
    State(app): State<Arc<App<C>>>,
    Path(id): Path<String>,
    Asked(question): Asked<Question>,
) -> Result<Json<Value>, ReadRefusal> {
    question.await_rows(&app).await?;
    let subject = SessionId::lenient(&id).ok().map(Subject::Session);
    Ok(Json(shown(&readable(&app, &reader, subject).await?)))
}

/// 200, or 404, also to those who take no part in it.
#[utoipa::path(
    get,
    path = "/api/v1/agreements/{id}",
    operation_id = "readAgreement",
    tag = "capabilities",
    params(("id" = String, Path, description = "The envelope id of the request of its first session"), Question),
    responses((status = 200, description = "As it stands", body = AgreementView), Refused),
    security(("signature" = [], "signature_input" = []), ("bearer" = []), ()),
)]
pub(super) async fn agreement<C: Clock>(
    reader: Reader,
    State(app): State<Arc<App<C>>>,
    Path(id): Path<String>,
    Asked(question): Asked<Question>,
) -> Result<Json<Value>, ReadRefusal> {
    question.await_rows(&app).await?;
    let subject = AgreementId::lenient(&id).ok().map(Subject::Agreement);
    Ok(Json(shown(&readable(&app, &reader, subject).await?)))
}

/// 200, or 404, also to those who take no part in it.
#[utoipa::path(
    get,
    path = "/api/v1/rounds/{id}",
    operation_id = "readRound",
    tag = "rounds",
    params(("id" = String, Path, description = "The envelope id of its proposal"), Question),
    responses((status = 200, description = "As it stands", body = RoundView), Refused),
    security(("signature" = [], "signature_input" = []), ("bearer" = []), ()),
)]
pub(super) async fn round<C: Clock>(
    reader: Reader,
    State(app): State<Arc<App<C>>>,
    Path(id): Path<String>,
    Asked(question): Asked<Question>,
) -> Result<Json<Value>, ReadRefusal> {
    question.await_rows(&app).await?;
    let subject = RoundId::lenient(&id).ok().map(Subject::Round);
    Ok(Json(shown(
        &round_readers::readable(&app, &reader, subject).await?,
    )))
}

/// The row of that subject, for those who may read it; 404 for all others.
pub(super) async fn readable<C: Clock>(
    app: &App<C>,
    reader: &Reader,
    subject: Option<Subject>,
) -> Result<SubjectRow, ReadRefusal> {
    let not_found = || {
        ApiError::not_found(
            "nothing of that id that you may read is here: a session is named by the envelope id of its \
             request, an agreement by that of its first session, and their two parties read them",
        )
    };
    let subject = subject.ok_or_else(not_found)?;
    let row = app.ledger.read_model().subject(subject).await?;
    let row = row.filter(|row| reader.may_read(&row.members));
    Ok(row.ok_or_else(not_found)?)
}

/// The row as it is answered.
pub(super) fn shown(row: &SubjectRow) -> Value {
    let mut shown = row.detail.clone();
    shown["id"] = row.subject.public_id().into();
    shown["status"] = row.state.clone().into();
    shown["opened_at_ms"] = row.opened_at_ms.as_ms().into();
    shown["updated_at_ms"] = row.updated_at_ms.as_ms().into();
    shown["last_position"] = row.last_position.into();
    if let Some(deadline) = row.deadline_at_ms {
        shown["deadline_at_ms"] = deadline.as_ms().into();
    }
    shown
}
