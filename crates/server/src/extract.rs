//! Reading bodies, paths and queries, so that what is malformed is answered like everything else.

use crate::app::App;
use crate::body;
use crate::error::ApiError;
use axum::body::Bytes;
use axum::extract::{FromRequest, FromRequestParts, Path, Query, Request};
use axum::http::header::CONTENT_ENCODING;
use axum::http::request::Parts;
use axum::http::{HeaderMap, Uri};
use serde::de::{DeserializeOwned, Error as _};
use serde::{Deserialize, Deserializer};
use std::fmt::Display;
use std::str::FromStr;
use std::sync::Arc;
use x811_ledger::clock::Clock;
use x811_protocol::did::Did;

/// A request's body, whole, as it is, and within the time that it may take to arrive.
pub(crate) struct WholeBody(pub(crate) Bytes);

impl<C: Clock> FromRequest<Arc<App<C>>> for WholeBody {
    type Rejection = ApiError;

    async fn from_request(request: Request, app: &Arc<App<C>>) -> Result<Self, ApiError> {
        refuse_encoded(request.headers())?;
        tokio::select! {
            // A body that is there needs no timer.
            biased;
            body = body::read(request, app) => body.map(WholeBody),
            () = app.clock.sleep_ms(app.body_read_ms) => Err(ApiError::too_slow()),
        }
    }
}

/// A compressed megabyte could be any size: envelopes come as they are.
fn refuse_encoded(headers: &HeaderMap) -> Result<(), ApiError> {
    let mut encodings = headers.get_all(CONTENT_ENCODING).iter();
    if encodings.all(|encoding| encoding.as_bytes().eq_ignore_ascii_case(b"identity")) {
        return Ok(());
    }
    Err(ApiError::malformed(
        "the request has a Content-Encoding: send the envelope as plain, uncompressed JSON",
    ))
}

/// The one parameter of a path.
pub(crate) struct Named<T>(pub(crate) T);

impl<S, T> FromRequestParts<S> for Named<T>
where
    S: Send + Sync,
    T: FromStr<Err: Display>,
{
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiError> {
        let text = parameter(parts, state).await?;
        text.parse().map(Named).map_err(no_id)
    }
}

/// Refuses a parameter of a path that is no id.
pub(crate) fn no_id(fault: impl Display) -> ApiError {
    ApiError::malformed(format!("the last part of the path is no id: {fault}"))
}

/// An agent, by the UUID of its DID.
pub(crate) struct AgentOf(pub(crate) Did);

impl<S: Send + Sync> FromRequestParts<S> for AgentOf {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiError> {
        let uuid = parameter(parts, state).await?;
        let wrong = || ApiError::malformed(format!("the path {NO_AGENT}"));
        agent(&uuid).map(AgentOf).ok_or_else(wrong)
    }
}

/// The query, with every parameter known.
pub(crate) struct Asked<T>(pub(crate) T);

impl<S, T> FromRequestParts<S> for Asked<T>
where
    S: Send + Sync,
    T: DeserializeOwned,
{
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, ApiError> {
        asked(&parts.uri).map(Asked)
    }
}

/// Reads the query of `uri`.
///
/// # Errors
/// 400 for a parameter that is unknown, missing or malformed.
pub(crate) fn asked<T: DeserializeOwned>(uri: &Uri) -> Result<T, ApiError> {
    let query = Query::try_from_uri(uri);
    query.map(|Query(asked)| asked).map_err(|fault| {
        let text = fault.body_text();
        // What axum puts in front names nothing that whoever asked has written.
        let text = text.strip_prefix("Failed to deserialize query string: ");
        ApiError::malformed(text.map_or_else(|| fault.body_text(), str::to_owned))
    })
}

/// An agent in the query, by the UUID of its DID.
#[derive(Clone, Copy)]
pub(crate) struct OfAgent(pub(crate) Did);

impl<'de> Deserialize<'de> for OfAgent {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let uuid = String::deserialize(deserializer)?;
        let wrong = || D::Error::custom(NO_AGENT);
        agent(&uuid).map(OfAgent).ok_or_else(wrong)
    }
}

/// Said of what is no UUID of a DID, behind where it stands.
const NO_AGENT: &str = "names no agent: give the UUID of its DID, in lower case";

fn agent(uuid: &str) -> Option<Did> {
    format!("did:x811:{uuid}").parse().ok()
}

/// The largest integer that every JSON reader knows exactly.
pub(crate) const MAX_INTEGER: u64 = (1 << 53) - 1;

/// A whole number from `MIN` to `MAX`, in the query.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Bounded<const MIN: u64, const MAX: u64>(pub(crate) u64);

impl<'de, const MIN: u64, const MAX: u64> Deserialize<'de> for Bounded<MIN, MAX> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let number = text
            .parse()
            .ok()
            .filter(|number| (MIN..=MAX).contains(number));
        let wrong = || D::Error::custom(format!("write a whole number from {MIN} to {MAX}"));
        number.map(Bounded).ok_or_else(wrong)
    }
}

/// The one parameter of a path, as a text.
pub(crate) async fn parameter<S: Send + Sync>(
    parts: &mut Parts,
    state: &S,
) -> Result<String, ApiError> {
    let path = Path::<String>::from_request_parts(parts, state).await;
    path.map(|Path(text)| text)
        .map_err(|_| ApiError::malformed("the path cannot be read: percent-encode UTF-8"))
}
