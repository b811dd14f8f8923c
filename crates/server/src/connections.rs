//! How connections are taken: bounded in number, also for each address, in the time their requests
//! take to arrive and in the time their readers take, and on the way down none is cut off before what it asked is answered.
//!
//! `axum::serve` bounds neither. A request's body has its own time (`extract::WholeBody`).

use crate::app::stopped;
use crate::config::ConnectionLimits;
use crate::limits::counted;
use axum::Router;
use axum::extract::ConnectInfo;
use axum::http::Request;
use axum::response::Response;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use std::collections::HashMap;
use std::convert::Infallible;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::pin::pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use tokio::task::JoinSet;
use tokio_io_timeout::TimeoutStream;
use tower_service::Service as _;

/// How long to wait when no connection can be taken, because too many files are open say.
const ACCEPT_AGAIN: Duration = Duration::from_millis(250);

/// One address may have one connection in so many.
const SHARE: usize = 4;

/// What connections ask.
pub(crate) trait Answers: Send + Sync + 'static {
    /// The answer to `request` from `peer`.
    fn answer(
        self: Arc<Self>,
        peer: SocketAddr,
        request: Request<Incoming>,
    ) -> impl Future<Output = Response> + Send;
}

/// Routes ask for the peer as [`ConnectInfo`].
impl Answers for Router {
    async fn answer(self: Arc<Self>, peer: SocketAddr, mut request: Request<Incoming>) -> Response {
        request.extensions_mut().insert(ConnectInfo(peer));
        let Ok(response) = Router::clone(&self).call(request).await;
        response
    }
}

/// Serves `answers` until `stopping`, and then until every request that was taken is answered.
pub(crate) async fn serve(
    listener: TcpListener,
    answers: Arc<impl Answers>,
    limits: ConnectionLimits,
    stopping: watch::Receiver<bool>,
) -> io::Result<()> {
    let permits = Arc::new(Semaphore::new(
        limits.max_connections.min(Semaphore::MAX_PERMITS),
    ));
    let shares = Arc::new(Shares::new(limits.max_connections.div_ceil(SHARE)));
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
            let Some(share) = shares.take(peer.ip()) else {
                tracing::debug!(%peer, "an address has too many connections");
                continue;
            };
            let answers = answers.clone();
            let stopping = stopping.clone();
            open.spawn(async move {
                serve_connection(connection, peer, answers, limits, stopping).await;
                drop((permit, share));
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

async fn serve_connection(
    connection: TcpStream,
    peer: SocketAddr,
    answers: Arc<impl Answers>,
    limits: ConnectionLimits,
    stopping: watch::Receiver<bool>,
) {
    // Answers are small and waited for.
    if let Err(error) = connection.set_nodelay(true) {
        tracing::debug!(%error, "a connection keeps its send delay");
    }
    // A reader that takes nothing would keep its answers in memory for ever.
    let mut connection = TimeoutStream::new(connection);
    connection.set_write_timeout(Some(Duration::from_millis(limits.write_stall_ms)));
    let service = service_fn(|request: Request<Incoming>| {
        let answer = answers.clone().answer(peer, request);
        async move { Ok::<_, Infallible>(answer.await) }
    });
    let mut connection = pin!(
        http1::Builder::new()
            .timer(TokioTimer::new())
            // Answers are short: copied behind their head they are sent sooner than in two parts.
            .writev(false)
            .header_read_timeout(Duration::from_millis(limits.header_read_ms))
            .serve_connection(TokioIo::new(Box::pin(connection)), service)
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

/// How many connections each address has. This machine is not counted: a proxy may be on it.
struct Shares {
    open: Mutex<HashMap<IpAddr, usize>>,
    most: usize,
}

/// One connection of an address; given back when dropped.
struct Share {
    shares: Arc<Shares>,
    address: IpAddr,
}

impl Shares {
    fn new(most: usize) -> Shares {
        Shares {
            open: Mutex::new(HashMap::new()),
            most,
        }
    }

    /// A connection for `peer`; `None` when it has its share.
    fn take(self: &Arc<Self>, peer: IpAddr) -> Option<Option<Share>> {
        let peer = peer.to_canonical();
        if peer.is_loopback() {
            return Some(None);
        }
        let address = counted(peer);
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        let connections = open.entry(address).or_default();
        if *connections >= self.most {
            return None;
        }
        *connections += 1;
        Some(Some(Share {
            shares: self.clone(),
            address,
        }))
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        let open = &self.shares.open;
        let mut open = open.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(connections) = open.get_mut(&self.address) {
            *connections -= 1;
            if *connections == 0 {
                open.remove(&self.address);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_has_its_share_and_its_neighbour_too() {
        let shares = Arc::new(Shares::new(2));
        let take = |address: &str| shares.take(address.parse().unwrap());
        let first = take("192.0.2.1");
        let second = take("192.0.2.1");
        assert!(first.is_some() && second.is_some());
        assert!(take("192.0.2.1").is_none(), "it has its share");
        assert!(take("192.0.2.2").is_some(), "its neighbour is not hurt");
        drop(first);
        assert!(take("192.0.2.1").is_some());
        for _ in 0..5 {
            assert!(take("127.0.0.1").is_some(), "this machine is not counted");
        }
        drop(second);
        assert!(
            shares.open.lock().unwrap().is_empty(),
            "nothing is left behind"
        );
    }

    #[test]
    fn ipv6_has_one_share_for_64_bits_of_network() {
        let shares = Arc::new(Shares::new(1));
        let first = shares.take("2001:db8::1".parse().unwrap());
        assert!(first.is_some());
        assert!(shares.take("2001:db8::2".parse().unwrap()).is_none());
        assert!(shares.take("2001:db8:0:1::1".parse().unwrap()).is_some());
    }
}
