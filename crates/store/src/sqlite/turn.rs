//! Writing: one transaction at a time on the one writer connection, under the writer epoch.

use std::path::Path;

use sqlx::sqlite::SqliteConnection;
use tokio::sync::{Mutex, MutexGuard};
use x811_eventlog::AppendError;

use super::connect::{self, Database};
use super::copy;
use super::error::{OpenError, StoreError};
use super::wal::{self, Wal};

/// The writer of a database.
#[derive(Debug)]
pub(super) struct Writer {
    database: Database,
    /// Empty while a turn has the connection, and after a turn that did not end in order: such a
    /// connection may be in any state, so it is closed, which rolls back, and replaced.
    connection: Mutex<Option<SqliteConnection>>,
    wal: Wal,
}

impl Writer {
    pub(super) fn new(database: Database, connection: SqliteConnection) -> Self {
        Self {
            wal: Wal::new(database.clone()),
            database,
            connection: Mutex::new(Some(connection)),
        }
    }

    /// Waits for the turn before, then begins a transaction that holds the write lock of the file.
    pub(super) async fn begin(&self) -> Result<Turn<'_>, StoreError> {
        let mut slot = self.connection.lock().await;
        let mut connection = match slot.take() {
            Some(connection) => connection,
            None => self.database.writer().await?,
        };
        self.wal.move_rest(&mut connection).await;
        execute(&mut connection, "BEGIN IMMEDIATE").await?;
        Ok(Turn {
            slot,
            connection,
            wal: &self.wal,
        })
    }

    /// Copies the database as the connection has it open into the new file `target`. Where that
    /// connection is gone nothing is copied: another one would open what the path names now.
    pub(super) async fn copy_to(&self, target: &Path) -> Result<(), OpenError> {
        let mut slot = self.connection.lock().await;
        let gone = || OpenError::Database {
            file: self.database.file().to_owned(),
            source: StoreError::from(sqlx::Error::WorkerCrashed),
        };
        copy::copy_by(slot.as_mut().ok_or_else(gone)?, target).await
    }

    /// Moves the open write-ahead log into the open database. `false` where that is not done, or not
    /// known to be.
    pub(super) async fn settle(&self) -> bool {
        let mut slot = self.connection.lock().await;
        match slot.as_mut() {
            Some(connection) => matches!(wal::truncate(connection).await, Ok(true)),
            None => false,
        }
    }

    /// Waits for the turn before, then closes the connection.
    pub(super) async fn close(&self) {
        self.wal.rest().await;
        if let Some(connection) = self.connection.lock().await.take() {
            connect::close(connection).await;
        }
    }
}

/// An open transaction. Dropping it rolls it back.
#[derive(Debug)]
pub(super) struct Turn<'a> {
    slot: MutexGuard<'a, Option<SqliteConnection>>,
    connection: SqliteConnection,
    wal: &'a Wal,
}

impl Turn<'_> {
    pub(super) fn connection(&mut self) -> &mut SqliteConnection {
        &mut self.connection
    }

    /// Once this is durable, pages as they were before it must not stay in the write-ahead log.
    pub(super) fn leaves_no_old_pages(&mut self) {
        self.wal.must_be_truncated();
    }

    /// Refuses to write under an epoch that is not the database's any more.
    pub(super) async fn check_epoch(&mut self, epoch: u64) -> Result<(), AppendError> {
        let current: i64 = sqlx::query_scalar("SELECT epoch FROM writer")
            .fetch_one(&mut self.connection)
            .await
            .map_err(StoreError::from)?;
        let current_epoch = current.cast_unsigned();
        if current_epoch == epoch {
            return Ok(());
        }
        Err(AppendError::Fenced {
            epoch,
            current_epoch,
        })
    }

    /// Makes everything durable, which was about that much. After an error it is unknown whether it
    /// is.
    pub(super) async fn commit(mut self, bytes: u64) -> Result<(), StoreError> {
        execute(&mut self.connection, "COMMIT").await?;
        self.wal.truncate_if_due(&mut self.connection).await;
        *self.slot = Some(self.connection);
        self.wal.wrote(bytes);
        Ok(())
    }

    pub(super) async fn roll_back(mut self) {
        match execute(&mut self.connection, "ROLLBACK").await {
            Ok(()) => *self.slot = Some(self.connection),
            // SQLite rolled back by itself, or cannot: either way the connection goes.
            Err(error) => tracing::debug!(%error, "the writer connection is replaced"),
        }
    }
}

async fn execute(connection: &mut SqliteConnection, sql: &'static str) -> Result<(), StoreError> {
    sqlx::query(sql).execute(connection).await?;
    Ok(())
}
