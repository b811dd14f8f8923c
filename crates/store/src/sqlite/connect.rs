//! How connections are opened: pragmas, migrations, pools.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::fs::{Access, access};
use sqlx::migrate::{MigrateError, Migrator};
use sqlx::sqlite::{
    SqliteConnectOptions, SqliteConnection, SqliteJournalMode, SqliteLockingMode, SqliteSynchronous,
};
use sqlx::{ConnectOptions, Connection};

use super::data_dir::{COMPANIONS, beside};
use super::error::{OpenError, StoreError};
use super::open_files::OpenFiles;
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
        let exists = self.file().try_exists();
        let exists = exists.map_err(|source| OpenError::File {
            path: self.file().to_owned(),
            source,
        });
        if !exists? {
            return Err(no_ledger());
        }
        let (readers, found) = self
            .read_somehow()
            .await
            .map_err(|error| self.failed(error))?;
        let Some(found) = found else {
            return Err(no_ledger());
        };
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
        Ok(readers)
    }

    /// Connections that read, and the version of the tables. Without the index of the write-ahead log
    /// where SQLite can neither open nor make it.
    async fn read_somehow(&self) -> Result<(Readers, Option<i64>), StoreError> {
        let readers = self.readers();
        let error = match version(&readers).await {
            Err(error @ StoreError::NotPermitted(_)) => error,
            read => return Ok((readers, read?)),
        };
        let Some(unindexed) = self.unindexed() else {
            return Err(error);
        };
        let readers = Readers::new(unindexed);
        let found = version(&readers).await?;
        Ok((readers, found))
    }

    /// Options that need no index of the write-ahead log: no process has the database open for writing,
    /// which would have made one. `None` where there is an index.
    fn unindexed(&self) -> Option<SqliteConnectOptions> {
        let [wal, index] = COMPANIONS.map(|suffix| beside(self.file(), suffix).try_exists());
        if !matches!(index, Ok(false)) {
            return None;
        }
        let read = self.read.clone();
        Some(match wal {
            // All there is lies in the database.
            Ok(false) => read.immutable(true),
            // With an exclusive connection the index is in memory, and this VFS of SQLite's takes no
            // locks, which cannot be exclusive on a file that is open for reading.
            Ok(true) | Err(_) => read
                .vfs("unix-none")
                .locking_mode(SqliteLockingMode::Exclusive),
        })
    }

    /// The files of this database that are open now.
    pub(super) fn open_files(&self) -> OpenFiles {
        let file = self.file();
        let companions = COMPANIONS.map(|suffix| beside(file, suffix));
        OpenFiles::of([file.to_owned()].into_iter().chain(companions))
    }

    pub(super) fn file(&self) -> &Path {
        self.write.get_filename()
    }

    /// The error of a database that could not be opened; where a file may not be used, of that file.
    pub(super) fn failed(&self, source: StoreError) -> OpenError {
        if let StoreError::NotPermitted(_) = &source
            && let Some((path, source)) = refused(self.file())
        {
            return OpenError::File { path, source };
        }
        OpenError::Database {
            file: self.file().to_owned(),
            source,
        }
    }
}

/// The file of a database that this process may not read; else the one, or the directory, that it may
/// not write.
fn refused(file: &Path) -> Option<(PathBuf, io::Error)> {
    let [wal, index] = COMPANIONS.map(|suffix| beside(file, suffix));
    let mut files = vec![file.to_owned(), wal, index];
    files.retain(|path| path.exists());
    let directory = file.parent().filter(|it| !it.as_os_str().is_empty());
    let written = files.iter().map(PathBuf::as_path).chain(directory);
    let wanted = files.iter().map(|path| (path.as_path(), Access::READ_OK));
    let mut wanted = wanted.chain(written.map(|path| (path, Access::WRITE_OK)));
    // The system is asked: to open a file and close it again would end SQLite's locks on it.
    wanted.find_map(|(path, wanted)| {
        let error = access(path, wanted).err()?;
        Some((path.to_owned(), error.into()))
    })
}

/// Version of the last migration; `None` where none has run.
async fn version(readers: &Readers) -> Result<Option<i64>, StoreError> {
    let mut reader = readers.get().await?;
    let is_migrated: bool = sqlx::query_scalar(
        "SELECT EXISTS (SELECT 1 FROM sqlite_schema WHERE name = '_sqlx_migrations')",
    )
    .fetch_one(&mut *reader)
    .await?;
    if !is_migrated {
        return Ok(None);
    }
    let found = sqlx::query_scalar("SELECT coalesce(max(version), 0) FROM _sqlx_migrations");
    Ok(Some(found.fetch_one(&mut *reader).await?))
}

/// Ends a connection in order; what fails here was durable before.
pub(super) async fn close(connection: SqliteConnection) {
    if let Err(error) = connection.close().await {
        tracing::warn!(%error, "a database connection did not close cleanly");
    }
}
