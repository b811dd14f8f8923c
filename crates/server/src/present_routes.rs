//! What connections find: the routes of this process in its present role. The listener stays when the
//! role changes.

use crate::app::App;
use crate::connections::{Answers, Arriving};
use crate::error::ApiError;
use crate::metrics;
use crate::routes::Front;
use axum::Router;
use axum::http::Request;
use axum::response::{IntoResponse as _, Response};
use std::net::SocketAddr;
use std::sync::{Arc, PoisonError, RwLock};
use x811_ledger::clock::Clock;

/// The routes, and those of the metrics, as they are now.
pub(crate) struct PresentRoutes<C> {
    front: RwLock<Option<Arc<Front<C>>>>,
    figures: RwLock<Option<Arc<Router>>>,
}

impl<C: Clock> PresentRoutes<C> {
    /// Nothing is there yet.
    pub(crate) fn empty() -> Arc<PresentRoutes<C>> {
        Arc::new(PresentRoutes {
            front: RwLock::new(None),
            figures: RwLock::new(None),
        })
    }

    /// From now on `app` answers.
    pub(crate) fn set(&self, app: &Arc<App<C>>) {
        let figures = Arc::new(metrics::router(app));
        put(&self.front, Some(Arc::new(Front::new(app.clone()))));
        put(&self.figures, Some(figures));
    }

    /// From now on nobody does: the ledger ends once what is being answered is.
    pub(crate) fn clear(&self) {
        put(&self.front, None);
        put(&self.figures, None);
    }
}

fn put<T>(place: &RwLock<Option<T>>, value: Option<T>) {
    *place.write().unwrap_or_else(PoisonError::into_inner) = value;
}

fn of<T: Clone>(place: &RwLock<Option<T>>) -> Option<T> {
    place.read().unwrap_or_else(PoisonError::into_inner).clone()
}

fn nobody() -> Response {
    ApiError::not_yet("this process is changing its role: send the same again").into_response()
}

impl<C: Clock> Answers for PresentRoutes<C> {
    async fn answer(self: Arc<Self>, peer: SocketAddr, request: Request<Arriving>) -> Response {
        let front = of(&self.front);
        drop(self);
        match front {
            Some(front) => front.answer(peer, request).await,
            None => nobody(),
        }
    }
}

/// The same of the metrics.
pub(crate) struct Figures<C>(pub(crate) Arc<PresentRoutes<C>>);

impl<C: Clock> Answers for Figures<C> {
    async fn answer(self: Arc<Self>, peer: SocketAddr, request: Request<Arriving>) -> Response {
        match of(&self.0.figures) {
            Some(figures) => figures.answer(peer, request).await,
            None => nobody(),
        }
    }
}
