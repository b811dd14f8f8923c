//! How connections are taken: bounded in number, also for each address, in the time their requests
//! take to arrive and in the time their readers take, and on the way down none is cut off before what it asked is answered.
//!
//! `axum::serve` bounds neither. A request's body has its own time (`extract::WholeBody`). When there are
//! too many, those give way whose peers let the ledger wait: see `places`.

mod figures;
mod places;
mod watched;

pub(crate) use figures::ConnectionFigures;
pub(crate) use watched::Arriving;

use crate::app::stopped;
use crate::config::ConnectionLimits;
use crate::limits::Counted;
use axum::Router;
use axum::extract::ConnectInfo;
use axum::http::Request;
use axum::response::Response;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use places::{Full, Places, TakenPlace};
use std::collections::VecDeque;
use std::io;
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio_io_timeout::TimeoutStream;
use tower_service::Service as _;
use watched::WatchedStream;

/// How long to wait when no connection can be taken, because too many files are open say.
const ACCEPT_AGAIN: Duration = Duration::from_millis(250);

/// One address may have one connection in so many.
const SHARE: usize = 4;

/// How long to wait for a place before it is asked for again: meanwhile others come to wait for their
/// peers, and give way.
const PLACE_AGAIN: Duration = Duration::from_millis(10);

/// Most connections that wait for a place; further ones wait in the system's queue. So many of one
/// address, which this machine is none of: a proxy may be on it.
const NEWCOMERS: usize = 256;
const NEWCOMERS_OF_AN_ADDRESS: usize = 4;

/// How many of them are looked at before others are.
const LOOKED_AT: usize = 16;

/// What a connection holds at most of an answer that its reader does not take, besides the piece
/// that comes next; also the longest head of a request.
const BUFFER_BYTES: usize = 65_536;

/// What connections ask.
pub(crate) trait Answers: Send + Sync + 'static {
    /// The answer to `request` from `peer`.
    fn answer(
        self: Arc<Self>,
        peer: SocketAddr,
        request: Request<Arriving>,
    ) -> impl Future<Output = Response> + Send;
}

/// Routes ask for the peer as [`ConnectInfo`].
impl Answers for Router {
    async fn answer(self: Arc<Self>, peer: SocketAddr, mut request: Request<Arriving>) -> Response {
        request.extensions_mut().insert(ConnectInfo(peer));
        let Ok(response) = Router::clone(&self).call(request).await;
        response
    }
}

/// Connections of one listener.
pub(crate) struct Connections {
    limits: ConnectionLimits,
    places: Arc<Places>,
    figures: Arc<ConnectionFigures>,
}

impl Connections {
    pub(crate) fn new(limits: ConnectionLimits) -> Connections {
        let most = limits.max_connections;
        let places = Places::new(most, most.div_ceil(SHARE));
        Connections {
            limits,
            figures: Arc::new(ConnectionFigures::new(places.clone(), most)),
            places,
        }
    }

    /// What operators are told.
    pub(crate) fn figures(&self) -> Arc<ConnectionFigures> {
        self.figures.clone()
    }

    /// Serves `answers` until `stopping`, and then until every request that was taken is answered.
    pub(crate) async fn serve(
        self,
        listener: TcpListener,
        answers: Arc<impl Answers>,
        stopping: watch::Receiver<bool>,
    ) -> io::Result<()> {
        let mut open = JoinSet::new();
        let mut newcomers = VecDeque::new();
        let mut stop = pin!(stopped(stopping.clone()));
        loop {
            tokio::select! {
                biased;
                () = &mut stop => break,
                // Nothing to do with an ended connection but to forget it.
                Some(_) = open.join_next() => {}
                taken = accepted(&listener), if newcomers.len() < NEWCOMERS => {
                    newcomers.extend(taken.map(Newcomer::new));
                }
                () = tokio::time::sleep(PLACE_AGAIN), if !newcomers.is_empty() => {}
            }
            for _ in 0..newcomers.len().min(LOOKED_AT) {
                if let Some((newcomer, place)) = self.admit(&mut newcomers) {
                    let asked = Asked {
                        peer: newcomer.peer,
                        answers: answers.clone(),
                        limits: self.limits,
                    };
                    let stopping = stopping.clone();
                    open.spawn(serve_connection(
                        newcomer.connection,
                        place,
                        asked,
                        stopping,
                    ));
                }
            }
        }
        drop((listener, newcomers));
        while open.join_next().await.is_some() {}
        Ok(())
    }

    /// The first of those who wait for a place, if there is one for it. If not it waits on, behind the
    /// others; or it goes, where only its own address could make room, or has others here.
    fn admit(&self, newcomers: &mut VecDeque<Newcomer>) -> Option<(Newcomer, TakenPlace)> {
        let mut newcomer = newcomers.pop_front()?;
        let full = match self.places.take(newcomer.peer.ip()) {
            Ok((place, has_given_way)) => {
                if has_given_way {
                    self.figures.note_gave_way(newcomer.peer);
                }
                return Some((newcomer, place));
            }
            Err(full) => full,
        };
        let of_its_address = newcomers
            .iter()
            .filter(|other| other.counted == newcomer.counted);
        let is_one_too_many = !newcomer.counted.network.is_loopback()
            && of_its_address.count() >= NEWCOMERS_OF_AN_ADDRESS;
        if full == Full::Address || is_one_too_many {
            self.figures.note_turned_away(full, newcomer.peer);
            return None;
        }
        if !std::mem::replace(&mut newcomer.waits, true) {
            self.figures.note_waited(newcomer.peer);
        }
        newcomers.push_back(newcomer);
        None
    }
}

/// A connection that has no place yet.
struct Newcomer {
    connection: TcpStream,
    peer: SocketAddr,
    counted: Counted,
    /// Whether it was noted that it has to wait.
    waits: bool,
}

impl Newcomer {
    fn new((connection, peer): (TcpStream, SocketAddr)) -> Newcomer {
        Newcomer {
            connection,
            counted: Counted::of(peer.ip()),
            peer,
            waits: false,
        }
    }
}

/// The next connection; none where it could not be taken.
async fn accepted(listener: &TcpListener) -> Option<(TcpStream, SocketAddr)> {
    match listener.accept().await {
        Ok(accepted) => Some(accepted),
        Err(error) => {
            tracing::warn!(%error, "a connection could not be taken");
            tokio::time::sleep(ACCEPT_AGAIN).await;
            None
        }
    }
}

/// What a connection is served with.
struct Asked<A> {
    peer: SocketAddr,
    answers: Arc<A>,
    limits: ConnectionLimits,
}

/// It had been told to leave when it asked.
#[derive(Debug, thiserror::Error)]
#[error("the connection gives way to another one")]
struct GaveWay;

async fn serve_connection(
    connection: TcpStream,
    place: TakenPlace,
    asked: Asked<impl Answers>,
    stopping: watch::Receiver<bool>,
) {
    let limits = asked.limits;
    // Answers are small and waited for.
    if let Err(error) = connection.set_nodelay(true) {
        tracing::debug!(%error, "a connection keeps its send delay");
    }
    // A reader that takes nothing would keep its answers in memory for ever.
    let mut connection = TimeoutStream::new(connection);
    connection.set_write_timeout(Some(Duration::from_millis(limits.write_stall_ms)));
    let connection = WatchedStream::new(Box::pin(connection), place.clone());
    let place = &place;
    let service = service_fn(|request: Request<Incoming>| {
        let works = place.works();
        let request = request.map(|body| Arriving::new(body, Arc::clone(place)));
        let answer = asked.answers.clone().answer(asked.peer, request);
        async move {
            // Its place is another one's: what it asks is not begun, and it is closed.
            if !works {
                return Err(GaveWay);
            }
            let answer = answer.await;
            place.waits();
            Ok(answer)
        }
    });
    let mut connection = pin!(
        http1::Builder::new()
            .timer(TokioTimer::new())
            // Answers are short: copied behind their head they are sent sooner than in two parts.
            .writev(false)
            .max_buf_size(BUFFER_BYTES)
            .header_read_timeout(Duration::from_millis(limits.header_read_ms))
            .serve_connection(TokioIo::new(connection), service)
    );
    let ended = tokio::select! {
        ended = connection.as_mut() => ended,
        () = place.gives_way() => return,
        () = stopped(stopping) => {
            connection.as_mut().graceful_shutdown();
            connection.await
        }
    };
    if let Err(error) = ended {
        tracing::debug!(%error, "a connection ended early");
    }
}
