//! Who writes, who follows, and how far (stores.md section 2): for the operator, looked up now and
//! then. Nothing is decided by it.

use crate::app::stopped;
use std::sync::Arc;
use tokio::sync::watch;
use x811_ledger::clock::{Clock, FAR_OFF_MS};
use x811_protocol::answer::{FollowerSight, StandbySight, StoreSight};
use x811_protocol::time::TimestampMs;
use x811_store::{Backend, DatabaseStandby, Follower, Published};

/// Time between two looks.
const LOOK_MS: u64 = 1_000;

/// What was found last; nothing where the log lies in a data directory.
#[derive(Debug, Clone, Default)]
pub(crate) struct Others {
    found: Option<FoundProcesses>,
}

#[derive(Debug, Clone)]
struct FoundProcesses {
    published: Published,
    /// The database's clock against this machine's, in milliseconds; what the question took is in it.
    clock_ahead_ms: i64,
    followers: Vec<Follower>,
    standbys: Vec<DatabaseStandby>,
}

/// Begins to look, until `stopping`. `name` is what this process calls itself.
pub(crate) fn look_around<C: Clock>(
    store: &Arc<Backend>,
    clock: &Arc<C>,
    name: String,
    stopping: &watch::Receiver<bool>,
) -> watch::Receiver<Others> {
    let (told, seen) = watch::channel(Others::default());
    let (store, clock, stop) = (store.clone(), clock.clone(), stopped(stopping.clone()));
    let looking = async move {
        loop {
            match look(&store, &*clock, &name).await {
                Ok(None) => return,
                Ok(Some(found)) => drop(told.send_replace(Others { found: Some(found) })),
                Err(error) => tracing::debug!(%error, "who follows cannot be asked"),
            }
            clock.sleep_ms(LOOK_MS).await;
        }
    };
    tokio::spawn(async move {
        tokio::select! {
            () = looking => {}
            () = stop => {}
        }
    });
    seen
}

async fn look<C: Clock>(
    store: &Backend,
    clock: &C,
    name: &str,
) -> Result<Option<FoundProcesses>, x811_store::PostgresError> {
    let Some((published, clock_ahead_ms)) = read_clock(store, clock).await? else {
        return Ok(None);
    };
    let (followers, standbys) = store.behind(name).await?;
    Ok(Some(FoundProcesses {
        clock_ahead_ms,
        published,
        followers,
        standbys,
    }))
}

/// Looks at the published head, lets `clock` follow the database's, and returns how far that is ahead of
/// this machine's own.
async fn read_clock<C: Clock>(
    store: &Backend,
    clock: &C,
) -> Result<Option<(Published, i64)>, x811_store::PostgresError> {
    let (before, asked_at_ms) = (clock.wall(), clock.monotonic_ms());
    let Some(published) = store.look().await? else {
        return Ok(None);
    };
    let between_ms = before.as_ms().midpoint(clock.wall().as_ms());
    let ahead_ms = published.now_ms.cast_signed() - between_ms.cast_signed();
    let ahead_ms = ahead_ms + clock.correction_ms();
    clock.set_by(TimestampMs::new(published.now_ms), asked_at_ms);
    Ok(Some((published, ahead_ms)))
}

/// Lets `clock` follow the database's from now on, where there is one and it answers.
pub(crate) async fn set_clock<C: Clock>(store: &Backend, clock: &C) {
    match read_clock(store, clock).await {
        Ok(Some((_, ahead_ms))) if ahead_ms.unsigned_abs() > FAR_OFF_MS => {
            tracing::warn!(
                ahead_ms,
                "the database's clock and this machine's differ by more than 5 s: the database's is followed; set \
                 the one that is wrong"
            );
        }
        Ok(_) => {}
        Err(error) => tracing::warn!(%error, "the database does not say what time it is"),
    }
}

impl Others {
    /// What the operator has to look after: a clock that is wrong.
    pub(crate) fn attention(&self) -> Option<String> {
        let ahead_ms = self.found.as_ref()?.clock_ahead_ms;
        if ahead_ms.unsigned_abs() <= FAR_OFF_MS {
            return None;
        }
        let (seconds, side) = match ahead_ms {
            0.. => (ahead_ms.unsigned_abs() / 1_000, "ahead of"),
            _ => (ahead_ms.unsigned_abs() / 1_000, "behind"),
        };
        Some(format!(
            "the database's clock is {seconds} s {side} this machine's: records bear the database's time. Compare \
             both with a third clock, and set the one that is wrong (NTP)"
        ))
    }

    /// As `/ready` tells it.
    pub(crate) fn shown(&self) -> Option<StoreSight> {
        let found = self.found.as_ref()?;
        let followers = found.followers.iter().map(|follower| FollowerSight {
            name: follower.name.clone(),
            size: follower.size,
            behind: found.published.size.saturating_sub(follower.size),
            seen_ms: follower.age_ms,
        });
        let standbys = found.standbys.iter().map(|standby| StandbySight {
            name: standby.name.clone(),
            state: standby.state.clone(),
            behind_bytes: standby.behind_bytes,
        });
        Some(StoreSight {
            epoch: found.published.epoch,
            holder: found.published.holder.clone(),
            lease_age_ms: found.published.age_ms(),
            published: found.published.size,
            clock_ahead_ms: found.clock_ahead_ms,
            followers: followers.collect(),
            standbys: standbys.collect(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stores_2_a_clock_that_is_far_off_needs_attention() {
        for (clock_ahead_ms, told) in [
            (5_000, None),
            (-5_000, None),
            (3_600_000, Some("is 3600 s ahead of")),
            (-6_000, Some("is 6 s behind")),
        ] {
            let published = Published {
                size: 1,
                at_ms: 1,
                now_ms: 1,
                epoch: 1,
                holder: None,
                checkpoint: None,
            };
            let others = Others {
                found: Some(FoundProcesses {
                    published,
                    clock_ahead_ms,
                    followers: Vec::new(),
                    standbys: Vec::new(),
                }),
            };
            let attention = others.attention();
            assert_eq!(attention.is_some(), told.is_some(), "{attention:?}");
            if let (Some(attention), Some(told)) = (attention, told) {
                assert!(attention.contains(told), "{attention}");
            }
        }
        assert_eq!(Others::default().attention(), None);
    }
}
