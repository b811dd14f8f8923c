//! Who writes, who follows, and how far (stores.md section 2): for the operator, looked up now and
//! then. Nothing is decided by it.

use crate::app::stopped;
use serde_json::{Value, json};
use std::sync::Arc;
use tokio::sync::watch;
use x811_ledger::clock::Clock;
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
    pub(crate) fn shown(&self) -> Option<Value> {
        let found = self.found.as_ref()?;
        let followers = found.followers.iter().map(|follower| {
            let behind = found.published.size.saturating_sub(follower.size);
            json!({
                "name": follower.name,
                "size": follower.size,
                "behind": behind,
                "seen_ms": follower.age_ms,
            })
        });
        let standbys = found.standbys.iter().map(|standby| {
            json!({
                "name": standby.name,
                "state": standby.state,
                "behind_bytes": standby.behind_bytes,
            })
        });
        Some(json!({
            "epoch": found.published.epoch,
            "holder": found.published.holder,
            "lease_age_ms": found.published.age_ms(),
            "published": found.published.size,
            "clock_ahead_ms": found.clock_ahead_ms,
            "followers": followers.collect::<Vec<_>>(),
            "standbys": standbys.collect::<Vec<_>>(),
        }))
    }
}
