//! The ledger's store: the log and what is committed with it.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

use x811_eventlog::{AppendError, Head, ReadError, Record};
use x811_ledger::port::{Body, Commit, IndexCounts, LedgerStore, SpentNonce};
use x811_protocol::digest::Digest;
use x811_protocol::event::Claim;
use x811_protocol::evm::{ChainId, TxHash};
use x811_protocol::id::EnvelopeId;
use x811_protocol::time::TimestampMs;

use super::copy;
use super::data_dir::DataDir;
use super::error::{OpenError, StoreError};
use super::indexes;
use super::log::SqliteLog;
use super::open_files::Displaced;
use super::own_thread;
use super::tags;
use crate::purpose::Purpose;
use crate::sole::sole;

/// Log, bodies, nonce journal and decision indexes in `ledger.db` of a data directory.
///
/// All of a [`Commit`] goes into one transaction. There is one writer: an exclusive lock on the
/// directory keeps a second process out, and a writer epoch, raised at every open and checked in
/// every transaction, fences out a process that lost the lock without noticing, as on a network
/// file system (ledger-contract.md section 2).
#[derive(Debug)]
pub struct SqliteStore {
    /// Shared with the commit that is being made.
    log: Arc<SqliteLog>,
}

impl SqliteStore {
    /// Becomes the writer of `data_dir`, which is made if it does not exist.
    ///
    /// # Errors
    ///
    /// [`OpenError::Owned`] when another process is the writer; see there for the others.
    pub async fn open(data_dir: &Path) -> Result<SqliteStore, OpenError> {
        SqliteStore::open_for(Purpose::Ledger, data_dir).await
    }

    /// The same, to write what `purpose` says.
    pub(crate) async fn open_for(
        purpose: Purpose,
        data_dir: &Path,
    ) -> Result<SqliteStore, OpenError> {
        let log = Arc::new(SqliteLog::open(purpose, data_dir, tags::KEPT).await?);
        Ok(SqliteStore { log })
    }

    /// As a ledger, with so many idempotency tags that wait to be filed.
    #[cfg(test)]
    pub(super) async fn keeping(data_dir: &Path, tags: usize) -> Result<SqliteStore, OpenError> {
        let log = Arc::new(SqliteLog::open(Purpose::Ledger, data_dir, tags).await?);
        Ok(SqliteStore { log })
    }

    /// Reads `data_dir` beside whoever owns it: no lock, no epoch, no migration, no write. The
    /// [crate] documentation says which files must be accessible. Writing is refused with
    /// [`StoreError::ReadOnly`].
    ///
    /// # Errors
    ///
    /// [`OpenError::NoLedger`], [`OpenError::Schema`] or [`OpenError::Database`].
    pub async fn open_read_only(data_dir: &Path) -> Result<SqliteStore, OpenError> {
        let log = Arc::new(SqliteLog::open_read_only(data_dir).await?);
        Ok(SqliteStore { log })
    }

    /// What is wrong with the form of `ledger.db` and of its write-ahead log, sentence by sentence;
    /// empty when nothing is. May be asked while the ledger runs.
    ///
    /// # Errors
    ///
    /// When the file cannot be read.
    pub async fn problems(&self, data_dir: &Path) -> Result<Vec<String>, StoreError> {
        let mut problems = wal_problems(&DataDir::at(data_dir).ledger());
        problems.extend(self.log.problems().await?);
        Ok(problems)
    }

    /// Copies everything, as of one commit, into the directory `target`, which has no ledger yet.
    /// May be done while the ledger runs; the copy is durable when this returns.
    ///
    /// # Errors
    ///
    /// [`OpenError::File`], also when the file is there already, or [`OpenError::Database`].
    pub async fn copy_to(&self, target: &Path) -> Result<(), OpenError> {
        let target = DataDir::create(target)?;
        copy::copy(self.log.readers(), &target.ledger()).await
    }

    /// The first of the open files that its path does not name any more. Nothing is acknowledged any
    /// more then, and the ledger has to end.
    #[must_use]
    pub fn displaced(&self) -> Option<Displaced> {
        self.log.displaced()
    }

    /// Moves the open write-ahead log into the open database, so that this file has every commit,
    /// whatever its path is. `false` where that is not done, or not known to be.
    pub async fn settle(&self) -> bool {
        self.log.settle().await
    }

    /// Writes everything from the open files into the directory `target`, whatever their paths name.
    ///
    /// # Errors
    ///
    /// [`OpenError::File`], also when the file is there already, or [`OpenError::Database`].
    pub async fn rescue(&self, target: &Path) -> Result<(), OpenError> {
        let target = DataDir::create(target)?;
        self.log.rescue(&target.ledger()).await
    }

    /// Gives the log the epoch `epoch`: whoever wrote so far, this writer included, is fenced out.
    pub(crate) async fn hand_over(&self, epoch: u64) -> Result<(), AppendError> {
        self.log.hand_over(epoch).await
    }

    /// Closes the database in order and gives the directory free. Dropping the store does so too,
    /// only later and without waiting.
    pub async fn close(self) {
        sole(self.log).await.close().await;
    }
}

impl LedgerStore for SqliteStore {
    type Log = SqliteLog;

    fn log(&self) -> &SqliteLog {
        &self.log
    }

    async fn records(&self, positions: &[u64]) -> Result<Vec<Record>, ReadError> {
        self.log.records(positions).await
    }

    async fn commit(&self, commit: Commit) -> Result<Head, AppendError> {
        let expected_size = commit.expected_size;
        let log = self.log.clone();
        let committed = own_thread::run(async move { log.commit(&commit).await }).await;
        committed.unwrap_or_else(|error| {
            Err(AppendError::OutcomeUnknown {
                expected_size,
                source: Box::new(StoreError::from(error)),
            })
        })
    }

    async fn frontier(&self) -> Result<Option<(u64, Vec<u8>)>, ReadError> {
        let tree: Option<(i64, Vec<u8>)> = sqlx::query_as("SELECT size, frontier FROM tree")
            .fetch_optional(&mut *self.log.readers().get().await?)
            .await
            .map_err(StoreError::from)?;
        Ok(tree.map(|(size, frontier)| (size.cast_unsigned(), frontier)))
    }

    async fn bodies(&self, positions: &[u64]) -> Result<HashMap<u64, Body>, ReadError> {
        Ok(indexes::bodies(self.log.readers(), positions).await?)
    }

    async fn body_part(
        &self,
        position: u64,
        from: usize,
        most: usize,
    ) -> Result<Option<Vec<u8>>, ReadError> {
        Ok(indexes::body_part(self.log.readers(), position, from, most).await?)
    }

    async fn records_with_bodies(
        &self,
        positions: &[u64],
    ) -> Result<(Vec<Record>, HashMap<u64, Body>), ReadError> {
        self.log.records_with_bodies(positions).await
    }

    async fn erased(&self, positions: &[u64]) -> Result<HashMap<u64, u64>, ReadError> {
        Ok(indexes::erased(self.log.readers(), positions).await?)
    }

    async fn idempotency(&self, tags: &[Digest]) -> Result<HashMap<Digest, u64>, ReadError> {
        Ok(self.log.idempotency(tags).await?)
    }

    async fn envelope_positions(
        &self,
        ids: &[EnvelopeId],
    ) -> Result<HashMap<EnvelopeId, u64>, ReadError> {
        Ok(indexes::envelope_positions(self.log.readers(), ids).await?)
    }

    async fn claims(
        &self,
        chain_id: ChainId,
        tx_hashes: &[TxHash],
    ) -> Result<Vec<(Claim, u64)>, ReadError> {
        Ok(indexes::claims(self.log.readers(), chain_id, tx_hashes).await?)
    }

    async fn index_counts(&self, size: u64) -> Result<IndexCounts, ReadError> {
        Ok(indexes::counts(self.log.readers(), size).await?)
    }

    async fn spent_nonces(&self, since: TimestampMs) -> Result<Vec<SpentNonce>, ReadError> {
        Ok(indexes::spent_nonces(self.log.readers(), since).await?)
    }

    async fn purge_nonces(&self, before: TimestampMs) -> Result<(), AppendError> {
        // The journal is in order of time: only what goes is read, from the front.
        let purge = sqlx::query(
            "DELETE FROM nonce_journal WHERE seq < coalesce(
                 (SELECT seq FROM nonce_journal WHERE at_ms >= ? ORDER BY seq LIMIT 1),
                 9223372036854775807)",
        )
        .bind(before.as_ms().cast_signed());
        self.write_one(purge).await
    }

    async fn last_tick(&self) -> Result<Option<TimestampMs>, ReadError> {
        let at_ms: Option<i64> = sqlx::query_scalar("SELECT at_ms FROM tick")
            .fetch_optional(&mut *self.log.readers().get().await?)
            .await
            .map_err(StoreError::from)?;
        Ok(at_ms.map(|at_ms| TimestampMs::new(at_ms.cast_unsigned())))
    }

    async fn tick(&self, at: TimestampMs) -> Result<(), AppendError> {
        let tick = sqlx::query("INSERT OR REPLACE INTO tick (only_row, at_ms) VALUES (0, ?)")
            .bind(at.as_ms().cast_signed());
        self.write_one(tick).await
    }
}

/// What is wrong with the write-ahead log of a database that somebody may be writing: what is found
/// twice was not just on its way.
pub(super) fn wal_problems(file: &Path) -> Vec<String> {
    let look = || {
        DataDir::check_wal(file)
            .err()
            .map(|error| error.to_string())
    };
    let again = look().map(|first| (look(), first));
    let twice = again.filter(|(second, first)| second.as_ref() == Some(first));
    twice.into_iter().map(|(_, first)| first).collect()
}

type Statement = sqlx::query::Query<'static, sqlx::Sqlite, sqlx::sqlite::SqliteArguments>;

impl SqliteStore {
    /// Runs one statement beside the log in a transaction of its own. What is written here may be
    /// written twice, so an unknown outcome needs no name of its own.
    async fn write_one(&self, statement: Statement) -> Result<(), AppendError> {
        let mut turn = self.log.begin().await?;
        if let Err(error) = statement.execute(turn.connection()).await {
            turn.roll_back().await;
            return Err(StoreError::from(error).into());
        }
        // A page or two.
        Ok(turn.commit(8_192).await?)
    }
}
