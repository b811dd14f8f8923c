//! Follows the sequencer with the rows for readers.
//!
//! Commits that follow each other mostly change the same interactions, so the rows of several are
//! written together: at once when somebody waits for them, otherwise within a moment.

use crate::clock::Clock;
use crate::port::ReadModel;
use std::pin::pin;
use std::sync::Arc;
use tokio::sync::{mpsc, watch};
use x811_world::projection::Changes;

/// How long a failing read model is left alone before it is tried again.
const RETRY_MS: u64 = 500;

/// Commits are written together while they make fewer changes than this.
const CHANGES_AT_ONCE: usize = 65_536;

/// The longest that rows nobody waits for stay behind the log.
const GATHER_MS: u64 = 1_000;

/// The changes of one commit.
#[derive(Debug)]
pub(super) struct Batch {
    pub(super) old_size: u64,
    pub(super) new_size: u64,
    pub(super) changes: Changes,
}

/// Applies batches until the sequencer is gone. A batch that cannot be applied is tried again: the
/// rows must never skip one, and `failing` says so meanwhile. `wanted` is the size of the log that a
/// reader waits for.
pub(super) async fn run<R: ReadModel, C: Clock>(
    read_model: Arc<R>,
    clock: Arc<C>,
    mut batches: mpsc::Receiver<Batch>,
    applied: watch::Sender<u64>,
    mut wanted: watch::Receiver<u64>,
    failing: watch::Sender<bool>,
) {
    while let Some(mut batch) = batches.recv().await {
        gather(&mut batch, &mut batches, &mut wanted, &*clock).await;
        let (old_size, new_size) = (batch.old_size, batch.new_size);
        let rows = batch.changes.into_rows();
        while let Err(error) = read_model.apply(old_size, new_size, &rows).await {
            tracing::error!(%error, old_size, "rows could not be written");
            failing.send_replace(true);
            // A commit of unknown outcome may hold.
            if matches!(read_model.applied_size().await, Ok(size) if size == new_size) {
                break;
            }
            clock.sleep_ms(RETRY_MS).await;
        }
        failing.send_if_modified(std::mem::take);
        applied.send_replace(new_size);
    }
}

/// Adds the batches that follow, until there are enough or somebody waits for rows.
async fn gather(
    batch: &mut Batch,
    batches: &mut mpsc::Receiver<Batch>,
    wanted: &mut watch::Receiver<u64>,
    clock: &impl Clock,
) {
    let mut enough = pin!(clock.sleep_ms(GATHER_MS));
    let mut is_wanted = *wanted.borrow_and_update() > batch.old_size;
    while batch.changes.len() < CHANGES_AT_ONCE {
        let next = if is_wanted {
            batches.try_recv().ok()
        } else {
            tokio::select! {
                next = batches.recv() => next,
                // Without readers there is nothing to wait for either.
                asked = wanted.changed() => {
                    is_wanted = asked.is_err() || *wanted.borrow_and_update() > batch.old_size;
                    continue;
                }
                () = &mut enough => None,
            }
        };
        let Some(next) = next else {
            return;
        };
        batch.new_size = next.new_size;
        batch.changes.followed_by(next.changes);
    }
}
