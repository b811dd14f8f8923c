//! `GET /log/checkpoint`: the last signed checkpoint (C2SP tlog-checkpoint). Everybody's.

use crate::app::App;
use crate::error::ApiError;
use crate::openapi::Refused;
use axum::extract::State;
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE};
use axum::response::IntoResponse;
use std::sync::Arc;
use x811_ledger::clock::Clock;

/// One is signed every second, so a copy may be as old.
const CACHED: &str = "public, max-age=1";

pub(super) const TEXT: &str = "text/plain; charset=utf-8";

/// 200, or 503 before the first one since the start.
#[utoipa::path(
    get,
    path = "/log/checkpoint",
    operation_id = "readCheckpoint",
    tag = "log",
    responses(
        (
            status = 200,
            description = "Origin, size and root of the log, as a signed note",
            body = String,
            content_type = "text/plain",
        ),
        Refused,
    ),
)]
pub(super) async fn handle<C: Clock>(
    State(app): State<Arc<App<C>>>,
) -> Result<impl IntoResponse, ApiError> {
    let signed = app.last_signed()?;
    Ok(([(CONTENT_TYPE, TEXT), (CACHE_CONTROL, CACHED)], signed.note))
}
