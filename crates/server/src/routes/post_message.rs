//! `POST /api/v1/messages`: an envelope, bare or as `{"envelope": …}`.

use crate::app::App;
use crate::error::ApiError;
use crate::extract::WholeBody;
use crate::limits::Client;
use crate::openapi::Refused;
use crate::openapi::schema::{AcceptedAnswer, ErrorPayload, SubmittedMessage};
use axum::extract::State;
use axum::http::StatusCode;
use axum::{Extension, Json};
use std::sync::Arc;
use x811_ledger::answer::{Accepted, Answer};
use x811_ledger::clock::Clock;

/// 202 once it is durable; 200 with the first answer when it repeats an accepted one. The body alone
/// decides: its `Content-Type` is not looked at.
#[utoipa::path(
    post,
    path = "/api/v1/messages",
    tag = "messages",
    request_body = SubmittedMessage,
    responses(
        (status = 202, description = "Accepted and durable", body = AcceptedAnswer),
        (status = 200, description = "Accepted before: the first answer", body = AcceptedAnswer),
        (status = 402, description = "The amount is below the total", body = ErrorPayload),
        (status = 409, description = "A nonce, id, key or DID that was used", body = ErrorPayload),
        (status = 413, description = "Longer than anything that is taken", body = ErrorPayload),
        (status = 415, description = "A result of a type that is refused", body = ErrorPayload),
        (status = 422, description = "Well formed, but not allowed now", body = ErrorPayload),
        Refused,
    ),
)]
pub(super) async fn handle<C: Clock>(
    State(app): State<Arc<App<C>>>,
    Extension(client): Extension<Client>,
    WholeBody(body): WholeBody,
) -> Result<(StatusCode, Json<Accepted>), ApiError> {
    let now_ms = app.clock.monotonic_ms();
    let limits = app.clone();
    let may = move |header: &_| limits.limiter.message(client, header, now_ms);
    let answer = app.ledger.submit_if(body, may, &app.contracts);
    Ok(match answer.await? {
        Answer::Accepted(accepted) => (StatusCode::ACCEPTED, Json(accepted)),
        Answer::Repeated(first) => (StatusCode::OK, Json(first)),
    })
}
