//! Requests by method, route and status.

use crate::error::Damage;
use axum::http::Method;
use axum::response::Response;
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;
use std::borrow::Cow;

/// Upper bounds of a request's duration, in seconds. The longest are inboxes that wait for mail.
const DURATION_BOUNDS_S: [f64; 12] = [
    0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1.0, 5.0, 15.0, 60.0,
];

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Request {
    method: &'static str,
    route: Cow<'static, str>,
    status: u16,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Route {
    route: Cow<'static, str>,
}

/// Counts requests as they are answered.
#[derive(Debug)]
pub(crate) struct HttpFigures {
    requests: Family<Request, Counter>,
    durations_s: Family<Route, Histogram, fn() -> Histogram>,
    damaged: Counter,
}

impl Default for HttpFigures {
    fn default() -> HttpFigures {
        HttpFigures {
            requests: Family::default(),
            durations_s: Family::new_with_constructor(|| Histogram::new(DURATION_BOUNDS_S)),
            damaged: Counter::default(),
        }
    }
}

impl HttpFigures {
    /// Notes an answer; `route` is the template, never the path that was asked for.
    pub(crate) fn answered(&self, method: &Method, route: Cow<'static, str>, status: u16, ms: u64) {
        let request = Request {
            method: known(method),
            route: route.clone(),
            status,
        };
        self.requests.get_or_create(&request).inc();
        let route = Route { route };
        let seconds = super::family::float(ms) / 1_000.0;
        self.durations_s.get_or_create(&route).observe(seconds);
    }

    /// Notes an answer that was refused because what is stored is damaged.
    pub(crate) fn note_damage(&self, response: &Response) {
        if response.extensions().get::<Damage>().is_some() {
            self.met_damage();
        }
    }

    /// Notes damage that cut an answer off.
    pub(crate) fn met_damage(&self) {
        self.damaged.inc();
    }

    pub(super) fn register(&self, registry: &mut Registry) {
        registry.register(
            "x811_http_requests",
            "Requests answered, by route and status",
            self.requests.clone(),
        );
        registry.register(
            "x811_http_request_duration_seconds",
            "How long requests took",
            self.durations_s.clone(),
        );
        registry.register(
            "x811_damaged_reads",
            "Answers that were not given because a stored record, body or row is not what was written",
            self.damaged.clone(),
        );
    }
}

/// A client may invent methods; labels may not grow with them.
fn known(method: &Method) -> &'static str {
    match *method {
        Method::GET => "GET",
        Method::HEAD => "HEAD",
        Method::POST => "POST",
        Method::PUT => "PUT",
        Method::DELETE => "DELETE",
        Method::OPTIONS => "OPTIONS",
        Method::PATCH => "PATCH",
        _ => "other",
    }
}
