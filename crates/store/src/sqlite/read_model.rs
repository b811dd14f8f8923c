//! Rows for reading, in a file of their own that may be thrown away.

mod agents;
mod at_once;
mod compare;
mod known;
mod rows;
mod subjects;
mod tiles;

pub use compare::RowDifference;

use std::collections::{BTreeMap, HashMap};
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

use sqlx::sqlite::{SqliteConnection, SqliteSynchronous};
use x811_eventlog::{AppendError, Hash, HashTile, Node, ReadError, Record, TileEdge};
use x811_ledger::port::{Body, DamagedRow, LedgerStore, ReadModel, Stretch};
use x811_protocol::did::Did;
use x811_protocol::stream::Subject;
use x811_world::row::{
    DeliveryRow, FoundAgent, MemberRow, RowChange, StreamRow, SubjectRow, TrustAsOf,
};

use self::at_once::AtOnce;
use self::known::KnownTree;
use super::connect::Database;
use super::copy;
use super::data_dir::DataDir;
use super::error::{OpenError, StoreError};
use super::insert::insert;
use super::migrations::READ;
use super::open_files::{Displaced, OpenFiles};
use super::readers::Readers;
use super::sound;
use super::store::wal_problems;
use super::turn::Writer;

/// What a changed row adds to the write-ahead log, about.
const ROW_BYTES: u64 = 1_024;

/// Most rows in one answer, whatever limit is asked for.
const MAX_ROWS: usize = 10_000;

/// The read model in `read.db` of a data directory.
///
/// It takes no lock: whoever owns the ledger of the directory writes it. [`ReadModel::apply`]
/// refuses changes that do not follow what the rows reflect, so that two writers cannot mix.
#[derive(Debug)]
pub struct ReadRows {
    readers: Readers,
    /// Of the ledger beside the rows too.
    at_once: AtOnce,
    /// Absent when opened read-only.
    writer: Option<Writer>,
    files: OpenFiles,
    /// Where the tree ended after the last batch of this process.
    edge: Mutex<Option<TileEdge>>,
    /// What was read of the tree before.
    known: Mutex<KnownTree>,
}

impl ReadRows {
    /// Opens the rows for writing; `data_dir` and the file are made if they do not exist. To
    /// rebuild them beside the ones in use, open another directory.
    ///
    /// # Errors
    ///
    /// [`OpenError::File`], [`OpenError::Database`] or [`OpenError::Migration`].
    pub async fn open(data_dir: &Path) -> Result<ReadRows, OpenError> {
        let data_dir = DataDir::create(data_dir)?;
        let database = database(&data_dir);
        data_dir.create_database(database.file())?;
        DataDir::check_wal(database.file())?;
        let connection = database.migrated_writer().await?;
        Ok(ReadRows {
            readers: database.readers(),
            at_once: AtOnce::new(&data_dir, &database),
            files: database.open_files(),
            writer: Some(Writer::new(database, connection)),
            edge: Mutex::default(),
            known: Mutex::default(),
        })
    }

    /// Opens the rows for reading, beside whoever writes them; the [crate] documentation says
    /// which files must be accessible. Applying is refused with [`StoreError::ReadOnly`].
    ///
    /// # Errors
    ///
    /// [`OpenError::NoLedger`], [`OpenError::Schema`] or [`OpenError::Database`].
    pub async fn open_read_only(data_dir: &Path) -> Result<ReadRows, OpenError> {
        let data_dir = DataDir::at(data_dir);
        let database = database(&data_dir);
        let readers = database.checked_readers(data_dir.path()).await?;
        Ok(ReadRows {
            readers,
            at_once: AtOnce::new(&data_dir, &database),
            files: OpenFiles::of([]),
            writer: None,
            edge: Mutex::default(),
            known: Mutex::default(),
        })
    }

    /// What is wrong with the form of `read.db` and of its write-ahead log, sentence by sentence;
    /// empty when nothing is.
    ///
    /// # Errors
    ///
    /// When the file cannot be read.
    pub async fn problems(&self, data_dir: &Path) -> Result<Vec<String>, StoreError> {
        let mut problems = wal_problems(&DataDir::at(data_dir).read_model());
        problems.extend(sound::problems(&self.readers, &READ).await?);
        Ok(problems)
    }

    /// The first of the open files that its path does not name any more: what is written to it is read
    /// by nobody after this process.
    #[must_use]
    pub fn displaced(&self) -> Option<Displaced> {
        self.files.displaced()
    }

    /// Throws the rows away, so that the next [`ReadRows::open`] begins at the first
    /// record. Nobody may have them open.
    ///
    /// # Errors
    ///
    /// [`OpenError::File`].
    pub fn remove(data_dir: &Path) -> Result<(), OpenError> {
        DataDir::remove_database(&DataDir::at(data_dir).read_model())
    }

    /// Copies the rows as of one commit into the directory `target`, which has none yet. May be
    /// done while they are being written.
    ///
    /// # Errors
    ///
    /// [`OpenError::File`] or [`OpenError::Database`].
    pub async fn copy_to(&self, target: &Path) -> Result<(), OpenError> {
        let target = DataDir::create(target)?;
        copy::copy(&self.readers, &target.read_model()).await
    }

    /// How the rows in the directory `found` differ from those in `due`; nobody may be writing
    /// either.
    ///
    /// # Errors
    ///
    /// When one of them cannot be read.
    pub async fn differences(found: &Path, due: &Path) -> Result<Vec<RowDifference>, StoreError> {
        let (found, due) = (DataDir::at(found), DataDir::at(due));
        compare::compare(&found.read_model(), &due.read_model()).await
    }

    /// Puts the rows in the directory `rebuilt`, closed, in place of those of `data_dir`, which
    /// nobody may be using.
    ///
    /// # Errors
    ///
    /// [`OpenError::Owned`] when a ledger runs there; [`OpenError::File`].
    pub fn replace(data_dir: &Path, rebuilt: &Path) -> Result<(), OpenError> {
        let data_dir = DataDir::at(data_dir);
        let _lock = data_dir.own()?;
        let (target, source) = (data_dir.read_model(), DataDir::at(rebuilt).read_model());
        let next = target.with_extension("db.next");
        let unusable = |source| OpenError::File {
            path: next.clone(),
            source,
        };
        std::fs::copy(&source, &next).map_err(unusable)?;
        copy::sync(&next).map_err(unusable)?;
        DataDir::remove_database(&target)?;
        std::fs::rename(&next, &target).map_err(unusable)?;
        copy::sync(&target).map_err(unusable)
    }

    fn edge(&self) -> MutexGuard<'_, Option<TileEdge>> {
        // It is taken and put back whole.
        self.edge.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn known(&self) -> MutexGuard<'_, KnownTree> {
        // Whatever is in it is right.
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Closes the database in order; [`ReadRows::remove`] is safe after it.
    pub async fn close(self) {
        self.at_once.close().await;
        self.readers.close().await;
        if let Some(writer) = self.writer {
            writer.close().await;
        }
    }
}

impl ReadModel for ReadRows {
    async fn applied_size(&self) -> Result<u64, ReadError> {
        let size: Option<i64> = sqlx::query_scalar("SELECT size FROM applied")
            .fetch_optional(&mut *self.readers.get().await?)
            .await
            .map_err(|error| StoreError::from(error).of_row("applied", || "0".to_owned()))?;
        let missing = || DamagedRow {
            table: "applied",
            row: "0".to_owned(),
            what: "nothing".to_owned(),
        };
        let size = size.ok_or_else(|| StoreError::Row(missing()))?;
        Ok(size.cast_unsigned())
    }

    async fn apply(
        &self,
        old_size: u64,
        new_size: u64,
        changes: &[RowChange],
    ) -> Result<(), AppendError> {
        let writer = self.writer.as_ref().ok_or(StoreError::ReadOnly)?;
        let about_bytes = ROW_BYTES * changes.len() as u64;
        let batch = Batch::sort(changes);
        let mut turn = writer.begin().await?;
        // Whoever fails leaves none: it is read again.
        let mut edge = self.edge().take();
        if let Err(error) = batch
            .write(turn.connection(), &mut edge, old_size, new_size)
            .await
        {
            turn.roll_back().await;
            return Err(error.into());
        }
        turn.commit(about_bytes)
            .await
            .map_err(|error| AppendError::OutcomeUnknown {
                expected_size: old_size,
                source: Box::new(error),
            })?;
        *self.edge() = edge;
        Ok(())
    }

    async fn subject(&self, subject: Subject) -> Result<Option<SubjectRow>, ReadError> {
        let mut reader = self.readers.get().await?;
        Ok(subjects::one(&mut reader, subject).await?)
    }

    async fn subjects(
        &self,
        kind: &str,
        member: Option<Did>,
        after: Option<Subject>,
        limit: usize,
    ) -> Result<Vec<SubjectRow>, ReadError> {
        let mut reader = self.readers.get().await?;
        let limit = limit.min(MAX_ROWS) as i64;
        Ok(subjects::page(&mut reader, kind, member, after, limit).await?)
    }

    async fn subject_members(
        &self,
        after: Option<&MemberRow>,
        limit: usize,
    ) -> Result<Vec<MemberRow>, ReadError> {
        let mut reader = self.readers.get().await?;
        let limit = limit.min(MAX_ROWS) as i64;
        Ok(subjects::members(&mut reader, after, limit).await?)
    }

    async fn agents(
        &self,
        capability: Option<&str>,
        after: Option<u64>,
        limit: usize,
    ) -> Result<Vec<FoundAgent>, ReadError> {
        let mut reader = self.readers.get().await?;
        let limit = limit.min(MAX_ROWS) as i64;
        Ok(agents::page(&mut reader, capability, after, limit).await?)
    }

    async fn trust(&self, did: Did, as_of: u64) -> Result<TrustAsOf, ReadError> {
        let mut reader = self.readers.get().await?;
        Ok(agents::trust(&mut reader, did, as_of).await?)
    }

    async fn deliveries(
        &self,
        recipient: Did,
        from_position: u64,
        limit: usize,
    ) -> Result<Vec<DeliveryRow>, ReadError> {
        let Ok(from_position) = i64::try_from(from_position) else {
            return Ok(Vec::new());
        };
        let row = sqlx::query(rows::SELECT_DELIVERIES)
            .bind(recipient.uuid().as_bytes().as_slice())
            .bind(from_position)
            .bind(limit.min(MAX_ROWS) as i64)
            .fetch_one(&mut *self.readers.get().await?)
            .await
            .map_err(StoreError::from)?;
        let mut deliveries = rows::read_deliveries(recipient, &row)?;
        // Which order rows are packed in is SQLite's own affair.
        deliveries.sort_unstable_by_key(|delivery| delivery.position);
        Ok(deliveries)
    }

    async fn stretches(
        &self,
        after: Option<(String, u64)>,
        limit: usize,
    ) -> Result<Vec<Stretch>, ReadError> {
        // No stream has an empty name, and every name is greater than one.
        let (stream, seq) = after.unwrap_or_default();
        let Ok(seq) = i64::try_from(seq) else {
            return Ok(Vec::new());
        };
        let rows = sqlx::query(rows::SELECT_STRETCHES)
            .bind(stream)
            .bind(seq)
            .bind(limit.min(MAX_ROWS) as i64)
            .fetch_all(&mut *self.readers.get().await?)
            .await
            .map_err(StoreError::from)?;
        let rows: Result<_, StoreError> = rows.iter().map(rows::read_stretch).collect();
        Ok(rows?)
    }

    async fn hash_tile(&self, level: u8, index: u64) -> Result<Option<HashTile>, ReadError> {
        Ok(tiles::read(&mut *self.readers.get().await?, level, index).await?)
    }

    async fn nodes(&self, nodes: &[Node]) -> Result<HashMap<Node, Hash>, ReadError> {
        let mut found = self.known().find(nodes);
        let is_new = |node: &&Node| !found.contains_key(node);
        let new: Vec<Node> = nodes.iter().filter(is_new).copied().collect();
        if !new.is_empty() {
            let read = tiles::read_nodes(&self.readers, &new).await?;
            self.known().keep(&read);
            found.extend(read);
        }
        Ok(found)
    }

    async fn stream_positions(
        &self,
        stream: &str,
        from_seq: u64,
        limit: usize,
    ) -> Result<Vec<u64>, ReadError> {
        let Ok(from_seq) = i64::try_from(from_seq) else {
            return Ok(Vec::new());
        };
        let positions: Vec<i64> = sqlx::query_scalar(rows::SELECT_STREAM_POSITIONS)
            .bind(stream)
            .bind(from_seq)
            .bind(limit.min(MAX_ROWS) as i64)
            .fetch_all(&mut *self.readers.get().await?)
            .await
            .map_err(StoreError::from)?;
        Ok(positions.into_iter().map(i64::cast_unsigned).collect())
    }

    async fn stream_with_bodies<S: LedgerStore>(
        &self,
        store: &S,
        stream: &str,
        others: &[u64],
        limit: usize,
    ) -> Result<(Vec<Record>, HashMap<u64, Body>), ReadError> {
        if let Some(found) = self.at_once.stream(stream, others, limit).await? {
            let mut known = self.known();
            found
                .tiles
                .into_iter()
                .for_each(|tile| known.keep_tile(tile));
            return Ok((found.records, found.bodies));
        }
        let positions = self.stream_positions(stream, 0, limit).await?;
        let positions = [&*positions, others].concat();
        store.records_with_bodies(&positions).await
    }
}

/// Changes by table. Of a subject only its last row is written.
#[derive(Debug, Default)]
struct Batch<'a> {
    subjects: BTreeMap<Subject, &'a SubjectRow<String>>,
    agents: agents::Batch<'a>,
    deliveries: Vec<&'a DeliveryRow>,
    stream_records: Vec<&'a StreamRow>,
    leaves: Vec<tiles::Leaf>,
}

impl<'a> Batch<'a> {
    fn sort(changes: &'a [RowChange]) -> Self {
        let mut batch = Self::default();
        for change in changes {
            match change {
                RowChange::Subject(row) => {
                    batch.subjects.insert(row.subject, row);
                }
                RowChange::Agent(row) => {
                    batch.agents.rows.insert(row.registered_position, row);
                }
                RowChange::Capabilities {
                    registered_position,
                    names,
                } => {
                    batch
                        .agents
                        .capabilities
                        .insert(*registered_position, names);
                }
                RowChange::Trust(row) => batch.agents.trust.push(row),
                RowChange::Payer {
                    did,
                    account,
                    position,
                } => batch.agents.payers.push((*did, *account, *position)),
                RowChange::Delivery(row) => batch.deliveries.push(row),
                RowChange::StreamRecord(row) => batch.stream_records.push(row),
                RowChange::Leaf { position, hash } => batch.leaves.push(tiles::Leaf {
                    position: *position,
                    hash: *hash,
                }),
            }
        }
        batch
    }

    async fn write(
        self,
        connection: &mut SqliteConnection,
        edge: &mut Option<TileEdge>,
        old_size: u64,
        new_size: u64,
    ) -> Result<(), StoreError> {
        let applied: i64 = sqlx::query_scalar("SELECT size FROM applied")
            .fetch_one(&mut *connection)
            .await?;
        let applied_size = applied.cast_unsigned();
        if old_size != applied_size || new_size < old_size {
            return Err(StoreError::NotNext {
                old_size,
                new_size,
                applied_size,
            });
        }
        let subjects: Vec<_> = self.subjects.into_values().collect();
        subjects::write(connection, &subjects).await?;
        self.agents.write(connection).await?;
        insert(connection, &rows::DELIVERIES, &self.deliveries).await?;
        insert(connection, &rows::STREAM_RECORDS, &self.stream_records).await?;
        tiles::append(connection, edge, &self.leaves).await?;
        sqlx::query("UPDATE applied SET size = ?")
            .bind(new_size.cast_signed())
            .execute(connection)
            .await?;
        Ok(())
    }
}

fn database(data_dir: &DataDir) -> Database {
    Database::new(&data_dir.read_model(), SqliteSynchronous::Normal, &READ)
}
