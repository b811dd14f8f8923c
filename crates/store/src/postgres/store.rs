//! The ledger's store in PostgreSQL.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use sqlx::migrate::Migrator;
use sqlx::postgres::{PgConnection, PgPool};
use tokio::sync::{Mutex, watch};
use tokio::task::JoinSet;
use x811_eventlog::{AppendError, EventLog, Head, ReadError, Record};
use x811_ledger::port::{Body, Commit, IndexCounts, LedgerStore, SpentNonce};
use x811_protocol::digest::Digest;
use x811_protocol::event::Claim;
use x811_protocol::evm::{ChainId, TxHash};
use x811_protocol::id::EnvelopeId;
use x811_protocol::time::TimestampMs;

use super::assured::{Assured, look_after};
use super::checkpoint::CheckpointRow;
use super::error::PostgresError;
use super::line::{Line, Owner};
use super::moment::Moment;
use super::open::{self, MIGRATIONS, Wait};
use super::published::{self, DatabaseStandby, Follower, Lease, Published, Renewed};
use super::quorum::Quorum;
use super::reading;
use super::renewal::Renewal;
use super::session;
use super::url::StoreUrl;
use crate::purpose::Purpose;
use crate::sole::sole;

/// Most sessions that read.
const MAX_READERS: u32 = 8;

/// How long a question waits for one of them.
const READER_PATIENCE: Duration = Duration::from_secs(5);

/// Log, bodies, nonce journal and decision indexes in a PostgreSQL database.
///
/// All of a [`Commit`] is one statement, which is its own transaction. There is one writer: a lease
/// keeps a second process out while the first one lives, and a writer epoch, raised whenever the
/// lease changes hands and checked in every statement that writes, fences out whoever slept through
/// it (stores.md section 2).
#[derive(Debug)]
pub struct PostgresStore {
    /// Shared with the commit that is being made.
    inner: Arc<Inner>,
    /// Renews the lease, and looks after standbys; ends with this.
    renewal: JoinSet<()>,
    /// That lease, of who writes.
    lease: Option<Lease>,
}

#[derive(Debug)]
struct Inner {
    readers: PgPool,
    /// Absent when the database was opened read-only.
    owner: Option<Arc<Owner>>,
    /// Records known to be stored; where the log is followed, those that are published.
    size: watch::Sender<u64>,
    /// Nothing is shown beyond what is published.
    follows: bool,
}

impl PostgresStore {
    /// Becomes the writer of the ledger in the database, whose tables are made where they are missing
    /// and may be; waits until the lease of a writer that was killed has run out. With a `quorum`
    /// nothing is acknowledged, and nothing found at the start believed, before the standbys have it.
    ///
    /// # Errors
    /// [`PostgresError`].
    pub async fn open(
        url: &StoreUrl,
        quorum: Option<Quorum>,
    ) -> Result<PostgresStore, PostgresError> {
        PostgresStore::open_for(Purpose::Ledger, url, quorum, Wait::default()).await
    }

    /// The same, to write what `purpose` says.
    pub(crate) async fn open_for(
        purpose: Purpose,
        url: &StoreUrl,
        quorum: Option<Quorum>,
        wait: Wait,
    ) -> Result<PostgresStore, PostgresError> {
        PostgresStore::open_with(&MIGRATIONS, purpose, url, quorum, wait).await
    }

    /// The same, with these tables.
    pub(super) async fn open_with(
        tables: &Migrator,
        purpose: Purpose,
        url: &StoreUrl,
        quorum: Option<Quorum>,
        wait: Wait,
    ) -> Result<PostgresStore, PostgresError> {
        let (mut session, holder) = open::prepared(tables, url).await?;
        let quorum_named = quorum.as_ref();
        let taking = open::take_over(&mut session, &holder, quorum_named, purpose, wait);
        let epoch = taking.await?;
        PostgresStore::owning(url, session, holder, epoch, quorum).await
    }

    /// Takes the log over from a writer whose lease is running, as one that slept through it finds it.
    #[cfg(test)]
    pub(super) async fn open_over(url: &StoreUrl) -> Result<PostgresStore, PostgresError> {
        PostgresStore::open_over_with(&MIGRATIONS, url).await
    }

    #[cfg(test)]
    pub(super) async fn open_over_with(
        tables: &Migrator,
        url: &StoreUrl,
    ) -> Result<PostgresStore, PostgresError> {
        let (mut session, holder) = open::prepared(tables, url).await?;
        match open::seize(&mut session, &holder, Purpose::Ledger, (0, false)).await? {
            open::Seized::Epoch(epoch) => {
                PostgresStore::owning(url, session, holder, epoch, None).await
            }
            open::Seized::Held { age_ms, .. } => Err(PostgresError::Held { age_ms }),
        }
    }

    async fn owning(
        url: &StoreUrl,
        mut session: PgConnection,
        holder: String,
        epoch: u64,
        quorum: Option<Quorum>,
    ) -> Result<PostgresStore, PostgresError> {
        let mut owner = Owner {
            url: url.clone(),
            holder: holder.clone(),
            epoch,
            quorum,
            assured: watch::Sender::new(Assured::now()),
            gate: Arc::default(),
            line: Mutex::default(),
        };
        owner.barrier(&mut session).await?;
        owner.line = Mutex::new(Line::over(session));
        let owner = Arc::new(owner);
        let assured = owner.quorum.as_ref().map(|_| owner.assured.subscribe());
        let inner = Arc::new(Inner::of(url, Some(owner.clone())).await?);
        let (renewed, seen) = watch::channel(Renewed {
            at: Moment::now(),
            is_lost: false,
        });
        let mut renewal = JoinSet::new();
        let renewing = Renewal {
            url: url.clone(),
            holder,
            size: inner.size.subscribe(),
            renewed,
            gate: owner.gate.clone(),
        };
        let gate = owner.gate.clone();
        renewal.spawn(renewing.run());
        renewal.spawn(look_after(owner));
        Ok(PostgresStore {
            inner,
            renewal,
            lease: Some(Lease {
                renewed: seen,
                assured,
                gate,
            }),
        })
    }

    /// Reads the ledger in the database beside whoever writes it: no lease, no epoch, no write.
    ///
    /// # Errors
    /// [`PostgresError::NoLedger`] or [`PostgresError::Unreachable`].
    pub async fn open_read_only(url: &StoreUrl) -> Result<PostgresStore, PostgresError> {
        PostgresStore::reading(url, false).await
    }

    /// The same, for a process that stands by: it shows nothing beyond the last published head, which
    /// [`PostgresStore::look`] asks for.
    ///
    /// # Errors
    /// [`PostgresError::NoLedger`] or [`PostgresError::Unreachable`].
    pub async fn open_following(url: &StoreUrl) -> Result<PostgresStore, PostgresError> {
        PostgresStore::reading(url, true).await
    }

    async fn reading(url: &StoreUrl, follows: bool) -> Result<PostgresStore, PostgresError> {
        let inner = Inner::of(url, None).await?;
        let inner = Arc::new(Inner { follows, ..inner });
        let has_tables: bool = sqlx::query_scalar("SELECT to_regclass('records') IS NOT NULL")
            .fetch_one(&inner.readers)
            .await?;
        if !has_tables {
            return Err(PostgresError::NoLedger);
        }
        Ok(PostgresStore {
            inner,
            renewal: JoinSet::new(),
            lease: None,
        })
    }

    /// Asks how far the log is published, and shows as much from now on where it is followed.
    ///
    /// # Errors
    /// [`PostgresError::Unreachable`].
    pub async fn look(&self) -> Result<Published, PostgresError> {
        let found = published::look(&self.inner.readers).await?;
        if self.inner.follows {
            self.inner.note_size(found.size);
        }
        Ok(found)
    }

    /// Where the log ends in the database, published or not.
    ///
    /// # Errors
    /// [`ReadError`].
    pub async fn stored_size(&self) -> Result<u64, ReadError> {
        Ok(reading::head(&self.inner.readers).await?.size)
    }

    /// Bytes of the ledger's tables and indexes, and the place where the server's write-ahead log ends.
    ///
    /// # Errors
    /// [`PostgresError`].
    pub async fn bytes(&self) -> Result<(u64, u64), PostgresError> {
        published::bytes(&self.inner.readers).await
    }

    /// The lease of this process; `None` of one that does not write.
    #[must_use]
    pub fn lease(&self) -> Option<Lease> {
        self.lease.clone()
    }

    /// Notes for the operator how far the process `name` follows.
    ///
    /// # Errors
    /// [`PostgresError`].
    pub async fn note_follower(&self, name: &str, size: u64) -> Result<(), PostgresError> {
        published::note_follower(&self.inner.readers, name, size).await
    }

    /// The processes that follow, but for `except`, and the standbys of the database.
    ///
    /// # Errors
    /// [`PostgresError`].
    pub async fn behind(
        &self,
        except: &str,
    ) -> Result<(Vec<Follower>, Vec<DatabaseStandby>), PostgresError> {
        let followers = published::followers(&self.inner.readers, except).await?;
        Ok((followers, published::standbys(&self.inner.readers).await?))
    }

    /// The row that holds the last signed checkpoint.
    pub(crate) fn checkpoint(&self) -> CheckpointRow {
        CheckpointRow::over(self.inner.readers.clone(), self.inner.owner.as_deref())
    }

    /// Returns those of these bodies that were staged beside a stream, by position.
    pub(crate) async fn staged(
        &self,
        named: &[(u64, Digest)],
    ) -> Result<HashMap<u64, Arc<[u8]>>, PostgresError> {
        reading::staged(&self.inner.readers, named).await
    }

    /// Sessions that read.
    #[cfg(feature = "eventstore")]
    pub(super) fn readers(&self) -> &PgPool {
        &self.inner.readers
    }

    /// What only the writing process has.
    pub(super) fn owner(&self) -> Result<&Owner, PostgresError> {
        self.inner.owner.as_deref().ok_or(PostgresError::ReadOnly)
    }

    /// Gives the log the epoch `epoch`: whoever wrote so far, this writer included, is fenced out.
    pub(crate) async fn hand_over(&self, epoch: u64) -> Result<(), AppendError> {
        let change = "
            WITH changed AS (
                UPDATE writer SET epoch = $1 WHERE epoch = $2 AND holder = $3 RETURNING 1
            )
            SELECT EXISTS (SELECT FROM changed)";
        let owner = self.owner()?;
        let change = sqlx::query(change).bind(epoch.cast_signed());
        owner.write_one(change).await
    }

    /// Ends the sessions and lets go of the lease. Dropping the store ends the sessions too, but the
    /// next writer then waits until the lease has run out.
    pub async fn close(mut self) {
        if let Some(lease) = &self.lease {
            // A commit that waits for a comparison with peers would wait for ever.
            lease.give_up();
        }
        self.renewal.shutdown().await;
        let inner = sole(self.inner).await;
        if let Some(owner) = inner.owner {
            let freed = sqlx::query("UPDATE lease SET renewed_at = 'epoch' WHERE holder = $1")
                .bind(&owner.holder)
                .execute(&inner.readers)
                .await;
            if let Err(error) = freed {
                tracing::debug!(%error, "the lease was not let go of: it runs out");
            }
            if let Some(owner) = Arc::into_inner(owner) {
                owner.line.into_inner().close().await;
            }
        }
        inner.readers.close().await;
    }
}

impl Inner {
    async fn of(url: &StoreUrl, owner: Option<Arc<Owner>>) -> Result<Inner, PostgresError> {
        let readers = url.as_session("x811 reader");
        let readers = session::pool(readers, MAX_READERS, READER_PATIENCE).await?;
        Ok(Inner {
            readers,
            owner,
            size: watch::Sender::new(0),
            follows: false,
        })
    }

    /// The end of what is shown.
    fn bound(&self) -> u64 {
        match self.follows {
            true => *self.size.borrow(),
            false => u64::MAX,
        }
    }

    /// Where the part of the log ends that is shown.
    async fn shown_head(&self) -> Result<Head, ReadError> {
        if !self.follows {
            return reading::head(&self.readers).await;
        }
        let Some(last) = self.bound().checked_sub(1) else {
            return Ok(Head::EMPTY);
        };
        let page = reading::page(&self.readers, last, 1).await?;
        let last = page.first().map(Head::after);
        last.ok_or_else(|| PostgresError::Vanished { size: self.bound() }.into())
    }

    async fn commit(&self, commit: &Commit) -> Result<Head, AppendError> {
        let owner = self.owner.as_ref().ok_or(PostgresError::ReadOnly)?;
        let head = owner.commit(commit).await?;
        self.note_size(head.size);
        if !commit.erased.is_empty() {
            self.vacuum().await;
        }
        Ok(head)
    }

    /// Row versions from before an erasure go. Backups and archived WAL keep them as long as they are
    /// kept.
    async fn vacuum(&self) {
        if let Err(error) = sqlx::raw_sql("VACUUM bodies").execute(&self.readers).await {
            tracing::warn!(%error, "what was erased stays in the tables until they are vacuumed");
        }
    }

    fn note_size(&self, size: u64) {
        self.size.send_if_modified(|known| {
            let is_longer = size > *known;
            *known = size.max(*known);
            is_longer
        });
    }
}

impl EventLog for PostgresStore {
    async fn append(&self, expected_size: u64, records: &[Record]) -> Result<Head, AppendError> {
        let commit = Commit {
            expected_size,
            records: records.to_vec(),
            ..Commit::default()
        };
        self.commit(commit).await
    }

    async fn read(&self, from: u64, limit: usize) -> Result<Vec<Record>, ReadError> {
        let room = self.inner.bound().saturating_sub(from);
        let limit = limit.min(usize::try_from(room).unwrap_or(usize::MAX));
        if limit == 0 {
            return Ok(Vec::new());
        }
        reading::page(&self.inner.readers, from, limit).await
    }

    /// After a commit of unknown outcome this waits until it has ended, and until standbys have what
    /// is read: nobody is answered by what may still vanish.
    async fn head(&self) -> Result<Head, ReadError> {
        let _held = match &self.inner.owner {
            Some(owner) => Some(owner.settle().await?),
            None => None,
        };
        let head = self.inner.shown_head().await?;
        self.inner.note_size(head.size);
        Ok(head)
    }

    async fn follow(&self, seen_size: u64) -> Result<u64, ReadError> {
        let mut size = self.inner.size.subscribe();
        if *size.borrow_and_update() <= seen_size {
            self.head().await?;
        }
        match size.wait_for(|size| *size > seen_size).await {
            Ok(size) => Ok(*size),
            // The sender lives in `self`; a closed channel has no more to say than its last value.
            Err(_) => Ok(*self.inner.size.borrow()),
        }
    }
}

impl LedgerStore for PostgresStore {
    type Log = PostgresStore;

    fn log(&self) -> &PostgresStore {
        self
    }

    async fn records(&self, positions: &[u64]) -> Result<Vec<Record>, ReadError> {
        let bound = self.inner.bound();
        let shown: Vec<u64> = positions.iter().copied().filter(|at| *at < bound).collect();
        reading::records(&self.inner.readers, &shown).await
    }

    /// Goes on to its end when the caller gives it up: the session must know how it ended.
    async fn commit(&self, commit: Commit) -> Result<Head, AppendError> {
        let expected_size = commit.expected_size;
        let inner = self.inner.clone();
        let committed = tokio::spawn(async move { inner.commit(&commit).await }).await;
        committed.unwrap_or_else(|error| {
            Err(AppendError::OutcomeUnknown {
                expected_size,
                source: Box::new(error),
            })
        })
    }

    async fn frontier(&self) -> Result<Option<(u64, Vec<u8>)>, ReadError> {
        // The one that is stored is of everything that is.
        if self.inner.follows {
            return Ok(None);
        }
        Ok(reading::frontier(&self.inner.readers).await?)
    }

    async fn bodies(&self, positions: &[u64]) -> Result<HashMap<u64, Body>, ReadError> {
        Ok(reading::bodies(&self.inner.readers, positions).await?)
    }

    async fn body_part(
        &self,
        position: u64,
        from: usize,
        most: usize,
    ) -> Result<Option<Vec<u8>>, ReadError> {
        Ok(reading::body_part(&self.inner.readers, position, from, most).await?)
    }

    async fn erased(&self, positions: &[u64]) -> Result<HashMap<u64, u64>, ReadError> {
        Ok(reading::erased(&self.inner.readers, positions).await?)
    }

    async fn idempotency(&self, tags: &[Digest]) -> Result<HashMap<Digest, u64>, ReadError> {
        let mut found = reading::idempotency(&self.inner.readers, tags).await?;
        let bound = self.inner.bound();
        found.retain(|_, position| *position < bound);
        Ok(found)
    }

    async fn envelope_positions(
        &self,
        ids: &[EnvelopeId],
    ) -> Result<HashMap<EnvelopeId, u64>, ReadError> {
        let mut found = reading::envelope_positions(&self.inner.readers, ids).await?;
        let bound = self.inner.bound();
        found.retain(|_, position| *position < bound);
        Ok(found)
    }

    async fn claims(
        &self,
        chain_id: ChainId,
        tx_hashes: &[TxHash],
    ) -> Result<Vec<(Claim, u64)>, ReadError> {
        Ok(reading::claims(&self.inner.readers, chain_id, tx_hashes).await?)
    }

    async fn index_counts(&self, size: u64) -> Result<IndexCounts, ReadError> {
        Ok(reading::counts(&self.inner.readers, size).await?)
    }

    async fn spent_nonces(&self, since: TimestampMs) -> Result<Vec<SpentNonce>, ReadError> {
        Ok(reading::spent_nonces(&self.inner.readers, since).await?)
    }

    async fn purge_nonces(&self, before: TimestampMs) -> Result<(), AppendError> {
        let purge = "
            WITH mine AS MATERIALIZED (
                SELECT FROM writer WHERE epoch = $2 AND holder = $3 FOR SHARE
            ), gone AS (
                DELETE FROM nonce_journal WHERE EXISTS (SELECT FROM mine) AND seq < coalesce(
                    (SELECT min(seq) FROM nonce_journal WHERE at_ms >= $1), 9223372036854775807)
            )
            SELECT EXISTS (SELECT FROM mine)";
        let owner = self.owner()?;
        let purge = sqlx::query(purge).bind(before.as_ms().cast_signed());
        owner.write_one(purge).await
    }

    async fn last_tick(&self) -> Result<Option<TimestampMs>, ReadError> {
        Ok(reading::last_tick(&self.inner.readers).await?)
    }

    async fn tick(&self, at: TimestampMs) -> Result<(), AppendError> {
        let tick = "
            WITH mine AS MATERIALIZED (
                SELECT FROM writer WHERE epoch = $2 AND holder = $3 FOR SHARE
            ), ticked AS (
                INSERT INTO tick (only_row, at_ms) SELECT 0, $1 WHERE EXISTS (SELECT FROM mine)
                ON CONFLICT (only_row) DO UPDATE SET at_ms = excluded.at_ms
            )
            SELECT EXISTS (SELECT FROM mine)";
        let owner = self.owner()?;
        let tick = sqlx::query(tick).bind(at.as_ms().cast_signed());
        owner.write_one(tick).await
    }
}
