//! Moves the write-ahead log into the database beside the writer.
//!
//! SQLite does it inside a commit, whenever the log has grown long enough: everybody then waits for
//! tens of megabytes to be written and synced. Here a connection of its own moves what there is,
//! and the writer moves only what came in meanwhile, which lets the log begin again from the front.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use sqlx::sqlite::SqliteConnection;
use tokio::task::JoinSet;

use super::connect::{self, Database};

/// How much is written before it is moved.
const MOVED_AFTER_BYTES: u64 = 16 * 1_048_576;

/// Who moves the log of one database.
#[derive(Debug)]
pub(super) struct Wal {
    database: Database,
    /// About how much was written since the last time.
    written_bytes: AtomicU64,
    /// The rest is small now: the writer is to move it.
    rest_is_due: Arc<AtomicBool>,
    /// The one task that moves.
    moving: Mutex<JoinSet<()>>,
}

impl Wal {
    pub(super) fn new(database: Database) -> Wal {
        Wal {
            database,
            written_bytes: AtomicU64::new(0),
            rest_is_due: Arc::default(),
            moving: Mutex::default(),
        }
    }

    /// Takes note of about that much, committed; begins to move when it is time.
    pub(super) fn wrote(&self, bytes: u64) {
        let written = self.written_bytes.fetch_add(bytes, Ordering::Relaxed) + bytes;
        // Poisoned by a panic, it is left to SQLite.
        let Ok(mut moving) = self.moving.lock() else {
            return;
        };
        while moving.try_join_next().is_some() {}
        if written < MOVED_AFTER_BYTES || !moving.is_empty() {
            return;
        }
        self.written_bytes.store(0, Ordering::Relaxed);
        let (database, rest_is_due) = (self.database.clone(), self.rest_is_due.clone());
        moving.spawn(async move {
            // Without a connection SQLite moves the log itself, once it is four times as long.
            let Ok(mut connection) = database.writer().await else {
                return;
            };
            move_into_database(&mut connection).await;
            connect::close(connection).await;
            rest_is_due.store(true, Ordering::Release);
        });
    }

    /// Moves the rest if it is due, by the connection that writes, between two transactions.
    pub(super) async fn move_rest(&self, connection: &mut SqliteConnection) {
        if self.rest_is_due.swap(false, Ordering::Acquire) {
            move_into_database(connection).await;
        }
    }

    /// Waits until nothing is being moved.
    pub(super) async fn rest(&self) {
        // Not held across the wait: its guard cannot go from thread to thread.
        let taken = self.moving.lock().ok();
        let taken = taken.map(|mut moving| std::mem::take(&mut *moving));
        let mut moving = taken.unwrap_or_default();
        while moving.join_next().await.is_some() {}
    }
}

/// What fails here is durable all the same, and tried again later.
async fn move_into_database(connection: &mut SqliteConnection) {
    let moved = sqlx::query("PRAGMA wal_checkpoint(PASSIVE)")
        .execute(connection)
        .await;
    if let Err(error) = moved {
        tracing::debug!(%error, "the write-ahead log was not moved");
    }
}
