//! `GET /api/v1/agreements/{id}/history`: its records, leaves as they are stored.

use super::capability_subject::readable;
use super::stream_page::{Question, StreamPage};
use crate::app::App;
use crate::extract::Asked;
use crate::openapi::Refused;
use crate::openapi::capability::CapabilityHistoryAnswer;
use crate::signed_read::{ReadRefusal, Reader};
use axum::extract::{Path, State};
use axum::response::Response;
use std::sync::Arc;
use x811_ledger::clock::Clock;
use x811_protocol::id::AgreementId;
use x811_protocol::stream::{Stream, Subject};

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
pub(super) async fn handle<C: Clock>(
    reader: Reader,
    State(app): State<Arc<App<C>>>,
    Path(id): Path<String>,
    Asked(question): Asked<Question>,
) -> Result<Response, ReadRefusal> {
    question.await_rows(&app).await?;
    let subject = AgreementId::lenient(&id).ok().map(Subject::Agreement);
    let row = readable(&app, &reader, subject).await?;
    let page = StreamPage::read(&app, &Stream::Of(row.subject), &question).await?;
    page.check_end(&app, &question, row.last_position).await?;
    // Every record of it is shown.
    let of = ("agreement", row.subject.public_id());
    Ok(page.answer(app, of, |_| true).await?)
}
