//! HTTP for alloy's client that reads no more of an answer than it should.
//!
//! alloy's own transport reads every answer to its end and puts the URL, which may hold an API key,
//! into errors and traces.

use std::collections::{HashMap, HashSet};
use std::task::{Context, Poll};

use alloy::rpc::json_rpc::{Id, RequestPacket, Response, ResponsePacket, ResponsePayload};
use alloy::transports::{TransportError, TransportErrorKind, TransportFut};
use reqwest::header::{HeaderMap, RETRY_AFTER};
use reqwest::{Client, StatusCode, Url};
use serde::de::Error as _;
use tower_service::Service;

use super::refusal::is_rate_limit;

/// POSTs requests to one URL.
#[derive(Clone)]
pub(super) struct BoundedHttp {
    client: Client,
    url: Url,
    answer_bytes: usize,
}

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub(super) enum HttpFailure {
    /// The answer is longer than the limit.
    #[error("the answer is too long")]
    TooLarge,
    /// HTTP status 429 or 503, whatever else the answer says.
    #[error("HTTP status {status}")]
    Busy {
        status: u16,
        /// `Retry-After`, where it is a number of seconds.
        retry_after_ms: Option<u64>,
    },
    /// An HTTP status that is not success, without a JSON-RPC error in it.
    #[error("HTTP status {0}")]
    Status(u16),
    /// A web page with HTTP status 200: the response of a gateway, not of the node.
    #[error("a web page instead of JSON-RPC")]
    WebPage,
    /// No connection, a time limit, a cut answer.
    #[error(transparent)]
    Connection(reqwest::Error),
}

impl From<reqwest::Error> for HttpFailure {
    fn from(error: reqwest::Error) -> HttpFailure {
        HttpFailure::Connection(error.without_url())
    }
}

impl BoundedHttp {
    pub(super) fn new(client: Client, url: Url, answer_bytes: usize) -> BoundedHttp {
        BoundedHttp {
            client,
            url,
            answer_bytes,
        }
    }

    async fn post(self, request: RequestPacket) -> Result<ResponsePacket, TransportError> {
        let (status, body) = self
            .exchange(&request)
            .await
            .map_err(TransportErrorKind::custom)?;
        let answer = serde_json::from_slice::<ResponsePacket>(&body);
        if status.is_success() {
            let answer = answer.map_err(|error| unreadable(&body, error))?;
            return matched(&request, answer);
        }
        // Some providers put JSON-RPC errors under an HTTP status of their own.
        let answer = answer
            .ok()
            .filter(ResponsePacket::is_error)
            .ok_or_else(|| TransportErrorKind::custom(HttpFailure::Status(status.as_u16())))?;
        matched(&request, answer)
    }

    async fn exchange(
        &self,
        request: &RequestPacket,
    ) -> Result<(StatusCode, Vec<u8>), HttpFailure> {
        let mut response = self
            .client
            .post(self.url.clone())
            .json(request)
            .send()
            .await?;
        let status = response.status();
        if let StatusCode::TOO_MANY_REQUESTS | StatusCode::SERVICE_UNAVAILABLE = status {
            return Err(HttpFailure::Busy {
                status: status.as_u16(),
                retry_after_ms: retry_after_ms(response.headers()),
            });
        }
        let mut body = Vec::new();
        while let Some(chunk) = response.chunk().await? {
            if body.len() + chunk.len() > self.answer_bytes {
                return Err(HttpFailure::TooLarge);
            }
            body.extend_from_slice(&chunk);
        }
        Ok((status, body))
    }
}

/// The responses that answer the request. Nodes and caches in front of them confuse ids; alloy compares the ids of
/// batches only, and takes the first response of each. A single error is accepted with any id: gateways that turn
/// requests away do not always read the id.
fn matched(
    request: &RequestPacket,
    answer: ResponsePacket,
) -> Result<ResponsePacket, TransportError> {
    match (request, answer) {
        (
            RequestPacket::Batch(_),
            ResponsePacket::Single(Response {
                payload: ResponsePayload::Failure(refusal),
                ..
            }),
        ) => Err(TransportError::ErrorResp(refusal)),
        (RequestPacket::Batch(_), ResponsePacket::Batch(mut responses)) => {
            let ambiguous = ambiguous(&responses);
            responses.retain(|response| !ambiguous.contains(&response.id));
            Ok(ResponsePacket::Batch(responses))
        }
        (RequestPacket::Single(call), ResponsePacket::Single(response))
            if response.is_success() && response.id != *call.id() =>
        {
            let error = serde_json::Error::custom("the response has the id of another request");
            Err(TransportError::deser_err(error, ""))
        }
        (_, answer) => Ok(answer),
    }
}

/// Ids with different responses: none of these responses counts.
fn ambiguous(responses: &[Response]) -> HashSet<Id> {
    let mut results = HashMap::with_capacity(responses.len());
    let mut ambiguous = HashSet::new();
    for response in responses {
        let result = response.payload.as_success().map(|result| result.get());
        if *results.entry(&response.id).or_insert(result) != result {
            ambiguous.insert(response.id.clone());
        }
    }
    ambiguous
}

/// Error for a response that is not JSON-RPC. Only the beginning of a long one is examined.
fn unreadable(body: &[u8], error: serde_json::Error) -> TransportError {
    let beginning = &body[..body.len().min(4_096)];
    if is_rate_limit(&String::from_utf8_lossy(beginning)) {
        return TransportErrorKind::custom(HttpFailure::Busy {
            status: 429,
            retry_after_ms: None,
        });
    }
    if beginning.trim_ascii_start().starts_with(b"<") {
        return TransportErrorKind::custom(HttpFailure::WebPage);
    }
    TransportError::deser_err(error, "")
}

/// A date is not read: it would need a clock, and the doubling wait does without.
fn retry_after_ms(headers: &HeaderMap) -> Option<u64> {
    let seconds: u64 = headers.get(RETRY_AFTER)?.to_str().ok()?.parse().ok()?;
    Some(seconds.saturating_mul(1_000))
}

impl Service<RequestPacket> for BoundedHttp {
    type Response = ResponsePacket;
    type Error = TransportError;
    type Future = TransportFut<'static>;

    fn poll_ready(&mut self, _context: &mut Context<'_>) -> Poll<Result<(), TransportError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: RequestPacket) -> TransportFut<'static> {
        Box::pin(self.clone().post(request))
    }
}
