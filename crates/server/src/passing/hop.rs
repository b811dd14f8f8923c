//! One hop to another process, which ends as soon as nobody can answer at its other end.

use super::{NOT_HERE, Peer, given_back, lost};
use crate::app::App;
use crate::error::ApiError;
use crate::role::Seen;
use axum::response::Response;
use std::pin::pin;
use std::time::Duration;
use x811_ledger::clock::Clock;

/// After how long without an answer a process is asked whether it is there at all: as long as a lease
/// lasts.
const PROBE_MS: u64 = 3_000;

/// How long it may take to say so.
const PROBE_PATIENCE: Duration = Duration::from_millis(1_000);

/// What became of a request that was passed on.
pub(super) enum Hop {
    /// The other process answered.
    Answered(Response),
    /// It does not write, or is not reached: nothing of the request was taken.
    NotHere,
    /// It cannot answer any more; the outcome is unknown.
    Moved,
}

/// Sends a request with that nonce to `peer`, and waits for its answer for as long as there may be one.
pub(super) async fn answered<C: Clock>(
    app: &App<C>,
    http: &reqwest::Client,
    peer: &Peer,
    (request, nonce): (reqwest::RequestBuilder, &str),
) -> Result<Hop, ApiError> {
    tokio::select! {
        biased;
        hop = sent(app, peer, request, nonce) => hop,
        () = moved(app, http, peer) => Ok(Hop::Moved),
    }
}

async fn sent<C: Clock>(
    app: &App<C>,
    peer: &Peer,
    request: reqwest::RequestBuilder,
    nonce: &str,
) -> Result<Hop, ApiError> {
    match request.send().await {
        // Nothing of it has left.
        Err(error) if error.is_connect() => {
            tracing::debug!(%peer, %error, "a process is not reached");
            Ok(Hop::NotHere)
        }
        Err(error) => {
            tracing::warn!(%peer, %error, "what was passed on got no answer");
            Err(lost())
        }
        Ok(answer) if answer.headers().contains_key(&NOT_HERE) => Ok(Hop::NotHere),
        Ok(answer) => given_back(app, answer, nonce).await.map(Hop::Answered),
    }
}

/// Ready once `peer` cannot answer any more: the lease has changed hands, this process has another role, or
/// nothing answers there. A commit that waits for standbys is no reason.
async fn moved<C: Clock>(app: &App<C>, http: &reqwest::Client, peer: &Peer) {
    let Some(standing) = app.role.standing() else {
        return std::future::pending().await;
    };
    let mut seen = standing.seen.clone();
    let first = holder(seen.borrow_and_update().as_ref());
    let mut probing = pin!(app.clock.sleep_ms(PROBE_MS));
    loop {
        tokio::select! {
            changed = seen.changed() => {
                // Whoever looked is gone with the role.
                if changed.is_err() || has_moved(first.as_ref(), seen.borrow_and_update().as_ref()) {
                    return;
                }
            }
            () = &mut probing => {
                let probe = http.get(format!("{peer}/health")).timeout(PROBE_PATIENCE).send();
                if probe.await.is_err() {
                    return;
                }
                probing.set(app.clock.sleep_ms(PROBE_MS));
            }
        }
    }
}

/// Who holds the lease, and under which epoch.
fn holder(seen: Option<&Seen>) -> Option<(u64, Option<String>)> {
    seen.map(|seen| (seen.published.epoch, seen.published.holder.clone()))
}

/// Whether the lease is another one than `first`.
fn has_moved(first: Option<&(u64, Option<String>)>, seen: Option<&Seen>) -> bool {
    let (Some((epoch, holder)), Some(seen)) = (first, seen) else {
        return false;
    };
    seen.published.epoch != *epoch || seen.published.holder != *holder
}

#[cfg(test)]
mod tests {
    use super::*;
    use x811_store::Published;

    fn seen(epoch: u64, holder: &str) -> Seen {
        Seen {
            published: Published {
                size: 1,
                at_ms: 1,
                now_ms: 1,
                epoch,
                holder: Some(holder.to_owned()),
                checkpoint: None,
            },
            monotonic_ms: 0,
        }
    }

    #[test]
    fn stores_5_a_hop_ends_once_another_lease_is_seen() {
        let first = holder(Some(&seen(5, "a")));
        for (next, is_moved) in [
            (seen(5, "a"), false),
            (seen(6, "b"), true),
            (seen(5, "b"), true),
        ] {
            assert_eq!(has_moved(first.as_ref(), Some(&next)), is_moved, "{next:?}");
        }
        assert!(!has_moved(None, Some(&seen(5, "a"))));
    }
}
