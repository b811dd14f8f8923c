//! What this process is to its ledger: the only one, the one that writes, or one that stands by; and
//! how sure it is of what it shows (stores.md section 3).
//!
//! Whoever stands by shows what was published last, and so may whoever writes until its lease is over.
//! Both look at that once more when an answer is composed: a process that was stopped meanwhile, for
//! as long as somebody likes, finds out there that others may have gone on without it.

use crate::app::App;
use crate::error::ApiError;
use axum::body::Body;
use axum::http::header::CONTENT_TYPE;
use axum::http::{HeaderName, HeaderValue, Uri};
use axum::response::{IntoResponse as _, Response};
use futures_util::StreamExt as _;
use std::io;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch;
use x811_ledger::clock::Clock;
use x811_store::{Backend, Lease, Published};

/// Where answers say what they reflect: `position=<of the last record>, at_ms=<known to be the last>`.
pub(crate) const AS_OF: HeaderName = HeaderName::from_static("x811-as-of");

/// What was published last counts for so long.
pub(crate) const FRESH_MS: u64 = 3_000;

/// How long a record that is asked for is waited for.
pub(crate) const POSITION_PATIENCE_MS: u64 = 2_000;

/// How long a read may wait for something to come, so that its answer is still sure.
const LONGEST_WAIT: Duration = Duration::from_millis(2_000);

/// How long the database may take to say once more what is published.
const LOOK_PATIENCE: Duration = Duration::from_millis(1_000);

/// What this process is.
pub(crate) enum Role {
    /// The log lies in its data directory, which one process owns.
    Alone,
    /// It writes, as long as it has the lease.
    Writer(Lease),
    /// It follows the log that another one writes.
    Standby(StandbyLog),
}

/// What a process that stands by knows of the log.
pub(crate) struct StandbyLog {
    pub(crate) store: Arc<Backend>,
    pub(crate) seen: watch::Receiver<Option<Seen>>,
}

/// What a look at the published head found.
#[derive(Debug, Clone)]
pub(crate) struct Seen {
    pub(crate) published: Published,
    /// When it was asked for, on the monotonic clock.
    pub(crate) monotonic_ms: u64,
}

impl Seen {
    /// How old the published head is at `monotonic_ms`.
    pub(crate) fn age_ms(&self, monotonic_ms: u64) -> u64 {
        let since_ms = monotonic_ms.saturating_sub(self.monotonic_ms);
        self.published.age_ms().saturating_add(since_ms)
    }
}

/// What an answer that is being composed will reflect at least.
pub(crate) struct AsOf {
    size: u64,
    at_ms: u64,
}

impl Role {
    /// How it is called.
    pub(crate) fn word(&self) -> &'static str {
        match self {
            Role::Alone => "alone",
            Role::Writer(_) => "writer",
            Role::Standby(_) => "standby",
        }
    }

    /// What is known of the published head, where this stands by.
    pub(crate) fn standing(&self) -> Option<&StandbyLog> {
        match self {
            Role::Standby(standing) => Some(standing),
            Role::Alone | Role::Writer(_) => None,
        }
    }

    /// The time that a read may wait for something to come, of that which it asked for.
    pub(crate) fn wait(&self, asked: Duration) -> Duration {
        match self {
            Role::Standby(_) => asked.min(LONGEST_WAIT),
            Role::Alone | Role::Writer(_) => asked,
        }
    }
}

impl StandbyLog {
    /// How old the last published head is that is known of.
    pub(crate) fn age_ms(&self, monotonic_ms: u64) -> Option<u64> {
        let seen = self.seen.borrow();
        seen.as_ref().map(|seen| seen.age_ms(monotonic_ms))
    }

    pub(crate) fn is_fresh(&self, monotonic_ms: u64) -> bool {
        self.age_ms(monotonic_ms)
            .is_some_and(|age_ms| age_ms <= FRESH_MS)
    }

    /// Whether what was published at `at_ms` is still no older than it may be, by the database's own
    /// clock: this machine may have been asleep.
    async fn is_still_fresh<C: Clock>(&self, at_ms: u64, clock: &C) -> bool {
        let asked = (clock.monotonic_ms(), clock.wall());
        let looked = tokio::time::timeout(LOOK_PATIENCE, self.store.look()).await;
        let Ok(Ok(Some(published))) = looked else {
            return false;
        };
        // It may have been asleep while the answer of the database was under way, too. Where the whole
        // machine slept, the wall clock alone went on.
        let waited_ms = clock.monotonic_ms().saturating_sub(asked.0);
        let slept_ms = clock.wall().as_ms().saturating_sub(asked.1.as_ms());
        is_counting(&published, at_ms, waited_ms.max(slept_ms))
    }
}

/// Whether what was published at `at_ms` counts, when the look that found `published` began `waited_ms` ago.
fn is_counting(published: &Published, at_ms: u64, waited_ms: u64) -> bool {
    let age_ms = published.now_ms.saturating_sub(at_ms);
    age_ms.saturating_add(waited_ms) <= FRESH_MS
}

/// What an answer may go out without: records, tiles and proofs are what they are, whatever came since.
fn is_of_itself(path: &str) -> bool {
    const BELOW: [&str; 6] = [
        "/log/",
        "/.well-known/",
        "/health",
        "/ready",
        "/docs",
        "/openapi",
    ];
    const ENDS: [&str; 5] = ["/proof", "/history", "/bundle", "/jws", "/keys"];
    BELOW.iter().any(|prefix| path.starts_with(prefix))
        || ENDS.iter().any(|end| path.ends_with(end))
}

/// The record that the answer must reflect; whether that can be asked of it, its route says.
fn min_position(target: &Uri) -> Option<u64> {
    let mut asked = target.query()?.split('&');
    asked.find_map(|asked| asked.strip_prefix("min_position=")?.parse().ok())
}

fn unsure() -> ApiError {
    ApiError::not_yet(
        "this process of the ledger could not make sure in the last 3 s that what it shows is the \
         newest: ask again, or ask another one",
    )
}

/// Has `answer` composed to a read of `path`, and lets it go out if it is still sure then.
pub(crate) async fn read<C: Clock>(
    app: &Arc<App<C>>,
    target: &Uri,
    answer: impl Future<Output = Response>,
) -> Response {
    let path = target.path();
    let as_of = match &app.role {
        Role::Alone => return answer.await,
        Role::Writer(_) => AsOf {
            size: app.ledger.world().head().size,
            at_ms: app.ledger.now().as_ms(),
        },
        Role::Standby(standing) => {
            // Before it is looked as of when the answer is.
            if let Some(position) = min_position(target)
                && let Err(error) = app.await_position(position).await
            {
                return error.into_response();
            }
            let is_fresh = standing.is_fresh(app.clock.monotonic_ms());
            if !is_fresh && !is_of_itself(path) {
                return unsure().into_response();
            }
            let seen = standing.seen.borrow().clone();
            AsOf {
                size: app.ledger.world().head().size,
                at_ms: seen.map_or(0, |seen| seen.published.at_ms),
            }
        }
    };
    let response = answer.await;
    if !is_of_itself(path) && response.status().is_success() {
        let is_sure = match &app.role {
            Role::Alone => true,
            Role::Writer(lease) => lease.is_sure(),
            Role::Standby(standing) => standing.is_still_fresh(as_of.at_ms, &*app.clock).await,
        };
        if !is_sure {
            return unsure().into_response();
        }
    }
    told(app, response, &as_of)
}

/// Says what `response` reflects; one that goes on is ended once that is not sure any more.
fn told<C: Clock>(app: &Arc<App<C>>, response: Response, as_of: &AsOf) -> Response {
    let mut response = response;
    if let Some(position) = as_of.size.checked_sub(1) {
        let value = format!("position={position}, at_ms={}", as_of.at_ms);
        if let Ok(value) = HeaderValue::try_from(value) {
            response.headers_mut().insert(AS_OF, value);
        }
    }
    let kind = response.headers().get(CONTENT_TYPE);
    let goes_on = kind.is_some_and(|kind| kind.as_bytes().starts_with(b"text/event-stream"));
    if !goes_on || app.role.standing().is_none() {
        return response;
    }
    let app = app.clone();
    response.map(|body| {
        let pieces = body.into_data_stream().map(move |piece| {
            let is_fresh = app
                .role
                .standing()
                .is_none_or(|standing| standing.is_fresh(app.clock.monotonic_ms()));
            match is_fresh {
                true => piece.map_err(io::Error::other),
                false => Err(io::Error::other(
                    "what is shown is not sure to be the newest",
                )),
            }
        });
        Body::from_stream(pieces)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stores_3_what_counts_as_the_newest_is_no_older_than_three_seconds() {
        let seen = Seen {
            published: Published {
                size: 1,
                at_ms: 10_000,
                now_ms: 11_000,
                epoch: 1,
                holder: None,
                checkpoint: None,
            },
            monotonic_ms: 50,
        };
        assert_eq!(seen.age_ms(50), 1_000);
        assert_eq!(seen.age_ms(2_050), 3_000);
        let (_told, known) = watch::channel(Some(seen.clone()));
        let known = known.borrow().clone().unwrap();
        assert!(known.age_ms(2_051) > FRESH_MS);
    }

    #[test]
    fn stores_3_the_wait_for_the_database_counts_too() {
        let published = Published {
            size: 1,
            at_ms: 10_000,
            now_ms: 11_000,
            epoch: 1,
            holder: None,
            checkpoint: None,
        };
        assert!(is_counting(&published, 10_000, 2_000));
        // Stopped behind the question: the answer is of before.
        assert!(!is_counting(&published, 10_000, 2_001));
        assert!(!is_counting(&published, 7_999, 0));
    }

    #[test]
    fn stores_3_records_tiles_and_proofs_go_on() {
        let id = "/api/v1/interactions/0191e3a0-0000-7000-8000-000000000000";
        for path in [
            "/log/checkpoint",
            "/log/tile/entries/000",
            "/api/v1/records/7/proof",
            &format!("{id}/history"),
            &format!("{id}/bundle"),
        ] {
            assert!(is_of_itself(path), "{path}");
        }
        for path in [
            id,
            &format!("{id}/settlement"),
            &format!("{id}/receipt"),
            "/api/v1/negotiations",
            "/api/v1/agents",
            "/api/v1/messages/0191e3a0-0000-7000-8000-000000000000/stream",
        ] {
            assert!(!is_of_itself(path), "{path}");
        }
    }
}
