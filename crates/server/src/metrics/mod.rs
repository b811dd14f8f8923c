//! `GET /metrics`: what an operator watches, in the Prometheus text format or in OpenMetrics.
//!
//! It is served on an address of its own (`metrics_listen`) and nowhere unless that is given: how
//! much business a ledger does is nobody's business. Labels come from closed sets: states, codes,
//! route templates, statuses and configured networks; never an agent's words or ids.

mod family;
mod format;
mod http;
mod ledger;
mod process;
mod watch;

pub(crate) use http::HttpFigures;
pub(crate) use watch::head_age_ms;

use crate::app::App;
use axum::Router;
use axum::extract::State;
use axum::http::header::CONTENT_TYPE;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use family::Families;
use format::TextFormat;
use prometheus_client::encoding::text::encode;
use prometheus_client::registry::Registry;
use std::sync::Arc;
use x811_ledger::clock::Clock;

/// The routes of the metrics' own address.
pub(crate) fn router<C: Clock>(app: &Arc<App<C>>) -> Router {
    Router::new()
        .route("/metrics", get(handle::<C>))
        .with_state(app.clone())
}

async fn handle<C: Clock>(State(app): State<Arc<App<C>>>, headers: HeaderMap) -> Response {
    let mut families = Families::default();
    ledger::note(&mut families, &app);
    let (now, health) = (app.ledger.now(), app.watching.borrow().clone());
    watch::note(&mut families, &health, now);
    process::note(&mut families);
    let mut registry = Registry::default();
    app.http.register(&mut registry);
    registry.register_collector(Box::new(families));
    let mut text = String::new();
    match encode(&mut text, &registry) {
        Ok(()) => {
            let format = TextFormat::accepted(&headers);
            let content_type = [(CONTENT_TYPE, format.content_type())];
            (content_type, format.of_open_metrics(text)).into_response()
        }
        Err(error) => {
            tracing::error!(%error, "the metrics cannot be written");
            StatusCode::INTERNAL_SERVER_ERROR.into_response()
        }
    }
}
