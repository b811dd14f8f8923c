//! What can go wrong with PostgreSQL, sorted by what the operator does about it.

use sqlx::migrate::MigrateError;
use thiserror::Error;
use x811_eventlog::{AppendError, ReadError};

use crate::purpose::Sealed;

/// Why PostgreSQL cannot be used, or did not do what it was asked. No URL and no password is in it.
#[derive(Debug, Error)]
pub enum PostgresError {
    /// The address cannot be read.
    #[error(
        "the store's URL is none of PostgreSQL's: write postgres://USER@HOST/DATABASE, and see \
         docs/scale.md. The password may be in PGPASSWORD or ~/.pgpass"
    )]
    Url,
    /// No connection, or it broke.
    #[error(
        "the database could not be reached, or the connection broke ({0}): see to it, then start again"
    )]
    Unreachable(#[source] sqlx::Error),
    /// A release whose standbys or WAL are known to lose what was acknowledged.
    #[error(
        "the database is PostgreSQL {found}: the ledger needs 15.13, 16.9, 17.5 or newer; upgrade it"
    )]
    Version {
        /// As the server says.
        found: String,
    },
    /// A standby was named.
    #[error(
        "this database is a standby and takes no writes: name the primary, or promote this one as \
         docs/scale.md says"
    )]
    Standby,
    /// A standby of this database was promoted, and this ledger has written there.
    #[error(
        "this database is on timeline {found}, and this ledger has gone on on timeline {noted}: it is an \
         old primary that came back. Name the one that was promoted, and let this one follow it \
         (pg_rewind). Only if this one was restored on purpose, move the file `timeline` beside the \
         checkpoint away"
    )]
    OldTimeline {
        /// The timeline that the database is on.
        found: u32,
        /// The one that was noted on this host.
        noted: u32,
    },
    /// The tables are another version's.
    #[error(
        "the tables could not be made or brought up to date ({0}): let the owner of the schema do \
         it once, or use the program version that wrote them, or a newer one"
    )]
    Migration(#[source] MigrateError),
    /// Somebody else writes.
    #[error(
        "another process is the writer of this ledger (its lease was renewed {age_ms} ms ago): stop \
         it, or wait until it has stopped; a ledger has one writer"
    )]
    Held {
        /// How long ago, by the database's clock.
        age_ms: u64,
    },
    /// The lease of this process has run out, though nobody else has it.
    #[error(
        "this process did not renew its lease within 3 s, and nothing was recorded: it renews it once the \
         database answers and no peer is ahead. See to the database and to the connection with it"
    )]
    RanOut,
    /// The log was moved, or is being copied.
    #[error(transparent)]
    Sealed(#[from] Sealed),
    /// A key that is unique for ever is taken.
    #[error(
        "{constraint} of the batch is stored already; nothing of the batch was stored. Look it up \
         before deciding again"
    )]
    Duplicate {
        /// The constraint that was broken.
        constraint: String,
    },
    /// What is committed does not reach as many standbys as must have it.
    #[error(
        "{confirmed} of the standbys {standbys} have what was committed, {needed} must: see to them, \
         and to synchronous_standby_names; the role needs pg_read_all_stats to see them"
    )]
    TooFewStandbys {
        /// Those that have it.
        confirmed: u64,
        /// Those that must.
        needed: u64,
        /// The names that count.
        standbys: String,
    },
    /// Commits do not wait for the standbys that were configured.
    #[error(
        "synchronous_standby_names is {found:?}, it must be 'ANY {needed} ({standbys})': set it on \
         the primary and reload it"
    )]
    Names {
        /// As it is set.
        found: String,
        /// How many must have a commit.
        needed: u64,
        /// The names that count.
        standbys: String,
    },
    /// The settings that a session begins with are refused, which no PostgreSQL server does.
    #[error(
        "a pooler refused the settings of the ledger's session ({refusal}): name the database server itself. \
         A pooler that keeps one session for a client can be used as docs/scale.md says"
    )]
    Pooler {
        /// The text of the pooler's refusal.
        refusal: String,
    },
    /// A setting of the ledger's session has not taken effect.
    #[error(
        "{name} is {found:?} in the ledger's session and must be {due:?}: the ledger sets it when it connects, \
         and a pooler dropped that. Name the database server itself. Behind a pooler that keeps one session for \
         a client (pool_mode = session), run `ALTER ROLE CURRENT_USER SET {name} = '{due}'`"
    )]
    Dropped {
        /// Name of the setting.
        name: &'static str,
        /// Its value in the session.
        found: String,
        /// The value that it needs.
        due: String,
    },
    /// Sessions may not write.
    #[error(
        "{name} is {found:?} and must be {due:?}, or nothing can be recorded: a server may set it because its \
         disk is full, so find out why it is set. Then run `ALTER ROLE CURRENT_USER RESET {name}`, or `ALTER \
         DATABASE … RESET {name}` where the database has it"
    )]
    NotWritable {
        /// Name of the setting.
        name: &'static str,
        /// Its value in the session.
        found: String,
        /// The value that it needs.
        due: String,
    },
    /// Commits do not wait for the disk.
    #[error("synchronous_commit is {found:?}, it must be on: what is acknowledged must be durable")]
    Asynchronous {
        /// As it is set.
        found: String,
    },
    /// What was published is not there any more.
    #[error(
        "the database lacks records before {size}, which were published: it was restored, or another \
         server was promoted than one that had them. See docs/scale.md, and docs/operate.md"
    )]
    Vanished {
        /// Records that were published.
        size: u64,
    },
    /// Opened for reading only.
    #[error("this store was opened read-only; open it as its owner to write")]
    ReadOnly,
    /// There is no ledger in the database.
    #[error(
        "the database holds no ledger in this schema: check the URL, or start a ledger there first"
    )]
    NoLedger,
    /// A value that this program never writes.
    #[error("table {table} holds {what}: restore the database from a backup")]
    BadValue {
        /// Name of the table.
        table: &'static str,
        /// What was found there.
        what: String,
    },
    /// What only a data directory can.
    #[error(
        "a ledger in PostgreSQL is backed up with PostgreSQL's own tools (pg_basebackup, WAL \
         archiving); `x811 export` writes the log, and keys and checkpoint are files as ever"
    )]
    NotHere,
    /// Any fault that has no variant of its own.
    #[error("PostgreSQL failed: {0}")]
    Other(#[source] sqlx::Error),
}

impl PostgresError {
    /// Sorts the reason why a session could not begin.
    pub(super) fn of_connecting(error: sqlx::Error) -> PostgresError {
        let refusal = error.as_database_error();
        let refusal = refusal.map(|refusal| refusal.message().to_owned());
        match refusal {
            // PgBouncer's words. PostgreSQL says "configuration parameter".
            Some(refusal) if refusal.contains("startup parameter") => {
                PostgresError::Pooler { refusal }
            }
            Some(_) | None => error.into(),
        }
    }

    /// Sorts the reason why the tables could not be brought up to date: a connection that was lost meanwhile
    /// says nothing about the tables.
    pub(super) fn of_migrating(error: MigrateError) -> PostgresError {
        let is_lost = matches!(
            &error,
            MigrateError::Execute(cause) | MigrateError::ExecuteMigration(cause, _) if is_lost(cause)
        );
        if is_lost {
            PostgresError::Unreachable(error.into())
        } else {
            PostgresError::Migration(error)
        }
    }

    /// Sorts what happened to a write: `None` where it is unknown whether it was done. Error classes
    /// of PostgreSQL, appendix A.
    pub(super) fn of_write(error: sqlx::Error) -> Result<PostgresError, sqlx::Error> {
        let Some(found) = error.as_database_error() else {
            return Err(error);
        };
        let code = found.code().unwrap_or_default();
        // Ended by somebody while it may have waited for standbys, or lost: it may be durable.
        if ["57", "08", "XX", "40003"]
            .iter()
            .any(|class| code.starts_with(class))
        {
            return Err(error);
        }
        if code == "23505" {
            let constraint = found.constraint().unwrap_or("a key").to_owned();
            return Ok(PostgresError::Duplicate { constraint });
        }
        Ok(PostgresError::Other(error))
    }
}

impl From<sqlx::Error> for PostgresError {
    fn from(error: sqlx::Error) -> PostgresError {
        if is_lost(&error) {
            PostgresError::Unreachable(error)
        } else {
            PostgresError::Other(error)
        }
    }
}

/// Returns true if there is no connection, or the server ended it: PostgreSQL, appendix A, class 08 and
/// 57P01 to 57P05.
fn is_lost(error: &sqlx::Error) -> bool {
    let code = error.as_database_error().and_then(|refused| refused.code());
    matches!(
        error,
        sqlx::Error::Io(_) | sqlx::Error::Tls(_) | sqlx::Error::PoolTimedOut
    ) || code.is_some_and(|code| code.starts_with("08") || code.starts_with("57P"))
}

impl From<PostgresError> for AppendError {
    fn from(error: PostgresError) -> AppendError {
        AppendError::Backend(Box::new(error))
    }
}

impl From<PostgresError> for ReadError {
    fn from(error: PostgresError) -> ReadError {
        ReadError::Backend(Box::new(error))
    }
}
