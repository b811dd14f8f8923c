//! One line per request, at debug: who asked, method, path template, status, milliseconds. Never a body, a
//! query or the ids in a path. At info there would be one for everybody who asks for anything.

use crate::app::App;
use crate::{limits, unread};
use axum::extract::{ConnectInfo, MatchedPath, Request, State};
use axum::http::HeaderValue;
use axum::http::header::X_CONTENT_TYPE_OPTIONS;
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};
use std::borrow::Cow;
use std::net::SocketAddr;
use std::sync::Arc;
use tracing::Instrument as _;
use x811_ledger::SPANS;
use x811_ledger::clock::Clock;

/// [`logged`], as a layer around routes.
pub(crate) async fn layer<C: Clock>(
    State(app): State<Arc<App<C>>>,
    ConnectInfo(peer): ConnectInfo<SocketAddr>,
    request: Request,
    next: Next,
) -> Response {
    let route = request.extensions().get::<MatchedPath>();
    let route = route.map_or("(unknown)".into(), |route| route.as_str().to_owned().into());
    logged(&app, peer, route, request, |request| next.run(request)).await
}

/// Has a request counted for its address, then answered, and logs it. `route` is the template of its
/// path.
pub(crate) async fn logged<C: Clock, F: Future<Output = Response>>(
    app: &App<C>,
    peer: SocketAddr,
    route: Cow<'static, str>,
    mut request: Request,
    answer: impl FnOnce(Request) -> F,
) -> Response {
    let begun_ms = app.clock.monotonic_ms();
    let method = request.method().clone();
    let span = tracing::debug_span!(
        target: SPANS,
        "request",
        otel.kind = "server",
        otel.name = %format_args!("{method} {route}"),
        http.response.status_code = tracing::field::Empty,
    );
    let (client, may_ask) = limits::guard(app, peer, &mut request);
    let mut response = match may_ask {
        Ok(()) => {
            let response = answer(request).instrument(span.clone()).await;
            unread::bounded(app, client, response)
        }
        Err(refusal) => refusal.into_response(),
    };
    let status = response.status().as_u16();
    // Unsigned, it would be sent as a text.
    span.record("http.response.status_code", i64::from(status));
    let ms = app.clock.monotonic_ms().saturating_sub(begun_ms);
    tracing::debug!(address = %peer.ip(), %client, %method, path = &*route, status, ms, "answered");
    app.http.answered(&method, route, status, ms);
    app.http.note_damage(&response);
    // Texts of agents leave inside JSON; no browser shall take them for anything else.
    response
        .headers_mut()
        .insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    response
}
