//! Follows the sequencer with the rows for readers, one transaction a batch, or for several when it is
//! behind.

use crate::clock::Clock;
use crate::port::ReadModel;
use crate::projection::Changes;
use std::sync::Arc;
use tokio::sync::{mpsc, watch};

/// How long a failing read model is left alone before it is tried again.
const RETRY_MS: u64 = 500;

/// Batches that wait are written together while they make fewer changes than this.
const CHANGES_AT_ONCE: usize = 16_384;

/// The changes of one commit.
#[derive(Debug)]
pub(super) struct Batch {
    pub(super) old_size: u64,
    pub(super) new_size: u64,
    pub(super) changes: Changes,
}

/// Applies batches until the sequencer is gone. A batch that cannot be applied is tried again: the
/// rows must never skip one.
pub(super) async fn run<R: ReadModel, C: Clock>(
    read_model: Arc<R>,
    clock: Arc<C>,
    mut batches: mpsc::Receiver<Batch>,
    applied: watch::Sender<u64>,
) {
    while let Some(mut batch) = batches.recv().await {
        while batch.changes.len() < CHANGES_AT_ONCE
            && let Ok(next) = batches.try_recv()
        {
            batch.new_size = next.new_size;
            batch.changes.followed_by(next.changes);
        }
        while let Err(error) = read_model
            .apply(batch.old_size, batch.new_size, batch.changes.rows())
            .await
        {
            tracing::error!(%error, old_size = batch.old_size, "rows could not be written");
            // A commit of unknown outcome may hold.
            if matches!(read_model.applied_size().await, Ok(size) if size == batch.new_size) {
                break;
            }
            clock.sleep_ms(RETRY_MS).await;
        }
        applied.send_replace(batch.new_size);
    }
}
