//! The end of a ledger whose files were removed, moved or replaced while it ran.
//!
//! What such a ledger writes is in files that no path names. Commits look by themselves, so nothing is
//! acknowledged any more; the open files still have every record, and are copied before the end.

use super::RunError;
use std::path::{Path, PathBuf};
use std::time::Duration;
use x811_store::{Backend, Displaced, Fate, ReadRows};

/// Time between two looks.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// The log in a data directory.
const LOG: &str = "ledger.db";

/// Ready once a path does not name the file any more that was opened by it.
pub(super) async fn noticed(store: &Backend, rows: &ReadRows) -> Displaced {
    loop {
        tokio::time::sleep(LOOK_EVERY).await;
        if let Some(displaced) = found(store, rows) {
            return displaced;
        }
    }
}

/// The first file that its path does not name any more.
pub(super) fn found(store: &Backend, rows: &ReadRows) -> Option<Displaced> {
    store.displaced().or_else(|| rows.displaced())
}

/// Saves what is in open files alone. Returns what happened, and what to do.
pub(super) async fn saved(displaced: Displaced, store: &Backend) -> RunError {
    let name = displaced.path.file_name().and_then(|name| name.to_str());
    let then = match name.unwrap_or_default() {
        LOG => of_log(&displaced, store).await,
        "ledger.db-wal" | "ledger.db-shm" => of_companion(&displaced, store).await,
        "LOCK" => {
            "another writer may have started there. Make sure that one process only uses the \
                   directory, then start"
                .to_owned()
        }
        _ => "it has the read model alone, which the next start rebuilds: start the ledger again"
            .to_owned(),
    };
    RunError::Displaced(format!("{displaced}: {then}"))
}

/// For `ledger.db` itself.
async fn of_log(displaced: &Displaced, store: &Backend) -> String {
    // Beside a file that took its place lies a write-ahead log that is not its own.
    if let Fate::Moved(to) = &displaced.fate
        && !is_replaced(&displaced.path)
        && store.settle().await
    {
        let (path, to) = (displaced.path.display(), to.display());
        return format!("every record is in {to}. Move it back to {path}, and start again");
    }
    rescued(&displaced.path, store).await
}

/// True if something is at the path of the log, or of its write-ahead log, again.
fn is_replaced(log: &Path) -> bool {
    let names = [LOG, "ledger.db-wal", "ledger.db-shm"];
    names.iter().any(|name| log.with_file_name(name).exists())
}

/// For the write-ahead log and its index, beside a `ledger.db` that is still in place.
async fn of_companion(displaced: &Displaced, store: &Backend) -> String {
    let log = displaced.path.with_file_name(LOG);
    if store.settle().await {
        let log = log.display();
        return format!("every record is in {log}. Start the ledger again");
    }
    rescued(&log, store).await
}

/// Copies the log from the open files. The first place that takes it is in the data directory.
async fn rescued(log: &Path, store: &Backend) -> String {
    let path = log.display();
    let mut failure = String::from("no place for it");
    for target in places(log) {
        match store.rescue(&target).await {
            Ok(()) => {
                let copy = target.join(LOG);
                let copy = copy.display();
                return format!(
                    "every record was copied to {copy}. Move that file to {path}, remove {path}-wal and \
                     {path}-shm if they exist, put the directory `keys` back if it is missing, and \
                     start again"
                );
            }
            Err(error) => failure = error.to_string(),
        }
    }
    format!(
        "its records could not be copied ({failure}) and are gone with this process. Restore the newest \
         copy with `x811 restore`; if it ends before the last checkpoint, begin a new ledger behind it \
         with `x811 ledger reopen`"
    )
}

/// New directories in the data directory, where that exists, and beside it.
fn places(log: &Path) -> Vec<PathBuf> {
    let name = format!("rescued-{}", std::process::id());
    let mut places = Vec::new();
    let Some(data_dir) = log.parent() else {
        return places;
    };
    if data_dir.is_dir() {
        places.push(data_dir.join(&name));
    }
    if let Ok(data_dir) = std::path::absolute(data_dir)
        && let Some(own) = data_dir.file_name().and_then(|own| own.to_str())
    {
        places.push(data_dir.with_file_name(format!("{own}-{name}")));
    }
    places
}
