//! Moves the write-ahead log into the database beside the writer.
//!
//! SQLite does it inside a commit, whenever the log has grown long enough: everybody then waits for
//! tens of megabytes to be written and synced. Here a connection of its own moves what there is,
//! and the writer moves only what came in meanwhile, which lets the log begin again from the front.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use sqlx::AssertSqlSafe;
use sqlx::sqlite::SqliteConnection;
use tokio::task::JoinSet;

use super::connect::{self, Database};
use super::error::StoreError;

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
    /// Pages in it must not stay there.
    truncation: Mutex<Truncation>,
    /// The one task that moves.
    moving: Mutex<JoinSet<()>>,
}

/// Whether the log has to be cut to nothing, so that no older page is left in it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Truncation {
    /// It need not be.
    #[default]
    NotDue,
    /// It is, and readers are waited for.
    Due,
    /// A reader was in the way: it is tried after every commit, and nobody is waited for.
    Late,
}

impl Wal {
    pub(super) fn new(database: Database) -> Wal {
        Wal {
            database,
            written_bytes: AtomicU64::new(0),
            rest_is_due: Arc::default(),
            truncation: Mutex::default(),
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

    /// The log has to be cut to nothing behind the transaction that is open.
    pub(super) fn must_be_truncated(&self) {
        self.set_truncation(Truncation::Due);
    }

    /// Cuts the log to nothing where that is due, by the connection that writes, between two
    /// transactions.
    pub(super) async fn truncate_if_due(&self, connection: &mut SqliteConnection) {
        let due = self.truncation.lock();
        let due = due.map_or(Truncation::NotDue, |truncation| *truncation);
        let truncated = match due {
            Truncation::NotDue => return,
            Truncation::Due => truncate(connection).await,
            Truncation::Late => truncate_at_once(connection).await,
        };
        match truncated {
            Ok(true) => self.set_truncation(Truncation::NotDue),
            Ok(false) if due == Truncation::Late => {}
            outcome => {
                tracing::warn!(
                    ?outcome,
                    "erased bodies are still in the write-ahead log, because \
                    somebody reads it: it is cut as soon as they are done"
                );
                self.set_truncation(Truncation::Late);
            }
        }
    }

    fn set_truncation(&self, truncation: Truncation) {
        // Poisoned by a panic, it is left to the next start.
        if let Ok(mut slot) = self.truncation.lock() {
            *slot = truncation;
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

/// Moves everything and cuts the log to nothing; `false` when a reader was in the way for too long.
pub(super) async fn truncate(connection: &mut SqliteConnection) -> Result<bool, StoreError> {
    let busy: i64 = sqlx::query_scalar("PRAGMA wal_checkpoint(TRUNCATE)")
        .fetch_one(connection)
        .await?;
    Ok(busy == 0)
}

/// The same, without waiting for anybody.
async fn truncate_at_once(connection: &mut SqliteConnection) -> Result<bool, StoreError> {
    let patience_ms: i64 = sqlx::query_scalar("PRAGMA busy_timeout")
        .fetch_one(&mut *connection)
        .await?;
    sqlx::query("PRAGMA busy_timeout = 0")
        .execute(&mut *connection)
        .await?;
    let truncated = truncate(connection).await;
    sqlx::query(AssertSqlSafe(format!(
        "PRAGMA busy_timeout = {patience_ms}"
    )))
    .execute(connection)
    .await?;
    truncated
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
