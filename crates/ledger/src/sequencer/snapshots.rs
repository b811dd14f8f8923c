//! Takes a snapshot every so many records and at the end, beside the sequencer's task: cloning the
//! world is all that a round pays for it.

use crate::snapshot::{self, Snapshots};
use tokio::task::JoinHandle;
use x811_protocol::event::LedgerOpened;
use x811_protocol::key::SecretKey;
use x811_protocol::time::TimestampMs;
use x811_world::World;

/// Entries that are written into snapshots for each record, at most, over time.
const HELD_FOR_EACH_RECORD: u64 = 4;

/// When snapshots are taken, and by whom they are signed.
pub(super) struct Saver {
    snapshots: Option<Snapshots>,
    key: SecretKey,
    identity: LedgerOpened,
    /// Size of the log at the last one, taken or tried.
    last_size: u64,
    /// Records from there to the next one.
    interval: u64,
    saving: Option<JoinHandle<()>>,
}

impl Saver {
    pub(super) fn new(
        snapshots: Option<Snapshots>,
        key: SecretKey,
        identity: &LedgerOpened,
        last_size: u64,
    ) -> Saver {
        Saver {
            key,
            identity: identity.clone(),
            last_size,
            interval: snapshots
                .as_ref()
                .map_or(0, |snapshots| snapshots.every_records),
            snapshots,
            saving: None,
        }
    }

    /// Begins a snapshot when one is due; while one is being written the next one waits.
    pub(super) fn after_round(&mut self, world: &World, now: TimestampMs) {
        if self.snapshots.is_none() {
            return;
        }
        let due = self.last_size.saturating_add(self.interval);
        if world.head().size >= due && self.saving.as_ref().is_none_or(JoinHandle::is_finished) {
            self.begin(world, now);
        }
    }

    /// Takes the last snapshot, of everything that was recorded.
    pub(super) async fn finish(&mut self, world: &World, now: TimestampMs) {
        self.wait().await;
        if world.head().size > self.last_size {
            self.begin(world, now);
            self.wait().await;
        }
    }

    async fn wait(&mut self) {
        if let Some(saving) = self.saving.take()
            && let Err(error) = saving.await
        {
            tracing::error!(%error, "a snapshot ended in a panic: the next start replays more");
        }
    }

    fn begin(&mut self, world: &World, now: TimestampMs) {
        let Some(snapshots) = self.snapshots.clone() else {
            return;
        };
        let (world, key, identity) = (world.clone(), self.key.clone(), self.identity.clone());
        self.last_size = world.head().size;
        self.interval = interval(snapshots.every_records, &world);
        self.saving = Some(tokio::task::spawn_blocking(move || {
            save(&snapshots, &world, now, &key, &identity);
        }));
    }
}

/// Records from a snapshot of `world` to the next: enough of them that writing all that is held
/// costs each record little, however much that is.
fn interval(every_records: u64, world: &World) -> u64 {
    let sizes = world.sizes();
    let held = sizes.nonces + sizes.envelope_ids + sizes.interactions + sizes.agents;
    every_records.max(held as u64 / HELD_FOR_EACH_RECORD)
}

/// A snapshot that cannot be written harms nobody: the next start replays more.
fn save(
    snapshots: &Snapshots,
    world: &World,
    now: TimestampMs,
    key: &SecretKey,
    identity: &LedgerOpened,
) {
    let size = world.head().size;
    let bytes = match snapshot::encode(world, now, key) {
        Ok(bytes) => bytes,
        Err(error) => {
            tracing::error!(size, %error, "a snapshot could not be made");
            return;
        }
    };
    match snapshots.store.save(size, &bytes) {
        Ok(()) => tracing::debug!(size, bytes = bytes.len(), "a snapshot was written"),
        Err(error) => {
            tracing::warn!(size, %error, "a snapshot could not be written: the next start replays more");
            return;
        }
    }
    if cfg!(debug_assertions) {
        check_saved(snapshots, world, identity);
    }
}

/// Reads back what was written and compares it with what it is of.
fn check_saved(snapshots: &Snapshots, world: &World, identity: &LedgerOpened) {
    let size = world.head().size;
    let read = snapshots
        .store
        .load(size)
        .map_err(snapshot::Rejection::from)
        .and_then(|bytes| snapshot::decode(&bytes, identity, identity.keys.envelope));
    match read {
        Ok(snapshot) => {
            for difference in snapshot::check(world, &snapshot) {
                tracing::error!(size, %difference, "a snapshot is not what it was taken of");
            }
        }
        Err(rejection) => tracing::error!(size, %rejection, "a new snapshot does not hold"),
    }
}
