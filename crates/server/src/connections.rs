//! How connections are taken: bounded in number and in the time their requests take to arrive, and
//! on the way down none is cut off before what it asked is answered.
//!
//! `axum::serve` bounds neither. A request's body has its own time (`extract::WholeBody`).

use crate::app::stopped;
use crate::config::ConnectionLimits;
use axum::Router;
use axum::extract::{ConnectInfo, Request};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use std::io;
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use tokio::task::JoinSet;
use tower_service::Service as _;

/// How long to wait when no connection can be taken, because too many files are open say.
const ACCEPT_AGAIN: Duration = Duration::from_millis(250);

/// Serves `router` until `stopping`, and then until every request that was taken is answered.
pub(crate) async fn serve(
    listener: TcpListener,
    router: Router,
    limits: ConnectionLimits,
    stopping: watch::Receiver<bool>,
) -> io::Result<()> {
    let permits = Arc::new(Semaphore::new(
        limits.max_connections.min(Semaphore::MAX_PERMITS),
    ));
    let mut open = JoinSet::new();
    let mut stop = pin!(stopped(stopping.clone()));
    loop {
        let taken = tokio::select! {
            biased;
            () = &mut stop => break,
            // Nothing to do with an ended connection but to forget it.
            Some(_) = open.join_next() => continue,
            taken = take(&listener, &permits) => taken,
        };
        if let Some((connection, peer, permit)) = taken {
            let service = router.clone();
            let stopping = stopping.clone();
            open.spawn(async move {
                answer(connection, peer, service, limits, stopping).await;
                drop(permit);
            });
        }
    }
    drop(listener);
    while open.join_next().await.is_some() {}
    Ok(())
}

/// The next connection, once there is room for one.
async fn take(
    listener: &TcpListener,
    permits: &Arc<Semaphore>,
) -> Option<(TcpStream, SocketAddr, OwnedSemaphorePermit)> {
    // The semaphore is never closed.
    let permit = permits.clone().acquire_owned().await.ok()?;
    match listener.accept().await {
        Ok((connection, peer)) => Some((connection, peer, permit)),
        Err(error) => {
            tracing::warn!(%error, "a connection could not be taken");
            tokio::time::sleep(ACCEPT_AGAIN).await;
            None
        }
    }
}

async fn answer(
    connection: TcpStream,
    peer: SocketAddr,
    router: Router,
    limits: ConnectionLimits,
    stopping: watch::Receiver<bool>,
) {
    // Answers are small and waited for.
    if let Err(error) = connection.set_nodelay(true) {
        tracing::debug!(%error, "a connection keeps its send delay");
    }
    let service = service_fn(|mut request: Request<Incoming>| {
        request.extensions_mut().insert(ConnectInfo(peer));
        router.clone().call(request)
    });
    let mut connection = pin!(
        http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(Duration::from_millis(limits.header_read_ms))
            .serve_connection(TokioIo::new(connection), service)
    );
    let ended = tokio::select! {
        ended = connection.as_mut() => ended,
        () = stopped(stopping) => {
            connection.as_mut().graceful_shutdown();
            connection.await
        }
    };
    if let Err(error) = ended {
        tracing::debug!(%error, "a connection ended early");
    }
}
