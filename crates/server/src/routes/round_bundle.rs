//! `GET /api/v1/rounds/{id}/bundle`: a round and every stream that it rests on, in one file that is audited
//! offline.

use super::bundle::answer;
use super::round_readers::{may_read_votes, readable, still_open};
use crate::app::App;
use crate::limits::Client;
use crate::openapi::Refused;
use crate::signed_read::{ReadRefusal, Reader};
use axum::Extension;
use axum::extract::{Path, State};
use axum::response::Response;
use std::sync::Arc;
use x811_ledger::clock::Clock;
use x811_protocol::id::RoundId;
use x811_protocol::stream::Subject;

/// 200, or 404, also to those who take no part in it; 409 before the round is decided, as it holds all votes. Waits a moment for a checkpoint that covers
/// its last record. It is made while it is sent: one that was cut off has no trailer.
#[utoipa::path(
    get,
    path = "/api/v1/rounds/{id}/bundle",
    operation_id = "readRoundBundle",
    tag = "rounds",
    params(("id" = String, Path, description = "The envelope id of its proposal")),
    responses(
        (
            status = 200,
            description = "The bundle, to be kept byte for byte: `x811 audit` checks it",
            body = String,
            content_type = "text/plain",
        ),
        Refused
    ),
    security(("signature" = [], "signature_input" = []), ("bearer" = []), ()),
)]
pub(super) async fn handle<C: Clock>(
    reader: Reader,
    State(app): State<Arc<App<C>>>,
    Extension(client): Extension<Client>,
    Path(id): Path<String>,
) -> Result<Response, ReadRefusal> {
    app.rows_as_they_come().await;
    let subject = RoundId::lenient(&id).ok().map(Subject::Round);
    let row = readable(&app, &reader, subject).await?;
    if !may_read_votes(&app, &reader, &row) {
        return Err(still_open().into());
    }
    answer(app, client, row.subject, row.last_position).await
}
