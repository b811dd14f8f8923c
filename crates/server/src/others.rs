//! Who writes, who follows, and how far (stores.md section 2): for the operator, looked up now and
//! then. Nothing is decided by it.

use crate::app::stopped;
use std::sync::Arc;
use tokio::sync::watch;
use x811_ledger::clock::Clock;
use x811_protocol::answer::{FollowerSight, StandbySight, StoreSight};
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
    let before_ms = clock.wall().as_ms();
    let Some(published) = store.look().await? else {
        return Ok(None);
    };
    let between_ms = before_ms.midpoint(clock.wall().as_ms());
    let (followers, standbys) = store.behind(name).await?;
    Ok(Some(FoundProcesses {
        clock_ahead_ms: published.now_ms.cast_signed() - between_ms.cast_signed(),
        published,
        followers,
        standbys,
    }))
}

impl Others {
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
