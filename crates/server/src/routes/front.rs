//! How connections reach the routes.
//!
//! The router boxes what it finds, and what each layer makes of it. Beside a read from the database
//! that is nothing; of a message, the one thing that arrives by thousands, it was two to three hundredths
//! of what it costs. So messages are known by their path here, and everything else is the router's.

use super::post_message;
use crate::app::App;
use crate::connections::{Answers, Arriving};
use crate::request_log::logged;
use crate::{passing, role};
use axum::Router;
use axum::body::Body;
use axum::extract::ConnectInfo;
use axum::http::{Method, Request};
use axum::response::Response;
use std::net::SocketAddr;
use std::sync::Arc;
use tower_service::Service as _;
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
        if passing::says_so(request.headers()) {
            let routed = async |client, request: Request<Body>| {
                let (method, uri) = (request.method().clone(), request.uri().clone());
                match passing::between::answered(&self.app, &method, uri.path()).await {
                    Some(answer) => answer,
                    None => self.routed(client, request).await,
                }
            };
            let taken = passing::take(&self.app, request.map(Body::new), routed);
            return Box::pin(taken).await;
        }
        let is_standby = self.app.role.standing().is_some();
        if is_standby || !is_message(&request) {
            // Other answers' futures are larger: not part of every connection.
            return Box::pin(self.routed(peer, request.map(Body::new))).await;
        }
        self.message(peer, request.map(Body::new)).await
    }
}

impl<C: Clock> Front<C> {
    /// A message's own way.
    async fn message(&self, peer: SocketAddr, request: Request<Body>) -> Response {
        let app = &self.app;
        let take = |request| post_message::answer(app, request);
        let route = post_message::PATH.into();
        logged(app, peer, route, request, take).await
    }

    /// Everything, as this process's role wants it.
    async fn routed(&self, peer: SocketAddr, mut request: Request<Body>) -> Response {
        let app = &self.app;
        let is_read = request.method().is_safe();
        if app.role.standing().is_some()
            && passing::is_for_the_holder(request.method(), request.uri().path())
        {
            let pass_on = |request| passing::pass_on(app, peer, request);
            return logged(app, peer, "(passed on)".into(), request, pass_on).await;
        }
        if is_message(&request) {
            return self.message(peer, request).await;
        }
        let target = request.uri().clone();
        request.extensions_mut().insert(ConnectInfo(peer));
        let routes = Router::clone(&self.routes);
        let answer = async move {
            let mut routes = routes;
            let Ok(response) = routes.call(request).await;
            response
        };
        match is_read {
            true => role::read(app, &target, answer).await,
            false => answer.await,
        }
    }
}

fn is_message<B>(request: &Request<B>) -> bool {
    request.method() == Method::POST && request.uri().path() == post_message::PATH
}
