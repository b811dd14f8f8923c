//! `POST /api/v1/messages`: an envelope, bare or as `{"envelope": …}`.

use crate::app::App;
use crate::error::ApiError;
use crate::extract::WholeBody;
use crate::limits::{self, Client};
use crate::openapi::Refused;
use crate::openapi::schema::{AcceptedAnswer, ErrorPayload, SubmittedMessage};
use axum::Json;
use axum::body::Bytes;
use axum::extract::{FromRequest as _, Request, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse as _, Response};
use serde::Serialize;
use std::sync::Arc;
use x811_ledger::answer::{Accepted, Answer};
use x811_ledger::clock::Clock;
use x811_protocol::id::EnvelopeId;

/// Where envelopes are sent.
pub(super) const PATH: &str = "/api/v1/messages";

/// 202 once it is durable; 200 with the first answer when it repeats an accepted one. The body alone
/// decides: its `Content-Type` is not looked at.
#[utoipa::path(
    post,
    path = PATH,
    operation_id = "submitMessage",
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
pub(super) async fn handle<C: Clock>(State(app): State<Arc<App<C>>>, request: Request) -> Response {
    answer(&app, request).await
}

/// The same, the way every message takes: see `front`. The route is there to be described, and to
/// refuse other methods.
pub(super) async fn answer<C: Clock>(app: &Arc<App<C>>, request: Request) -> Response {
    match submit(app, request).await {
        Ok(Answer::Accepted(accepted)) => {
            (StatusCode::ACCEPTED, Json(SubmissionAnswer::of(accepted))).into_response()
        }
        Ok(Answer::Repeated(first)) => {
            (StatusCode::OK, Json(SubmissionAnswer::of(first))).into_response()
        }
        Err(error) => error.into_response(),
    }
}

/// An answer, with what the published SDK reads of it under names of its own (decision 0190).
#[derive(Serialize)]
struct SubmissionAnswer {
    #[serde(flatten)]
    accepted: Accepted,
    message_id: EnvelopeId,
    status: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    interaction_status: Option<&'static str>,
}

impl SubmissionAnswer {
    fn of(accepted: Accepted) -> SubmissionAnswer {
        SubmissionAnswer {
            message_id: accepted.envelope_id,
            status: "queued",
            interaction_status: accepted.interaction_id.and(accepted.state),
            accepted,
        }
    }
}

async fn submit<C: Clock>(app: &Arc<App<C>>, request: Request) -> Result<Answer, ApiError> {
    let client = limits::noted(&request);
    let WholeBody(body) = WholeBody::from_request(request, app).await?;
    submit_body(app, client, body).await
}

/// The same of a body that was read.
pub(super) async fn submit_body<C: Clock>(
    app: &Arc<App<C>>,
    client: Client,
    body: Bytes,
) -> Result<Answer, ApiError> {
    let now_ms = app.clock.monotonic_ms();
    let limits = app.clone();
    let may = move |header: &_| {
        limits.limiter.message(client, header, now_ms)?;
        limits.presence.admit(header, now_ms)
    };
    let submitted = app
        .ledger
        .submit_from(client.origin(), body, may, &*app.contracts);
    Ok(submitted.await?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_described_where_it_is_answered() {
        assert_eq!(<__path_handle as utoipa::Path>::path(), PATH);
    }
}
