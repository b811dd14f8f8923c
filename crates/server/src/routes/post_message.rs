//! `POST /api/v1/messages`: an envelope, bare or as `{"envelope": …}`.

use crate::app::App;
use crate::error::ApiError;
use axum::Json;
use axum::body::Bytes;
use axum::extract::State;
use axum::extract::rejection::BytesRejection;
use axum::http::StatusCode;
use std::sync::Arc;
use x811_ledger::answer::{Accepted, Answer};
use x811_ledger::clock::Clock;

/// 202 once it is durable; 200 with the first answer when it repeats an accepted one.
pub(super) async fn handle<C: Clock>(
    State(app): State<Arc<App<C>>>,
    body: Result<Bytes, BytesRejection>,
) -> Result<(StatusCode, Json<Accepted>), ApiError> {
    let body = body.map_err(unread)?;
    Ok(match app.ledger.submit(body).await? {
        Answer::Accepted(accepted) => (StatusCode::ACCEPTED, Json(accepted)),
        Answer::Repeated(first) => (StatusCode::OK, Json(first)),
    })
}

fn unread(rejection: BytesRejection) -> ApiError {
    if rejection.status() == StatusCode::PAYLOAD_TOO_LARGE {
        return ApiError::too_large();
    }
    ApiError::malformed("the request's body broke off: send the same envelope again")
}
