//! The world at a start: from the newest snapshot that holds and the tail of the log, or from the
//! whole log. Rows that are missing are written on the way.

use super::open::{OpenError, Opening, RowsError, read_event};
use crate::checkpoint::Guard;
use crate::port::{LedgerStore, ReadModel};
use crate::snapshot::{self, Rejection, SnapshotStore, Snapshots};
use std::sync::Arc;
use x811_eventlog::{ChainVerifier, EventLog, Head};
use x811_protocol::event::LedgerRole;
use x811_world::World;
use x811_world::projection;
use x811_world::row::RowChange;

/// Records read at a time.
const PAGE: usize = 1_024;

/// Changes of the rows by one page of records.
struct Rows {
    old_size: u64,
    new_size: u64,
    changes: Vec<RowChange>,
}

/// A world, and the size of the snapshot it was replayed from; 0 when there was none.
pub(super) struct Rebuilt {
    pub(super) world: World,
    pub(super) snapshot_size: u64,
}

/// What is there when the ledger starts.
struct Stored<'a, S> {
    store: &'a S,
    head: Head,
    /// Records that the rows reflect.
    applied: u64,
    tree: Option<(u64, Vec<u8>)>,
    /// What was signed last.
    guard: Guard<'a>,
}

/// The world that the log adds up to; from `warm` on where that is on the way to it.
pub(super) async fn rebuild<S: LedgerStore, R: ReadModel>(
    store: &S,
    read_model: &R,
    opening: &Opening,
    warm: Option<World>,
) -> Result<Rebuilt, OpenError> {
    let head = store.log().head().await?;
    let stored = Stored {
        store,
        guard: Guard::over(opening.checkpoint.as_ref(), head.size)?,
        head,
        applied: read_model.applied_size().await.map_err(RowsError::Read)?,
        tree: store.frontier().await?,
    };
    if stored.applied > stored.head.size {
        return Err(OpenError::RowsAhead {
            rows: stored.applied,
            log: stored.head.size,
        });
    }
    let warm = match warm {
        Some(world) => stored.by_warm(world).await,
        None => None,
    };
    let nearer = match (warm, &opening.snapshots) {
        (None, Some(snapshots)) => stored.by_snapshots(snapshots, opening).await,
        (warm, _) => warm,
    };
    if let Some((rebuilt, rows)) = nearer {
        for rows in rows {
            write(read_model, &rows).await?;
        }
        return Ok(rebuilt);
    }
    let mut replay = Replay::from(World::empty(), stored.applied);
    while let Some(rows) = replay.page(&stored).await? {
        if rows.new_size > rows.old_size {
            write(read_model, &rows).await?;
        }
    }
    stored.check_tree(&replay.world)?;
    Ok(Rebuilt {
        world: replay.world,
        snapshot_size: 0,
    })
}

async fn write<R: ReadModel>(read_model: &R, rows: &Rows) -> Result<(), OpenError> {
    let written = read_model.apply(rows.old_size, rows.new_size, &rows.changes);
    Ok(written.await.map_err(RowsError::Write)?)
}

impl<S: LedgerStore> Stored<'_, S> {
    /// The world of a process that followed the log, gone on to its end.
    async fn by_warm(&self, world: World) -> Option<(Rebuilt, Vec<Rows>)> {
        let size = world.head().size;
        match self.by_world(world).await {
            Ok((world, rows)) => {
                let tail = self.head.size - size;
                tracing::info!(size, tail, "goes on from the world that was kept warm");
                let rebuilt = Rebuilt {
                    world,
                    // None was taken of it: the next one is due as after a start without any.
                    snapshot_size: 0,
                };
                Some((rebuilt, rows))
            }
            Err(rejection) => {
                tracing::warn!(size, %rejection, "what was followed does not hold and is ignored");
                None
            }
        }
    }

    /// The world by the newest snapshot that holds, and the rows that are missing.
    async fn by_snapshots(
        &self,
        snapshots: &Snapshots,
        opening: &Opening,
    ) -> Option<(Rebuilt, Vec<Rows>)> {
        let place = snapshots.store.clone();
        let sizes = match blocking(move || place.sizes()).await {
            Ok(sizes) => sizes,
            Err(error) => {
                tracing::warn!(%error, "the snapshots cannot be listed: the whole log is replayed");
                return None;
            }
        };
        for size in sizes {
            match self.by_snapshot(size, snapshots, opening).await {
                Ok(found) => {
                    let tail = self.head.size - size;
                    tracing::info!(size, tail, "started from a snapshot");
                    return Some(found);
                }
                Err(rejection) => {
                    tracing::warn!(size, %rejection, "a snapshot does not hold and is ignored");
                }
            }
        }
        None
    }

    async fn by_snapshot(
        &self,
        size: u64,
        snapshots: &Snapshots,
        opening: &Opening,
    ) -> Result<(Rebuilt, Vec<Rows>), Rejection> {
        let signed_size = opening.checkpoint.as_ref().map(|signed| signed.size);
        let max_size = [snapshots.max_size, signed_size]
            .into_iter()
            .flatten()
            .min();
        self.check_size(size, max_size)?;
        let world = load(snapshots.store.clone(), size, opening).await?;
        let snapshot_size = world.head().size;
        // The name said which size to expect; the signed one counts.
        self.check_size(snapshot_size, max_size)?;
        let (world, missing) = self.by_world(world).await?;
        let rebuilt = Rebuilt {
            world,
            snapshot_size,
        };
        Ok((rebuilt, missing))
    }

    /// `world` gone on to the end of the log, and the rows that are missing.
    async fn by_world(&self, world: World) -> Result<(World, Vec<Rows>), Rejection> {
        let head = world.head();
        self.check_size(head.size, None)?;
        self.check_head(head).await?;
        self.guard
            .reached(&world)
            .map_err(|misfit| Rejection::Tail(misfit.to_string()))?;
        let mut replay = Replay::from(world, self.applied);
        let mut missing = Vec::new();
        while let Some(rows) = replay
            .page(self)
            .await
            .map_err(|error| Rejection::Tail(error.to_string()))?
        {
            if rows.new_size > rows.old_size {
                missing.push(rows);
            }
        }
        self.check_tree(&replay.world)
            .map_err(|error| Rejection::Tail(error.to_string()))?;
        Ok((replay.world, missing))
    }

    /// Rows that a snapshot has gone past could not be written any more.
    fn check_size(&self, size: u64, max_size: Option<u64>) -> Result<(), Rejection> {
        for (allowed, why) in [
            (self.head.size, "the log has no more"),
            (self.applied, "the rows for readers reflect no more"),
            (
                max_size.unwrap_or(u64::MAX),
                "the last signed checkpoint has no more",
            ),
        ] {
            if size > allowed {
                return Err(Rejection::Ahead { size, allowed, why });
            }
        }
        Ok(())
    }

    /// The log must have the record that the snapshot ends with.
    async fn check_head(&self, head: Head) -> Result<(), Rejection> {
        let position = head.size.saturating_sub(1);
        let page = self.store.log().read(position, 1).await;
        let page = page.map_err(|error| Rejection::Tail(error.to_string()))?;
        if page.first().is_some_and(|last| Head::after(last) == head) {
            return Ok(());
        }
        Err(Rejection::Head {
            position,
            expected: head.hash,
        })
    }

    fn check_tree(&self, world: &World) -> Result<(), OpenError> {
        match &self.tree {
            Some((size, frontier))
                if *size != self.head.size || *frontier != world.frontier().to_bytes() =>
            {
                Err(OpenError::Tree)
            }
            Some(_) | None => Ok(()),
        }
    }
}

/// A world on its way to the end of the log.
struct Replay {
    world: World,
    chain: ChainVerifier,
    applied: u64,
}

impl Replay {
    fn from(world: World, applied: u64) -> Replay {
        Replay {
            chain: ChainVerifier::from_head(world.head()),
            world,
            applied,
        }
    }

    /// Replays one page; `None` at the end of the log.
    async fn page<S: LedgerStore>(
        &mut self,
        stored: &Stored<'_, S>,
    ) -> Result<Option<Rows>, OpenError> {
        if self.world.head().size >= stored.head.size {
            return Ok(None);
        }
        let mut changes = Vec::new();
        let log = stored.store.log();
        for record in log.read(self.world.head().size, PAGE).await? {
            if let Some(broken) = self.chain.push(&record).into_iter().next() {
                return Err(OpenError::Broken(broken));
            }
            let event = read_event(&record)?;
            let touched = self.world.apply(&record, &event)?;
            stored.guard.reached(&self.world)?;
            if record.position() >= self.applied {
                changes.extend(projection::changes(&self.world, &record, &event, &touched));
            }
        }
        let old_size = self.applied;
        self.applied = self.applied.max(self.world.head().size);
        Ok(Some(Rows {
            old_size,
            new_size: self.applied,
            changes,
        }))
    }
}

async fn load(
    place: Arc<dyn SnapshotStore>,
    size: u64,
    opening: &Opening,
) -> Result<World, Rejection> {
    let identity = opening.identity.clone();
    // What a key signed that this start replaces.
    let mut replaced = opening.rotations.iter();
    let replaced = replaced.find(|rotated| rotated.role == LedgerRole::Envelope);
    let key = replaced.map_or(identity.keys.envelope, |rotated| rotated.old_key);
    blocking(move || {
        let bytes = place.load(size)?;
        snapshot::decode(&bytes, &identity, key).map(|snapshot| snapshot.world)
    })
    .await
}

/// Runs what blocks, or takes long, beside the tasks.
async fn blocking<T, E>(work: impl FnOnce() -> Result<T, E> + Send + 'static) -> Result<T, E>
where
    T: Send + 'static,
    E: From<std::io::Error> + Send + 'static,
{
    tokio::task::spawn_blocking(work)
        .await
        .unwrap_or_else(|error| Err(std::io::Error::other(error).into()))
}
