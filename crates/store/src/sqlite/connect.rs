//! How connections are opened: pragmas, migrations, pools.

use std::path::Path;
use std::time::Duration;

use sqlx::migrate::{MigrateError, Migrator};
use sqlx::sqlite::{SqliteConnectOptions, SqliteConnection, SqliteJournalMode, SqliteSynchronous};
use sqlx::{ConnectOptions, Connection};

use super::error::{OpenError, StoreError};
use super::readers::Readers;

/// Rows that a reader's thread may be ahead of who asked: a page, or the two take turns row by row.
const ROWS_AHEAD: usize = 1_024;

/// WAL readers and the one writer do not wait for each other. What is waited for is a connection
/// that is still closing, or a shell somebody left open.
const BUSY_TIMEOUT: Duration = Duration::from_secs(2);

/// One database file and how it is written.
#[derive(Debug, Clone)]
pub(super) struct Database {
    write: SqliteConnectOptions,
    read: SqliteConnectOptions,
    migrator: &'static Migrator,
}

impl Database {
    pub(super) fn new(
        file: &Path,
        synchronous: SqliteSynchronous,
        migrator: &'static Migrator,
    ) -> Self {
        let shared = SqliteConnectOptions::new()
            .filename(file)
            .foreign_keys(false)
            .busy_timeout(BUSY_TIMEOUT)
            // Batches are long statements; nobody wants them in a log.
            .disable_statement_logging();
        let write = shared
            .clone()
            .journal_mode(SqliteJournalMode::Wal)
            .synchronous(synchronous)
            // A record and its body are 2 kB: more of a page is used than of one of 4 KiB, and there
            // are fewer to write. Files that exist keep theirs.
            .page_size(8_192)
            // A WAL that grew under a long read shrinks again, to 64 MiB.
            .pragma("journal_size_limit", "67108864")
            // It is moved beside the commits; should that fail, by a commit, at 64 MiB.
            .pragma("wal_autocheckpoint", "16384")
            .pragma("temp_store", "MEMORY")
            // No page that was packed anew keeps what was in it before.
            .pragma("secure_delete", "ON")
            // 16 MiB of pages: the inner nodes of the indexes on random keys.
            .pragma("cache_size", "-16384");
        Self {
            write,
            read: shared.read_only(true).row_buffer_size(ROWS_AHEAD),
            migrator,
        }
    }

    /// A connection that writes. The file must exist.
    pub(super) async fn writer(&self) -> Result<SqliteConnection, StoreError> {
        Ok(self.write.connect().await?)
    }

    /// A connection that writes, to tables that are up to date.
    pub(super) async fn migrated_writer(&self) -> Result<SqliteConnection, OpenError> {
        let mut connection = self.writer().await.map_err(|error| self.failed(error))?;
        self.migrator
            .run_direct(None, &mut connection, false)
            .await
            .map_err(|error| self.not_migrated(error))?;
        Ok(connection)
    }

    fn not_migrated(&self, source: MigrateError) -> OpenError {
        // The disk or the file, not the tables.
        if let MigrateError::Execute(error) = source {
            return self.failed(error.into());
        }
        OpenError::Migration {
            file: self.file().to_owned(),
            source,
        }
    }

    /// Connections that read, opened when they are needed.
    pub(super) fn readers(&self) -> Readers {
        Readers::new(self.read.clone())
    }

    /// Connections that read, if the tables are those this program knows.
    pub(super) async fn checked_readers(&self, directory: &Path) -> Result<Readers, OpenError> {
        let no_ledger = || OpenError::NoLedger {
            directory: directory.to_owned(),
        };
        if !self.file().exists() {
            return Err(no_ledger());
        }
        let readers = self.readers();
        let mut reader = readers.get().await.map_err(|error| self.failed(error))?;
        let is_migrated: bool = sqlx::query_scalar(
            "SELECT EXISTS (SELECT 1 FROM sqlite_schema WHERE name = '_sqlx_migrations')",
        )
        .fetch_one(&mut *reader)
        .await
        .map_err(|error| self.failed(error.into()))?;
        if !is_migrated {
            return Err(no_ledger());
        }
        let found: i64 =
            sqlx::query_scalar("SELECT coalesce(max(version), 0) FROM _sqlx_migrations")
                .fetch_one(&mut *reader)
                .await
                .map_err(|error| self.failed(error.into()))?;
        let expected = self
            .migrator
            .iter()
            .map(|migration| migration.version)
            .max()
            .unwrap_or(0);
        if found != expected {
            return Err(OpenError::Schema {
                file: self.file().to_owned(),
                found,
                expected,
            });
        }
        drop(reader);
        Ok(readers)
    }

    pub(super) fn file(&self) -> &Path {
        self.write.get_filename()
    }

    pub(super) fn failed(&self, source: StoreError) -> OpenError {
        OpenError::Database {
            file: self.file().to_owned(),
            source,
        }
    }
}

/// Ends a connection in order; what fails here was durable before.
pub(super) async fn close(connection: SqliteConnection) {
    if let Err(error) = connection.close().await {
        tracing::warn!(%error, "a database connection did not close cleanly");
    }
}
