//! What can go wrong in SQLite, sorted by what the operator does about it.

use std::fmt;
use std::path::PathBuf;

use sqlx::migrate::MigrateError;
use thiserror::Error;
use x811_eventlog::{AppendError, ReadError};
use x811_ledger::port::DamagedRow;

use super::open_files::Displaced;
use crate::file_fault::next_step;
use crate::postgres::PostgresError;
use crate::purpose::Sealed;

/// Why a data directory could not be opened.
#[derive(Debug, Error)]
pub enum OpenError {
    /// Another process holds the lock.
    #[error(
        "another process owns the data directory {}; stop it (a ledger has one writer), or choose \
         another directory. Auditing needs no ownership: open it read-only", directory.display()
    )]
    Owned {
        /// The data directory.
        directory: PathBuf,
    },
    /// A read-only open of a directory without a ledger.
    #[error(
        "there is no ledger in {}; check the path, or start a ledger there first",
        directory.display()
    )]
    NoLedger {
        /// The data directory.
        directory: PathBuf,
    },
    /// The database was written by another version.
    #[error(
        "{} has schema version {found}, this program reads {expected}; {}",
        file.display(),
        if found < expected {
            "start the ledger once with this version, which migrates it"
        } else {
            "use the version of x811 that wrote it"
        }
    )]
    Schema {
        /// The database file.
        file: PathBuf,
        /// Version of its last migration.
        found: i64,
        /// Version of the last migration this program knows.
        expected: i64,
    },
    /// The tables could not be made or brought up to date.
    #[error(
        "the tables of {} could not be brought up to date ({source}): mend that, or use the program \
         version that wrote it, or a newer one", file.display()
    )]
    Migration {
        /// The database file.
        file: PathBuf,
        /// What the migrator reported.
        source: MigrateError,
    },
    /// A file or the directory could not be made or read.
    #[error("{} could not be used ({source}): {}", path.display(), next_step(path, source))]
    File {
        /// The file or directory.
        path: PathBuf,
        /// What the system reported.
        source: std::io::Error,
    },
    /// The write-ahead log changed on the disk.
    #[error(
        "{} does not hold what was written at frame {frame}, and {commits} commits that it was to \
         keep would be lost without a word: the disk changed it. Restore a backup; to keep what can \
         be read before that frame, copy the directory, and see what `x811 doctor` of the copy says",
        file.display()
    )]
    Wal {
        /// The write-ahead log.
        file: PathBuf,
        /// The first frame that does not hold, from 1; 0 is the head of the file.
        frame: u64,
        /// Commits at it and behind it, as far as can be told.
        commits: u64,
    },
    /// A directory whose log is in a database was opened without it.
    #[error(
        "the log of the ledger in {} is in a PostgreSQL database: give its address with --store-url. \
         Without it a second log would begin under the same keys", directory.display()
    )]
    InDatabase {
        /// The data directory.
        directory: PathBuf,
    },
    /// A directory that has the read model of a ledger, and no log.
    #[error(
        "{} has the read model of a ledger (read.db) and no log. If the log is in a PostgreSQL \
         database, give its address with --store-url. If it was in ledger.db, that file was removed or \
         its disk is not mounted: put it back, or restore a backup with `x811 restore`. Without either \
         a second log would begin under the same keys", directory.display()
    )]
    NoLog {
        /// The data directory.
        directory: PathBuf,
    },
    /// A directory with a log was opened with a database.
    #[error(
        "{} has a ledger's log of its own, in ledger.db: leave --store-url out, or choose a new data \
         directory for the one in the database", directory.display()
    )]
    InDirectory {
        /// The data directory.
        directory: PathBuf,
    },
    /// The log was moved, or is being copied.
    #[error("{directory}: {sealed}", directory = directory.display())]
    Sealed {
        /// The data directory.
        directory: PathBuf,
        /// Which of these.
        sealed: Sealed,
    },
    /// A PostgreSQL database.
    #[error(transparent)]
    Postgres(#[from] PostgresError),
    /// A cluster of EventStoreDB or KurrentDB.
    #[cfg(feature = "eventstore")]
    #[error(transparent)]
    Kurrent(#[from] crate::kurrent::KurrentError),
    /// A log in EventStoreDB, and a program built without it.
    #[error(
        "the log of this ledger is in EventStoreDB, and this program was built without it: use one \
         built with `--features eventstore`"
    )]
    NoEventStore,
    /// The address of a cluster.
    #[error(transparent)]
    LogUrl(#[from] crate::log_url::NotALogUrl),
    /// What is stored of the log.
    #[error(transparent)]
    Log(ReadError),
    /// SQLite could not open the database.
    #[error("the database {} could not be opened: {source}", file.display())]
    Database {
        /// The database file.
        file: PathBuf,
        /// What the database said.
        source: StoreError,
    },
}

/// What SQLite reported, by what to do about it. It travels inside [`AppendError::Backend`],
/// [`AppendError::OutcomeUnknown`] and [`ReadError::Backend`].
#[derive(Debug, Error)]
pub enum StoreError {
    /// A key that is unique for ever is taken.
    #[error(
        "{key} of the batch is stored already; nothing of the batch was stored. Look it up before \
         deciding again"
    )]
    Duplicate {
        /// The unique key that is taken already.
        key: UniqueKey,
        /// What SQLite reported, where it was asked.
        source: Option<sqlx::Error>,
    },
    /// No room for the batch.
    #[error("the disk is full; make room on it, then start again")]
    DiskFull(#[source] sqlx::Error),
    /// Somebody outside this program holds the database.
    #[error("another program holds a lock on the database; close it there (a shell, a backup)")]
    Busy(#[source] sqlx::Error),
    /// The file is not what SQLite wrote, or cannot be read: SQLite calls both corrupt. So is a value
    /// of another type than its column's.
    #[error(
        "the database file is damaged, or its disk fails to read it; look at the system's log, and \
         only if the disk is well restore a copy and audit that"
    )]
    Damaged(#[source] sqlx::Error),
    /// The system could not read or write the file.
    #[error("the disk failed ({0}); look at the system's log, then check the file with an audit")]
    Disk(#[source] sqlx::Error),
    /// The database file, its WAL or its index may not be opened or written.
    #[error(
        "the database file, its -wal or its -shm may not be opened or written; check owner and mode of \
         the files in the data directory, and that its file system is mounted for writing"
    )]
    NotPermitted(#[source] sqlx::Error),
    /// What was written is in a file that its path does not name any more.
    #[error(
        "{0}: what was written to it may be gone with this process, and is acknowledged to nobody"
    )]
    Displaced(Displaced),
    /// Opened for reading only.
    #[error("this store was opened read-only; open it as its owner to write")]
    ReadOnly,
    /// Rows must follow the log without a gap.
    #[error(
        "the changes go from record {old_size} to {new_size}, but the rows reflect \
         {applied_size} records; apply from there"
    )]
    NotNext {
        /// Records the batch begins after.
        old_size: u64,
        /// Records the rows would reflect.
        new_size: u64,
        /// Records the rows reflect.
        applied_size: u64,
    },
    /// A value that this program never writes.
    #[error(
        "table {table} holds {what}; restore the file from a copy, or rebuild it if it is read.db"
    )]
    BadValue {
        /// Name of the table.
        table: &'static str,
        /// What was found there.
        what: String,
    },
    /// A row of the read model that is not as it was written.
    #[error("{0}")]
    Row(#[source] DamagedRow),
    /// Any fault that has no variant of its own.
    #[error("SQLite failed: {0}")]
    Other(#[source] sqlx::Error),
}

/// A key that is unique for ever.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum UniqueKey {
    /// Place of a record in the log.
    Position,
    /// Position of a body.
    Body,
    /// Id of an accepted envelope.
    EnvelopeId,
    /// Idempotency tag of a REQUEST.
    IdempotencyTag,
    /// A claimed transfer.
    Claim,
    /// Position of an erased body.
    Erased,
    /// Recipient and position of a delivery.
    Delivery,
    /// Place of a record in its stream.
    StreamPlace,
    /// Level and place of a tile.
    Tile,
    /// Kind and id of a subject.
    Subject,
    /// Position of a registration.
    Agent,
    /// An agent and the position of a record that moved its trust.
    Trust,
}

impl fmt::Display for UniqueKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            UniqueKey::Position => "a position",
            UniqueKey::Body => "the position of a body",
            UniqueKey::EnvelopeId => "an envelope id",
            UniqueKey::IdempotencyTag => "an idempotency tag",
            UniqueKey::Claim => "a claimed transfer",
            UniqueKey::Erased => "the position of an erased body",
            UniqueKey::Delivery => "a delivery",
            UniqueKey::StreamPlace => "a place in a stream",
            UniqueKey::Tile => "a tile",
            UniqueKey::Subject => "a subject",
            UniqueKey::Agent => "the position of a registration",
            UniqueKey::Trust => "a change of trust",
        })
    }
}

impl OpenError {
    /// Whether the database holds no ledger, and else is what it should be.
    #[must_use]
    pub fn is_no_ledger(&self) -> bool {
        matches!(self, OpenError::Postgres(PostgresError::NoLedger))
    }

    /// Whether it may go by itself: a database that is down, or is changing its primary.
    #[must_use]
    pub fn may_pass(&self) -> bool {
        matches!(
            self,
            OpenError::Postgres(
                PostgresError::Unreachable(_)
                    | PostgresError::Other(_)
                    | PostgresError::Standby
                    | PostgresError::TooFewStandbys { .. }
            )
        )
    }

    /// Why nobody may write to the log, where that is so.
    #[must_use]
    pub const fn sealed(&self) -> Option<Sealed> {
        if let OpenError::Sealed { sealed, .. }
        | OpenError::Postgres(PostgresError::Sealed(sealed)) = self
        {
            return Some(*sealed);
        }
        None
    }

    /// Returns true if a stream and the database beside it have different records.
    #[must_use]
    pub const fn is_difference(&self) -> bool {
        #[cfg(feature = "eventstore")]
        if let OpenError::Kurrent(crate::kurrent::KurrentError::Differs { .. }) = self {
            return true;
        }
        false
    }

    /// Returns true if the state of a stream keeps its ledger from writing until somebody repairs it.
    #[must_use]
    pub const fn is_suspension(&self) -> bool {
        #[cfg(feature = "eventstore")]
        if let OpenError::Kurrent(error) = self {
            return error.is_repairable();
        }
        false
    }

    /// Whether the file holds something else than this program wrote to it, and not that it could
    /// not be had.
    #[must_use]
    pub const fn is_damage(&self) -> bool {
        match self {
            OpenError::Database { source, .. } => source.is_damage_of_rows(),
            OpenError::Migration { .. } | OpenError::Schema { .. } | OpenError::Wal { .. } => true,
            OpenError::Owned { .. }
            | OpenError::NoLedger { .. }
            | OpenError::File { .. }
            | OpenError::InDatabase { .. }
            | OpenError::NoLog { .. }
            | OpenError::InDirectory { .. }
            | OpenError::Sealed { .. }
            | OpenError::Postgres(_)
            | OpenError::NoEventStore
            | OpenError::LogUrl(_)
            | OpenError::Log(_) => false,
            #[cfg(feature = "eventstore")]
            OpenError::Kurrent(_) => false,
        }
    }
}

impl StoreError {
    /// Whether the file holds something else than was written to it.
    #[must_use]
    pub const fn is_damage(&self) -> bool {
        matches!(
            self,
            StoreError::Damaged(_) | StoreError::BadValue { .. } | StoreError::Row(_)
        )
    }

    /// Whether rows that this happened to are better written anew: they follow from the log.
    #[must_use]
    pub const fn is_damage_of_rows(&self) -> bool {
        matches!(
            self,
            StoreError::Damaged(_)
                | StoreError::BadValue { .. }
                | StoreError::Row(_)
                | StoreError::Duplicate { .. }
                | StoreError::NotNext { .. }
                | StoreError::Other(_)
        )
    }

    /// The same error with the row of `table` that it is about, if it is about a value in a row.
    pub(super) fn of_row(self, table: &'static str, row: impl FnOnce() -> String) -> Self {
        let what = if let StoreError::BadValue { what, .. } = &self {
            what.clone()
        } else if let StoreError::Damaged(
            source @ (sqlx::Error::ColumnDecode { .. } | sqlx::Error::Decode(_)),
        ) = &self
        {
            source.to_string()
        } else {
            return self;
        };
        let row = row();
        StoreError::Row(DamagedRow { table, row, what })
    }

    /// Sorts a failed insert into the table that `key` is unique in.
    pub(super) fn of_insert(key: UniqueKey, source: sqlx::Error) -> Self {
        /// The key itself, and the triggers that guard it.
        const TAKEN: [i32; 4] = [
            1555, // SQLITE_CONSTRAINT_PRIMARYKEY
            1811, // SQLITE_CONSTRAINT_TRIGGER
            2067, // SQLITE_CONSTRAINT_UNIQUE
            2579, // SQLITE_CONSTRAINT_ROWID
        ];
        match extended_code(&source) {
            Some(code) if TAKEN.contains(&code) => StoreError::Duplicate {
                key,
                source: Some(source),
            },
            Some(_) | None => source.into(),
        }
    }
}

/// Sorts by the primary result code, see <https://www.sqlite.org/rescode.html>.
impl From<sqlx::Error> for StoreError {
    fn from(source: sqlx::Error) -> Self {
        /// `SQLITE_IOERR_SHMSIZE`: the index of the WAL could not grow.
        const SHM_CANNOT_GROW: i32 = 4874;
        if matches!(
            source,
            sqlx::Error::ColumnDecode { .. } | sqlx::Error::Decode(_)
        ) {
            return StoreError::Damaged(source);
        }
        let extended = extended_code(&source);
        match extended.map(|code| code & 0xff) {
            Some(13) => StoreError::DiskFull(source),
            Some(10) if extended == Some(SHM_CANNOT_GROW) => StoreError::DiskFull(source),
            Some(5 | 6) => StoreError::Busy(source),
            Some(11 | 26) => StoreError::Damaged(source),
            Some(10) => StoreError::Disk(source),
            Some(3 | 8 | 14 | 23) => StoreError::NotPermitted(source),
            Some(_) | None => StoreError::Other(source),
        }
    }
}

impl From<StoreError> for AppendError {
    fn from(error: StoreError) -> Self {
        AppendError::Backend(Box::new(error))
    }
}

impl From<StoreError> for ReadError {
    fn from(error: StoreError) -> Self {
        ReadError::Backend(Box::new(error))
    }
}

fn extended_code(error: &sqlx::Error) -> Option<i32> {
    error.as_database_error()?.code()?.parse().ok()
}
