//! `POST /api/v1/messages`: an envelope, bare or as `{"envelope": …}`.

use super::ready::CHECKPOINT_OVERDUE;
use crate::app::App;
use crate::error::ApiError;
use crate::extract::WholeBody;
use crate::limits::{self, Client};
use crate::openapi::Refused;
use crate::openapi::schema::{AcceptedAnswer, ErrorPayload, SubmittedMessage};
use crate::passing::EXECUTION_CONTEXT;
use axum::Json;
use axum::body::Bytes;
use axum::extract::{FromRequest as _, Request, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::response::{IntoResponse as _, Response};
use serde::Serialize;
use std::sync::Arc;
use x811_ledger::answer::{Accepted, Answer};
use x811_ledger::clock::Clock;
use x811_protocol::code::Code;
use x811_protocol::envelope::AcceptedHeader;
use x811_protocol::id::EnvelopeId;
use x811_protocol::refusal::{Kind, Refusal};
use x811_protocol::trace::check_presented;

/// Where envelopes are sent.
pub(super) const PATH: &str = "/api/v1/messages";

/// 202 once it is durable; 200 with the first answer when it repeats an accepted one. The body alone
/// decides: its `Content-Type` is not looked at. Execution-context tokens in `Execution-Context` are
/// checked, CCN-6001 where one does not hold, and not recorded.
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
    let presented = Presented::of(request.headers());
    let WholeBody(body) = WholeBody::from_request(request, app).await?;
    submit_presenting(app, client, body, presented).await
}

/// The same of a body that was read, with no token beside it.
pub(super) async fn submit_body<C: Clock>(
    app: &Arc<App<C>>,
    client: Client,
    body: Bytes,
) -> Result<Answer, ApiError> {
    submit_presenting(app, client, body, Presented::default()).await
}

async fn submit_presenting<C: Clock>(
    app: &Arc<App<C>>,
    client: Client,
    body: Bytes,
    presented: Presented,
) -> Result<Answer, ApiError> {
    if app.is_checkpoint_overdue() {
        return Err(ApiError::unavailable(CHECKPOINT_OVERDUE));
    }
    app.may_record()?;
    let now_ms = app.clock.monotonic_ms();
    let limits = app.clone();
    let may = move |header: &AcceptedHeader| {
        limits.limiter.message(client, header, now_ms)?;
        presented.check(header, &*limits.clock)?;
        limits.presence.admit(header, now_ms)
    };
    let submitted = app
        .ledger
        .submit_from(client.origin(), body, may, &*app.contracts);
    submitted.await.map_err(|refusal| app.refused(refusal))
}

/// Execution-context tokens beside a message: the header `Execution-Context`, once for each. They are checked
/// and not recorded (round.md, "Trace").
#[derive(Debug, Clone, Default)]
struct Presented(Arc<[HeaderValue]>);

impl Presented {
    fn of(headers: &HeaderMap) -> Presented {
        Presented(headers.get_all(EXECUTION_CONTEXT).iter().cloned().collect())
    }

    /// Refuses tokens that do not hold, once it is certain whose message it is.
    fn check(&self, header: &AcceptedHeader, clock: &impl Clock) -> Result<(), Refusal> {
        if self.0.is_empty() {
            return Ok(());
        }
        // What is no ASCII text is no token either.
        let tokens = self
            .0
            .iter()
            .map(|value| value.to_str().unwrap_or_default());
        let tokens: Vec<&str> = tokens.collect();
        check_presented(&tokens, header.key, clock.wall()).map_err(|fault| {
            let message = format!("Execution-Context does not hold: {fault}");
            Refusal::new(Code::TraceInvalid, Kind::Authentication, message)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_described_where_it_is_answered() {
        assert_eq!(<__path_handle as utoipa::Path>::path(), PATH);
    }
}
