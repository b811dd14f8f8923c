//! The log inside the store.

use std::collections::HashMap;
use std::fs::File;
use std::path::Path;

use sqlx::sqlite::{SqliteConnection, SqliteExecutor, SqliteRow, SqliteSynchronous};
use sqlx::{Connection as _, Row};
use tokio::sync::watch;
use x811_eventlog::{AppendError, EventLog, Head, ReadError, Record};
use x811_ledger::port::{Body, Commit};
use x811_protocol::digest::Digest;

use crate::leaves::{MAX_PAGE_RECORDS, in_order, record_at};
use crate::purpose::{Purpose, Sealed};

use super::commit;
use super::connect::Database;
use super::data_dir::DataDir;
use super::error::{OpenError, StoreError};
use super::indexes::{self, read_bodies};
use super::insert::{MAX_IN, select_in};
use super::migrations::LEDGER;
use super::open_files::{Displaced, OpenFiles};
use super::packed::{Packed, blob, places};
use super::readers::Readers;
use super::sound;
use super::tags::{Filing, NewTags};
use super::turn::{Turn, Writer};
use super::wal;

/// What reads the last record.
macro_rules! last_record {
    () => {
        "SELECT position, leaf FROM records ORDER BY position DESC LIMIT 1"
    };
}

pub(super) use last_record;

/// A page of records. In every question it is `LIMIT +?`: SQLite reads the value of a bare variable
/// there while it prepares, and so prepares the statement anew whenever it is asked.
const PAGE: &str = concat!(
    "SELECT ",
    places!("leaf"),
    ", ",
    blob!("leaf"),
    " FROM (SELECT position, leaf FROM records WHERE position >= ? ORDER BY position LIMIT +?)",
);

/// Records of some positions.
const RECORDS: &str = concat!(
    "SELECT ",
    places!("leaf"),
    ", ",
    blob!("leaf"),
    " FROM records WHERE position",
);

/// Records and bodies, packed: [`read_records`] takes the first columns, [`read_bodies`] the others.
macro_rules! with_bodies {
    () => {
        concat!(
            places!("leaf"),
            ", ",
            blob!("leaf"),
            ", ",
            places!("bytes"),
            ", ",
            blob!("bytes"),
            ", ",
            blob!("digest"),
        )
    };
}

pub(super) const WITH_BODIES_COLUMNS: &str = with_bodies!();

/// Records of some positions with their bodies, in one row: each answer wakes who asked.
const WITH_BODIES: &str = concat!(
    "SELECT ",
    with_bodies!(),
    " FROM records LEFT JOIN bodies USING (position) WHERE position",
);

/// The records of a ledger in `ledger.db`.
///
/// Appending here commits the records alone: no body, no index entry, and the tree's running state
/// stays where it was. A ledger appends through [`x811_ledger::port::LedgerStore::commit`].
///
/// [`EventLog::follow`] is woken by commits of this process. What another process commits, a
/// read-only log learns only when it is asked for its head.
#[derive(Debug)]
pub struct SqliteLog {
    readers: Readers,
    /// Absent when the directory was opened read-only.
    owner: Option<Owner>,
    tags: NewTags,
    /// Records known to be stored.
    size: watch::Sender<u64>,
}

/// What only the writing process has. The lock goes last.
#[derive(Debug)]
struct Owner {
    writer: Writer,
    epoch: u64,
    files: OpenFiles,
    _lock: File,
}

impl SqliteLog {
    /// The owner of `data_dir`, which lets that many idempotency tags wait.
    pub(super) async fn open(
        purpose: Purpose,
        data_dir: &Path,
        kept_tags: usize,
    ) -> Result<Self, OpenError> {
        let data_dir = DataDir::create(data_dir)?;
        let lock = data_dir.own()?;
        let database = database(&data_dir);
        data_dir.create_database(database.file())?;
        DataDir::check_wal(database.file())?;
        let mut connection = database.migrated_writer().await?;
        // A process that died may have left pages there whose bodies were erased.
        if !matches!(wal::truncate(&mut connection).await, Ok(true)) {
            tracing::debug!("somebody reads the write-ahead log: it was not cut");
        }
        let epoch = raise_epoch(&mut connection, purpose)
            .await
            .map_err(|error| database.failed(error))?
            .map_err(|sealed| OpenError::Sealed {
                directory: data_dir.path().to_owned(),
                sealed,
            })?;
        // A reader stays open from here on, so the write-ahead log is the same until the end.
        let readers = database.readers();
        let size = size_read(&readers)
            .await
            .map_err(|error| database.failed(error))?;
        let tags = NewTags::open(&mut connection, kept_tags)
            .await
            .map_err(|error| database.failed(error))?;
        Ok(Self {
            tags,
            readers,
            owner: Some(Owner {
                files: database.open_files().and(data_dir.lock()),
                writer: Writer::new(database, connection),
                epoch,
                _lock: lock,
            }),
            size: watch::Sender::new(size),
        })
    }

    pub(super) async fn open_read_only(data_dir: &Path) -> Result<Self, OpenError> {
        let data_dir = DataDir::at(data_dir);
        let database = database(&data_dir);
        let readers = database.checked_readers(data_dir.path()).await?;
        let size = match size_read(&readers).await {
            Ok(size) => size,
            // What lies before the damage may be read all the same.
            Err(error) if error.is_damage() => 0,
            Err(error) => return Err(database.failed(error)),
        };
        Ok(Self {
            readers,
            owner: None,
            tags: NewTags::of_others(),
            size: watch::Sender::new(size),
        })
    }

    /// Writes out the WAL and gives the directory free.
    pub(super) async fn close(self) {
        self.readers.close().await;
        if let Some(owner) = self.owner {
            owner.writer.close().await;
        }
    }

    pub(super) fn readers(&self) -> &Readers {
        &self.readers
    }

    /// The first of the open files that its path does not name any more.
    pub(super) fn displaced(&self) -> Option<Displaced> {
        self.owner.as_ref()?.files.displaced()
    }

    /// Refuses to vouch for what was written to a file that its path does not name any more.
    fn is_in_place(&self) -> Result<(), StoreError> {
        match self.displaced() {
            Some(displaced) => Err(StoreError::Displaced(displaced)),
            None => Ok(()),
        }
    }

    /// Moves the open write-ahead log into the open database; `false` where that is not done.
    pub(super) async fn settle(&self) -> bool {
        match &self.owner {
            Some(owner) => owner.writer.settle().await,
            None => false,
        }
    }

    /// Writes everything from the open files into the new database `target`, whatever their paths name.
    /// What the old one leaves beside itself is removed.
    pub(super) async fn rescue(&self, target: &Path) -> Result<(), OpenError> {
        let owner = self.owner.as_ref();
        let owner = owner.ok_or_else(|| OpenError::Database {
            file: target.to_owned(),
            source: StoreError::ReadOnly,
        })?;
        owner.writer.copy_to(target).await?;
        owner.files.remove_companions();
        Ok(())
    }

    /// What is wrong with the form of the database.
    pub(super) async fn problems(&self) -> Result<Vec<String>, StoreError> {
        sound::problems(&self.readers, &LEDGER).await
    }

    /// Begins a transaction of this writer; refused when the store is read-only or fenced out.
    pub(super) async fn begin(&self) -> Result<Turn<'_>, AppendError> {
        let owner = self.owner.as_ref().ok_or(StoreError::ReadOnly)?;
        let mut turn = owner.writer.begin().await?;
        match turn.check_epoch(owner.epoch).await {
            Ok(()) => Ok(turn),
            Err(error) => {
                turn.roll_back().await;
                Err(error)
            }
        }
    }

    /// Gives the log the epoch `epoch`: whoever wrote so far, this writer included, is fenced out.
    pub(super) async fn hand_over(&self, epoch: u64) -> Result<(), AppendError> {
        let mut turn = self.begin().await?;
        let change = sqlx::query("UPDATE writer SET epoch = ?").bind(epoch.cast_signed());
        if let Err(error) = change.execute(turn.connection()).await {
            turn.roll_back().await;
            return Err(StoreError::from(error).into());
        }
        Ok(turn.commit(8_192).await?)
    }

    /// Stores `commit`, all of it or nothing, and wakes the followers.
    pub(super) async fn commit(&self, commit: &Commit) -> Result<Head, AppendError> {
        self.read_tags().await?;
        let mut turn = self.begin().await?;
        let (head, filing) = match self.write(turn.connection(), commit).await {
            Ok(written) => written,
            Err(error) => {
                turn.roll_back().await;
                return Err(error);
            }
        };
        let tags = self.tags.unsure();
        if !commit.erased.is_empty() {
            turn.leaves_no_old_pages();
        }
        turn.commit(written_bytes(commit))
            .await
            .map_err(|error| AppendError::OutcomeUnknown {
                expected_size: commit.expected_size,
                source: Box::new(error),
            })?;
        tags.holds(commit, &filing);
        self.note_size(head.size);
        self.is_in_place()
            .map_err(|error| AppendError::OutcomeUnknown {
                expected_size: commit.expected_size,
                source: Box::new(error),
            })?;
        Ok(head)
    }

    async fn write(
        &self,
        connection: &mut SqliteConnection,
        commit: &Commit,
    ) -> Result<(Head, Filing), AppendError> {
        let head = commit::write(connection, commit).await?;
        let filing = self.tags.write(connection, commit).await?;
        Ok((head, filing))
    }

    /// Reads the tags that wait, where they may not be known.
    async fn read_tags(&self) -> Result<(), StoreError> {
        if self.tags.are_behind() {
            self.tags.read(&mut *self.readers.get().await?).await?;
        }
        Ok(())
    }

    /// Positions of the REQUESTs with these idempotency tags.
    pub(super) async fn idempotency(
        &self,
        tags: &[Digest],
    ) -> Result<HashMap<Digest, u64>, StoreError> {
        if tags.is_empty() {
            return Ok(HashMap::new());
        }
        // In this order: a tag that is filed meanwhile is found in its index.
        self.read_tags().await?;
        let mut found = self.tags.find(tags);
        let unknown = tags.iter().filter(|tag| !found.contains_key(tag));
        let unknown: Vec<Digest> = unknown.copied().collect();
        found.extend(indexes::idempotency(&self.readers, &unknown).await?);
        Ok(found)
    }

    /// The records at these positions, in their order; a position without one is left out.
    pub(super) async fn records(&self, positions: &[u64]) -> Result<Vec<Record>, ReadError> {
        let mut found = HashMap::with_capacity(positions.len());
        for chunk in positions.chunks(MAX_IN) {
            let row = self.select(RECORDS, chunk).await?;
            read_records(&row, &mut found)?;
        }
        Ok(in_order(positions, &found))
    }

    /// The same with their bodies.
    pub(super) async fn records_with_bodies(
        &self,
        positions: &[u64],
    ) -> Result<(Vec<Record>, HashMap<u64, Body>), ReadError> {
        let mut found = HashMap::with_capacity(positions.len());
        let mut bodies = HashMap::new();
        for chunk in positions.chunks(MAX_IN) {
            let row = self.select(WITH_BODIES, chunk).await?;
            read_records(&row, &mut found)?;
            read_bodies(&row, 2, &mut bodies)?;
        }
        Ok((in_order(positions, &found), bodies))
    }

    /// The one row of `statement` for these positions.
    async fn select(
        &self,
        statement: &'static str,
        positions: &[u64],
    ) -> Result<SqliteRow, StoreError> {
        let mut select = select_in(statement, positions, |list, position| {
            list.push_bind(position.cast_signed());
        });
        let mut reader = self.readers.get().await?;
        Ok(select.build().fetch_one(&mut *reader).await?)
    }

    fn note_size(&self, size: u64) {
        self.size.send_if_modified(|known| {
            let is_longer = size > *known;
            *known = size.max(*known);
            is_longer
        });
    }
}

impl EventLog for SqliteLog {
    async fn append(&self, expected_size: u64, records: &[Record]) -> Result<Head, AppendError> {
        let commit = Commit {
            expected_size,
            records: records.to_vec(),
            ..Commit::default()
        };
        self.commit(&commit).await
    }

    async fn read(&self, from: u64, limit: usize) -> Result<Vec<Record>, ReadError> {
        let Ok(first) = i64::try_from(from) else {
            return Ok(Vec::new());
        };
        let page = sqlx::query(PAGE)
            .bind(first)
            .bind(limit.min(MAX_PAGE_RECORDS) as i64)
            .fetch_one(&mut *self.readers.get().await?)
            .await
            .map_err(StoreError::from)?;
        let page = Packed::read(&page, 0, "records")?;
        let mut records = Vec::with_capacity(page.len());
        for (due, (position, leaf)) in (from..).zip(page.iter()) {
            records.push(record_at(due, position, leaf.to_vec())?);
        }
        Ok(records)
    }

    async fn head(&self) -> Result<Head, ReadError> {
        self.is_in_place()?;
        let head = stored_head(&mut *self.readers.get().await?).await?;
        self.note_size(head.size);
        Ok(head)
    }

    async fn follow(&self, seen_size: u64) -> Result<u64, ReadError> {
        let mut size = self.size.subscribe();
        match size.wait_for(|size| *size > seen_size).await {
            Ok(size) => Ok(*size),
            // The sender lives in `self`; a closed channel has no more to say than its last value.
            Err(_) => Ok(*self.size.borrow()),
        }
    }
}

/// Adds the records that `row` has, packed, in its first columns.
pub(super) fn read_records(
    row: &SqliteRow,
    found: &mut HashMap<u64, Record>,
) -> Result<(), ReadError> {
    for (position, leaf) in Packed::read(row, 0, "records")?.iter() {
        found.insert(position, record_at(position, position, leaf.to_vec())?);
    }
    Ok(())
}

/// About how long `commit` makes the write-ahead log: pages are not full, and indexes are written too.
fn written_bytes(commit: &Commit) -> u64 {
    let leaves: usize = commit.records.iter().map(|r| r.bytes().len()).sum();
    let bodies: usize = commit.bodies.iter().map(|body| body.bytes.len()).sum();
    2 * (leaves + bodies) as u64
}

/// The head, from the last record.
async fn stored_head(connection: &mut SqliteConnection) -> Result<Head, ReadError> {
    let last = sqlx::query(last_record!()).fetch_optional(connection).await;
    head_behind(last.map_err(StoreError::from)?)
}

/// The head behind what [`last_record`] reads.
pub(super) fn head_behind(last: Option<SqliteRow>) -> Result<Head, ReadError> {
    let Some(row) = last else {
        return Ok(Head::EMPTY);
    };
    let position: i64 = row.try_get(0).map_err(StoreError::from)?;
    let position = position.cast_unsigned();
    let leaf = row.try_get(1).map_err(StoreError::from)?;
    record_at(position, position, leaf).map(|record| Head::after(&record))
}

async fn size_read(readers: &Readers) -> Result<u64, StoreError> {
    stored_size(&mut *readers.get().await?).await
}

async fn stored_size(executor: impl SqliteExecutor<'_>) -> Result<u64, StoreError> {
    let size: i64 = sqlx::query_scalar("SELECT coalesce(max(position) + 1, 0) FROM records")
        .fetch_one(executor)
        .await?;
    Ok(size.cast_unsigned())
}

async fn raise_epoch(
    connection: &mut SqliteConnection,
    purpose: Purpose,
) -> Result<Result<u64, Sealed>, StoreError> {
    let mut raising = connection.begin_with("BEGIN IMMEDIATE").await?;
    let (epoch, is_empty): (i64, bool) =
        sqlx::query_as("SELECT epoch, NOT EXISTS (SELECT 1 FROM records) FROM writer")
            .fetch_one(&mut *raising)
            .await?;
    let epoch = match purpose.next_epoch(epoch, is_empty) {
        Ok(epoch) => epoch,
        Err(sealed) => return Ok(Err(sealed)),
    };
    sqlx::query("UPDATE writer SET epoch = ?")
        .bind(epoch)
        .execute(&mut *raising)
        .await?;
    raising.commit().await?;
    Ok(Ok(epoch.cast_unsigned()))
}

fn database(data_dir: &DataDir) -> Database {
    Database::new(&data_dir.ledger(), SqliteSynchronous::Full, &LEDGER)
}
