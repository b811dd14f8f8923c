//! The checkpoint that an export ends with: the ledger signs one a second while its log grows, so what
//! is in the log now is soon under one.

use std::time::Duration;

use x811_eventlog::{Checkpoint, EventLog as _};
use x811_ledger::checkpoint::CheckpointStore;
use x811_ledger::export::WriteError;
use x811_ledger::port::LedgerStore;
#[cfg(feature = "serve")]
use x811_ledger::port::ReadModel;
#[cfg(feature = "serve")]
use x811_store::ReadRows;
use x811_store::{Backend, FileCheckpointStore};

use super::log::unexported;
use crate::failure::Failure;

/// Time between two looks for it.
const STEP: Duration = Duration::from_millis(100);

/// How many looks: two seconds more than the ledger takes from one checkpoint to the next.
const PATIENCE: u32 = 30;

/// What was found.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Awaited {
    /// The last signed checkpoint.
    pub(crate) note: String,
    /// Records that the log had and that it does not cover.
    pub(crate) left_out: u64,
}

/// Waits until all that is in the log now is under a signed checkpoint, at most `patience` times as
/// long as `pause` takes. When none comes the ledger is not running: then the last one is taken that
/// it signed, if it ever did.
pub(super) async fn signed<S: LedgerStore, C: CheckpointStore>(
    store: &S,
    place: &C,
    patience: u32,
    pause: impl AsyncFn(),
) -> Result<Option<Awaited>, Failure> {
    let head = store.log().head().await;
    let head = head.map_err(|error| unexported(&WriteError::Read(error)))?;
    if head.size == 0 {
        return Err(unexported(&WriteError::Empty));
    }
    let mut last = load(place).await?;
    for _ in 0..patience {
        if last.as_ref().is_some_and(|(size, _)| *size >= head.size) {
            break;
        }
        pause().await;
        last = load(place).await?;
    }
    Ok(last.map(|(size, note)| Awaited {
        note,
        left_out: head.size.saturating_sub(size),
    }))
}

/// The same, as long as it takes a ledger that is running.
pub(super) async fn signed_at(
    store: &Backend,
    place: &FileCheckpointStore,
) -> Result<Awaited, Failure> {
    let pause = async || tokio::time::sleep(STEP).await;
    let awaited = signed(store, place, PATIENCE, pause).await?;
    awaited.ok_or_else(|| none(place))
}

/// Waits until the rows for readers reflect `size` records: a running ledger writes them behind its
/// log, and may sign first. Where they stay behind, whoever reads them says so.
#[cfg(feature = "serve")]
pub(super) async fn reflected<R: ReadModel>(
    rows: &R,
    size: u64,
    patience: u32,
    pause: impl AsyncFn(),
) -> Result<(), Failure> {
    for _ in 0..patience {
        let reflected = rows.applied_size().await;
        if reflected.map_err(|error| unexported(&WriteError::Read(error)))? >= size {
            break;
        }
        pause().await;
    }
    Ok(())
}

/// The same, as long as it takes a ledger that is running.
#[cfg(feature = "serve")]
pub(super) async fn rows_at(rows: &ReadRows, size: u64) -> Result<(), Failure> {
    let pause = async || tokio::time::sleep(STEP).await;
    reflected(rows, size, PATIENCE, pause).await
}

/// The last signed one, and how many records it covers.
async fn load(place: &impl CheckpointStore) -> Result<Option<(u64, String)>, Failure> {
    let note = place.load().await;
    let note = note.map_err(|error| Failure::local("checkpoint", error.to_string()))?;
    let Some(note) = note else {
        return Ok(None);
    };
    let claimed = Checkpoint::claimed(&note);
    let claimed = claimed.map_err(|error| unexported(&WriteError::Checkpoint(error)))?;
    Ok(Some((claimed.size, note)))
}

fn none(place: &FileCheckpointStore) -> Failure {
    let message = format!(
        "there is no signed checkpoint at {}: an export ends with one, and nobody signed these \
         records",
        place.file().display()
    );
    Failure::local("checkpoint", message).hint(
        "start the ledger, which signs one a second; where it keeps them elsewhere, name that \
         directory with --checkpoint-dir; or take the records as they are with --tail",
    )
}

#[cfg(test)]
mod tests;
