//! One line per request: method, path template, status, milliseconds. Never a body, a query or the
//! ids in a path.

use crate::app::App;
use crate::limits;
use axum::extract::{ConnectInfo, MatchedPath, Request, State};
use axum::http::HeaderValue;
use axum::http::header::X_CONTENT_TYPE_OPTIONS;
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};
use std::net::SocketAddr;
use std::sync::Arc;
use tracing::Instrument as _;
use x811_ledger::SPANS;
use x811_ledger::clock::Clock;

/// Has a request counted for its address, and logs it once it is answered. One layer for both: each
/// costs as much as reading a request's head does.
pub(crate) async fn log<C: Clock>(
    State(app): State<Arc<App<C>>>,
    ConnectInfo(peer): ConnectInfo<SocketAddr>,
    mut request: Request,
    next: Next,
) -> Response {
    let begun_ms = app.clock.monotonic_ms();
    let method = request.method().clone();
    let path = request.extensions().get::<MatchedPath>().cloned();
    let path = path.as_ref().map_or("(unknown)", MatchedPath::as_str);
    let span = tracing::debug_span!(
        target: SPANS,
        "request",
        otel.kind = "server",
        otel.name = %format_args!("{method} {path}"),
        http.response.status_code = tracing::field::Empty,
    );
    let mut response = match limits::guard(&app, peer, &mut request) {
        Ok(()) => next.run(request).instrument(span.clone()).await,
        Err(refusal) => refusal.into_response(),
    };
    let status = response.status().as_u16();
    // Unsigned, it would be sent as a text.
    span.record("http.response.status_code", i64::from(status));
    let ms = app.clock.monotonic_ms().saturating_sub(begun_ms);
    app.http.answered(&method, path, status, ms);
    tracing::info!(%method, path, status, ms, "answered");
    // Texts of agents leave inside JSON; no browser shall take them for anything else.
    response
        .headers_mut()
        .insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    response
}
