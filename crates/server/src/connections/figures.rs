//! What operators are told of connections.

use super::places::{Full, Places};
use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::time::Instant;

/// The log says at most once in so long that there are too many.
const SAID_EVERY: Duration = Duration::from_secs(10);

/// Counts of one listener.
#[derive(Debug)]
pub(crate) struct ConnectionFigures {
    places: Arc<Places>,
    most: usize,
    turned_away: AtomicU64,
    waited: AtomicU64,
    gave_way: AtomicU64,
    said: Mutex<Option<Instant>>,
}

impl ConnectionFigures {
    pub(super) fn new(places: Arc<Places>, most: usize) -> ConnectionFigures {
        ConnectionFigures {
            places,
            most,
            turned_away: AtomicU64::new(0),
            waited: AtomicU64::new(0),
            gave_way: AtomicU64::new(0),
            said: Mutex::new(None),
        }
    }

    /// Connections that are served.
    pub(crate) fn open(&self) -> usize {
        self.places.taken()
    }

    /// Most of them.
    pub(crate) fn most(&self) -> usize {
        self.most
    }

    /// Those that were closed at once: their address had its share, all at work, or others that wait.
    pub(crate) fn turned_away(&self) -> u64 {
        self.turned_away.load(Ordering::Relaxed)
    }

    /// Those that had to wait for a place.
    pub(crate) fn waited(&self) -> u64 {
        self.waited.load(Ordering::Relaxed)
    }

    /// Those that waited for their peer, and were closed for others.
    pub(crate) fn gave_way(&self) -> u64 {
        self.gave_way.load(Ordering::Relaxed)
    }

    /// Notes that one was closed for a newcomer.
    pub(super) fn note_gave_way(&self, newcomer: SocketAddr) {
        self.gave_way.fetch_add(1, Ordering::Relaxed);
        self.say(
            newcomer,
            "connections are at their limit: an idle one gives way",
        );
    }

    /// Notes a newcomer that finds no place yet.
    pub(super) fn note_waited(&self, newcomer: SocketAddr) {
        self.waited.fetch_add(1, Ordering::Relaxed);
        self.say(
            newcomer,
            "all connections are taken and at work: a newcomer waits. Raise --max-connections if \
             these are your clients'",
        );
    }

    /// Notes a newcomer that was closed at once.
    pub(super) fn note_turned_away(&self, full: Full, newcomer: SocketAddr) {
        self.turned_away.fetch_add(1, Ordering::Relaxed);
        let sentence = match full {
            Full::Address => "an address has as many connections as one may: no more are taken",
            Full::All => "all connections are taken, and an address has others that wait already",
        };
        self.say(newcomer, sentence);
    }

    /// Says it in the log, if nothing was said for a while.
    fn say(&self, newcomer: SocketAddr, sentence: &str) {
        if self.may_say() {
            tracing::warn!(
                address = %newcomer.ip(),
                open = self.open(),
                most = self.most,
                "{sentence}"
            );
        }
    }

    fn may_say(&self) -> bool {
        let mut said = self.said.lock().unwrap_or_else(PoisonError::into_inner);
        let is_due = said.is_none_or(|said| said.elapsed() >= SAID_EVERY);
        if is_due {
            *said = Some(Instant::now());
        }
        is_due
    }
}
