//! How connections reach the routes.
//!
//! The router boxes what it finds, and what each layer makes of it. Beside a read from the database
//! that is nothing; of a message, the one thing that arrives by thousands, it was two to three hundredths
//! of what it costs. So messages are known by their path here, and everything else is the router's.

use super::post_message;
use crate::app::App;
use crate::connections::{Answers, Arriving};
use crate::request_log::logged;
use axum::Router;
use axum::body::Body;
use axum::http::{Method, Request};
use axum::response::Response;
use std::net::SocketAddr;
use std::sync::Arc;
use x811_ledger::clock::Clock;

/// All routes, with a shorter way for messages.
pub(crate) struct Front<C> {
    app: Arc<App<C>>,
    routes: Arc<Router>,
}

impl<C: Clock> Front<C> {
    pub(crate) fn new(app: Arc<App<C>>) -> Front<C> {
        let routes = Arc::new(super::router(&app));
        Front { app, routes }
    }
}

impl<C: Clock> Answers for Front<C> {
    async fn answer(self: Arc<Self>, peer: SocketAddr, request: Request<Arriving>) -> Response {
        if request.method() != Method::POST || request.uri().path() != post_message::PATH {
            // Other answers' futures are larger: not part of every connection.
            return Box::pin(self.routes.clone().answer(peer, request)).await;
        }
        let app = &self.app;
        let take = |request| post_message::answer(app, request);
        let route = post_message::PATH.into();
        logged(app, peer, route, request.map(Body::new), take).await
    }
}
