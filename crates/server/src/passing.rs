//! What is sent to a process that stands by goes on to the one that writes, in one hop (stores.md
//! section 5).
//!
//! Processes of one ledger know each other by a key that follows from the ledger's own, so that none
//! but them can say whose request it is: what is passed on carries method, path, client and body under
//! a MAC, and so does the answer. What was passed on once is not passed on again.

pub(crate) mod between;
mod hop;
mod seal;

use crate::app::App;
use crate::error::ApiError;
use crate::extract::WholeBody;
use axum::body::{Body, Bytes};
use axum::extract::{FromRequest as _, Request};
use axum::http::header::{CONNECTION, CONTENT_LENGTH, HOST, TRANSFER_ENCODING};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode};
use axum::response::{IntoResponse as _, Response};
use hop::Hop;
pub(crate) use seal::{ANSWERED, PASSED_ON};
use seal::{Asked, Seal, Unopened};
use std::fmt;
use std::net::SocketAddr;
use std::str::FromStr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use x811_ledger::clock::Clock;
use x811_ledger::entropy::Entropy;
use x811_protocol::key::SecretKey;
use x811_protocol::signed_read::{ACCEPT_SIGNATURE, SIGNATURE, SIGNATURE_INPUT};

/// How long another process may take to be reached.
const REACH: Duration = Duration::from_millis(1_000);

/// How long it may take to answer: longer than a commit may. One that has lost its lease, or is not
/// there any more, is not waited for that long.
const PATIENCE: Duration = Duration::from_millis(20_000);

/// The longest answer that is passed back, in bytes.
const MAX_ANSWER_BYTES: usize = 4 * 1_048_576;

/// Said by a process that does not write, so that another one is asked.
const NOT_HERE: HeaderName = HeaderName::from_static("x811-not-here");

/// The field of execution-context tokens beside a message.
pub(crate) const EXECUTION_CONTEXT: &str = "execution-context";

/// What of a request goes on with it.
const KEPT: [&str; 6] = [
    "accept",
    "content-type",
    "content-encoding",
    EXECUTION_CONTEXT,
    SIGNATURE,
    SIGNATURE_INPUT,
];

/// What of an answer goes back with it.
const GIVEN_BACK: [&str; 4] = [
    "content-type",
    "retry-after",
    ACCEPT_SIGNATURE,
    "x811-as-of",
];

/// Another process of the ledger: `http://host:port`, or `https://…`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Peer(String);

/// Why that is no address of a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "a process of the ledger is named as http://HOST:PORT or https://HOST, and nothing behind it"
)]
pub struct NoPeer;

impl FromStr for Peer {
    type Err = NoPeer;

    fn from_str(text: &str) -> Result<Peer, NoPeer> {
        let text = text.strip_suffix('/').unwrap_or(text);
        let url = reqwest::Url::parse(text).map_err(|_| NoPeer)?;
        let is_plain = ["http", "https"].contains(&url.scheme())
            && url.has_host()
            && url.username().is_empty()
            && url.password().is_none()
            && url.path() == "/"
            && url.query().is_none()
            && url.fragment().is_none();
        is_plain.then(|| Peer(text.to_owned())).ok_or(NoPeer)
    }
}

impl fmt::Display for Peer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A request that another process of the ledger has passed on.
#[derive(Debug, Clone)]
pub(crate) struct PassedOn {
    /// Whose it is.
    pub(crate) client: SocketAddr,
    /// The authorities that it may be signed for at that process, separated by commas; `None`
    /// without any.
    pub(crate) authorities: Option<String>,
}

/// What processes of one ledger share.
pub(crate) struct Passing {
    seal: Seal,
    peers: Vec<Peer>,
    /// The one that took something last.
    last: AtomicUsize,
    client: Option<reqwest::Client>,
}

impl Passing {
    /// Between processes that have `key`; to `peers`.
    pub(crate) fn new(key: &SecretKey, peers: Vec<Peer>, entropy: &impl Entropy) -> Passing {
        // Without others nothing is sent to anybody.
        let client = (!peers.is_empty()).then(|| {
            reqwest::Client::builder()
                .connect_timeout(REACH)
                .timeout(PATIENCE)
                .redirect(reqwest::redirect::Policy::none())
                .no_proxy()
                .build()
        });
        if let Some(Err(error)) = &client {
            tracing::warn!(%error, "nothing can be passed on to other processes of the ledger");
        }
        Passing {
            seal: Seal::new(key, entropy),
            peers,
            last: AtomicUsize::new(0),
            client: client.and_then(Result::ok),
        }
    }
}

/// Whether a process that stands by passes this on: what changes something, and whether a message was
/// accepted, which the one that accepts them knows first.
pub(crate) fn is_for_the_holder(method: &Method, path: &str) -> bool {
    !method.is_safe() || path.starts_with("/api/v1/messages/by-id/")
}

/// Passes `request` on to the process that writes.
pub(crate) async fn pass_on<C: Clock>(
    app: &Arc<App<C>>,
    peer: SocketAddr,
    request: Request,
) -> Response {
    match passed_on(app, peer, request).await {
        Ok(response) => response,
        Err(error) => error.into_response(),
    }
}

async fn passed_on<C: Clock>(
    app: &Arc<App<C>>,
    peer: SocketAddr,
    request: Request,
) -> Result<Response, ApiError> {
    let client = app.limiter.address(peer.ip(), &request);
    let authorities = app
        .signed_reads
        .accepted(peer.ip(), request.headers(), request.uri());
    let (method, headers) = (request.method().clone(), request.headers().clone());
    let target = request.uri().path_and_query().map(ToString::to_string);
    let target = target.unwrap_or_else(|| "/".to_owned());
    let WholeBody(body) = WholeBody::from_request(request, app).await?;
    let asker = Asker {
        client: SocketAddr::new(client, peer.port()),
        authorities: authorities.as_deref(),
    };
    exchange(app, (&method, &target), asker, &headers, body).await
}

/// The sender of a request, and the authorities that it may be signed for.
struct Asker<'a> {
    client: SocketAddr,
    authorities: Option<&'a str>,
}

/// Has the process that writes answer a request of a client, or of this process.
async fn exchange<C: Clock>(
    app: &App<C>,
    (method, target): (&Method, &str),
    asker: Asker<'_>,
    headers: &HeaderMap,
    body: Bytes,
) -> Result<Response, ApiError> {
    let Some(http) = &app.passing.client else {
        return Err(nobody());
    };
    let (peers, first) = (&app.passing.peers, app.passing.last.load(Ordering::Relaxed));
    for offset in 0..peers.len() {
        let place = (first + offset) % peers.len();
        let asked = Asked {
            method: method.as_str(),
            target,
            client: asker.client,
            authorities: asker.authorities,
            body: &body,
        };
        let (sealed, nonce) = app.passing.seal.ask(&asked, app.clock.wall());
        let mut sent = http.request(method.clone(), format!("{}{target}", peers[place]));
        for name in KEPT {
            for value in headers.get_all(name) {
                sent = sent.header(name, value);
            }
        }
        let sent = sent.header(PASSED_ON, sealed).body(body.clone());
        match hop::answered(app, http, &peers[place], (sent, &nonce)).await? {
            Hop::Answered(response) => {
                app.passing.last.store(place, Ordering::Relaxed);
                return Ok(response);
            }
            Hop::NotHere => {}
            Hop::Moved => {
                let peer = &peers[place];
                tracing::warn!(%peer, "what was passed on is waited for no longer: the process that was asked is gone, or writes no more");
                app.passing.last.store(place + 1, Ordering::Relaxed);
                return Err(lost());
            }
        }
    }
    Err(nobody())
}

/// The answer of the other process, once it is known to be its own.
async fn given_back<C: Clock>(
    app: &App<C>,
    answer: reqwest::Response,
    nonce: &str,
) -> Result<Response, ApiError> {
    let (status, headers) = (answer.status(), answer.headers().clone());
    if answer
        .content_length()
        .is_some_and(|length| length > MAX_ANSWER_BYTES as u64)
    {
        return Err(lost());
    }
    let body = answer.bytes().await.map_err(|_| lost())?;
    let seal = headers.get(ANSWERED).and_then(|seal| seal.to_str().ok());
    let is_its_own = seal.is_some_and(|seal| {
        app.passing
            .seal
            .is_answer(seal, nonce, status.as_u16(), &body)
    });
    if !is_its_own {
        // A process that reads the log again answers so: nobody is believed, and nobody is to blame.
        let is_not_ready = seal.is_none() && status == StatusCode::SERVICE_UNAVAILABLE;
        if is_not_ready {
            tracing::debug!("the process that was asked is not ready");
        } else {
            tracing::error!(
                "an answer came from something that is no process of this ledger: see to [store] peers"
            );
        }
        return Err(lost());
    }
    let mut response = Response::new(Body::from(body));
    *response.status_mut() = status;
    for name in GIVEN_BACK {
        if let Some(value) = headers.get(name) {
            response
                .headers_mut()
                .insert(HeaderName::from_static(name), value.clone());
        }
    }
    Ok(response)
}

/// Whether it says of itself that it was passed on.
pub(crate) fn says_so(headers: &HeaderMap) -> bool {
    headers.contains_key(PASSED_ON)
}

/// Has a request answered by `answer` that another process passed on; nobody else's word is taken.
pub(crate) async fn take<C, F>(
    app: &Arc<App<C>>,
    request: Request,
    answer: impl FnOnce(SocketAddr, Request) -> F,
) -> Response
where
    C: Clock,
    F: Future<Output = Response>,
{
    if app.role.standing().is_some() {
        let mut response = nobody().into_response();
        response
            .headers_mut()
            .insert(NOT_HERE, HeaderValue::from_static("standby"));
        return response;
    }
    let opened = open(app, request).await;
    let (passed, nonce, mut request) = match opened {
        Ok(opened) => opened,
        Err(Untaken { error, nonce: None }) => return error.into_response(),
        Err(Untaken {
            error,
            nonce: Some(nonce),
        }) => return sealed(app, error.into_response(), &nonce).await,
    };
    let client = passed.client;
    request.extensions_mut().insert(passed);
    sealed(app, answer(client, request).await, &nonce).await
}

/// A request that was passed on and is not taken.
struct Untaken {
    error: ApiError,
    /// Nonce of the request, where a process of this ledger passed it on: the answer is sealed then.
    nonce: Option<Box<str>>,
}

impl From<ApiError> for Untaken {
    fn from(error: ApiError) -> Untaken {
        Untaken { error, nonce: None }
    }
}

impl From<Unopened> for Untaken {
    fn from(unopened: Unopened) -> Untaken {
        match unopened {
            Unopened::Foreign => ApiError::not_a_process().into(),
            Unopened::Clocks { nonce, apart_ms } => {
                tracing::warn!(
                    apart_ms,
                    "a request of another process of this ledger is refused: the clocks differ"
                );
                Untaken {
                    error: clocks_differ(apart_ms),
                    nonce: Some(nonce.into()),
                }
            }
        }
    }
}

async fn open<C: Clock>(
    app: &App<C>,
    request: Request,
) -> Result<(PassedOn, String, Request), Untaken> {
    let (mut parts, body) = request.into_parts();
    let seal = parts.headers.remove(PASSED_ON);
    let seal = seal.as_ref().and_then(|seal| seal.to_str().ok());
    let target = parts
        .uri
        .path_and_query()
        .map_or("/", |target| target.as_str());
    let seals = &app.passing.seal;
    let opened = seals.open(
        seal.unwrap_or_default(),
        parts.method.as_str(),
        target,
        app.clock.wall(),
    );
    let opened = opened?;
    // Only now: what a stranger sends is not read.
    let most = usize::try_from(app.parameters.limits.envelope_bytes).unwrap_or(usize::MAX);
    let patience = Duration::from_millis(app.body_read_ms);
    let body = axum::body::to_bytes(body, most.saturating_mul(2));
    let body: Bytes = match tokio::time::timeout(patience, body).await {
        Ok(Ok(body)) if opened.is_of(&body) => body,
        Ok(Ok(_) | Err(_)) => return Err(ApiError::not_a_process().into()),
        Err(_) => return Err(ApiError::too_slow().into()),
    };
    for name in [CONNECTION, TRANSFER_ENCODING] {
        parts.headers.remove(name);
    }
    parts
        .headers
        .insert(CONTENT_LENGTH, HeaderValue::from(body.len()));
    let first = opened.authorities.as_deref().and_then(|authorities| {
        let first = authorities.split(',').next()?;
        HeaderValue::from_str(first).ok()
    });
    if let Some(host) = first {
        parts.headers.insert(HOST, host);
    }
    let passed = PassedOn {
        client: opened.client,
        authorities: opened.authorities,
    };
    Ok((
        passed,
        opened.nonce,
        Request::from_parts(parts, Body::from(body)),
    ))
}

/// `response` with the seal that it is this ledger's.
async fn sealed<C: Clock>(app: &App<C>, response: Response, nonce: &str) -> Response {
    let (mut parts, body) = response.into_parts();
    let Ok(body) = axum::body::to_bytes(body, MAX_ANSWER_BYTES).await else {
        return ApiError::internal().into_response();
    };
    let seal = app.passing.seal.answer(nonce, parts.status.as_u16(), &body);
    if let Ok(seal) = HeaderValue::try_from(seal) {
        parts.headers.insert(ANSWERED, seal);
    }
    Response::from_parts(parts, Body::from(body))
}

fn nobody() -> ApiError {
    ApiError::not_yet(
        "this process of the ledger stands by, and none that writes is reached: send the same again",
    )
}

fn lost() -> ApiError {
    ApiError::not_yet(
        "the message was passed on and no answer came: send the same again, or ask whether it was \
         accepted at /api/v1/messages/by-id",
    )
}

fn clocks_differ(apart_ms: u64) -> ApiError {
    ApiError::not_yet(format!(
        "the message was passed on between two processes of this ledger whose clocks differ by {} s, and \
         nothing was done with it: the operator sets the clocks; send the same again later",
        apart_ms.div_ceil(1_000)
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stores_5_clocks_that_differ_are_named() {
        let response = clocks_differ(3_600_001).into_response();
        assert_eq!(response.status(), StatusCode::SERVICE_UNAVAILABLE);
    }

    #[test]
    fn stores_5_what_changes_something_goes_to_the_holder() {
        for (method, path, goes_on) in [
            (Method::POST, "/api/v1/messages", true),
            (Method::POST, "/api/v1/tokens", true),
            (
                Method::GET,
                "/api/v1/messages/by-id/0191e3a0-0000-7000-8000-000000000000",
                true,
            ),
            (
                Method::GET,
                "/api/v1/messages/0191e3a0-0000-7000-8000-000000000000",
                false,
            ),
            (Method::HEAD, "/log/checkpoint", false),
        ] {
            assert_eq!(is_for_the_holder(&method, path), goes_on, "{method} {path}");
        }
    }

    #[test]
    fn stores_5_a_process_is_named_by_scheme_host_and_port() {
        for (text, is_one) in [
            ("http://10.0.0.2:8811", true),
            ("http://10.0.0.2:8811/", true),
            ("https://b.example.org", true),
            ("http://b/path", false),
            ("http://user@b", false),
            ("ftp://b", false),
            ("b:8811", false),
            ("", false),
        ] {
            assert_eq!(text.parse::<Peer>().is_ok(), is_one, "{text}");
        }
    }
}
