//! Records that have waited too long for a checkpoint: the ledger could not store one.

use std::path::Path;

use x811_eventlog::{Checkpoint, EventLog as _};
use x811_ledger::checkpoint::{CheckpointStore as _, MAX_UNSTORED_MS};
use x811_ledger::doctor::Finding;
use x811_ledger::port::LedgerStore as _;
use x811_store::{Backend, FileCheckpointStore};

/// The finding that records at the end of the log waited for a checkpoint for longer than
/// [`MAX_UNSTORED_MS`] while the ledger ran. What cannot be read is for others to report.
///
/// The ledger notes every second that it runs, so a ledger that was killed is no such case: its last
/// records are at most a second older than that note.
pub(super) async fn finding(store: &Backend, directory: Option<&Path>) -> Option<Finding> {
    let place = FileCheckpointStore::at(directory?);
    let file = place.file();
    // In this order: a ledger that runs stores checkpoints meanwhile.
    let ran_until = store.last_tick().await.ok()??;
    // Not the row of a database, which the ledger stores first.
    let note = place.load().await.ok()??;
    let covered = Checkpoint::claimed(&note).ok()?.size;
    let waiting = store.log().read(covered, 1).await.ok()?;
    let waited_ms = ran_until
        .as_ms()
        .saturating_sub(waiting.first()?.recorded_at_ms());
    if waited_ms < MAX_UNSTORED_MS {
        return None;
    }
    let size = store.log().head().await.ok()?.size;
    let (records, waited_s) = (size.saturating_sub(covered), waited_ms / 1_000);
    Some(Finding {
        part: "unsigned",
        sentence: format!(
            "the last {records} records are under no checkpoint, the first of them for {waited_s} s while \
             the ledger ran: {} covers {covered} of {size} records",
            file.display()
        ),
    })
}
