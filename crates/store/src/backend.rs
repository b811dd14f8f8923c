//! Where a ledger's log lies, and the one place that knows the kinds of it.

mod beside_only;

use std::collections::HashMap;
use std::fs::File;
use std::path::Path;

use x811_eventlog::{AppendError, EventLog, Head, ReadError, Record};
use x811_ledger::port::{Body, Commit, IndexCounts, LedgerStore, SpentNonce};
use x811_protocol::digest::Digest;
use x811_protocol::event::Claim;
use x811_protocol::evm::{ChainId, TxHash};
use x811_protocol::id::EnvelopeId;
use x811_protocol::time::TimestampMs;

use crate::asking::asks_another;
use crate::checkpoint::FileCheckpointStore;
use crate::checkpoints::CheckpointPlaces;
use crate::fault::StoreFault;
#[cfg(feature = "eventstore")]
use crate::kurrent::KurrentStore;
use crate::log_url::LogUrl;
use crate::postgres::{
    DatabaseStandby, Follower, Lease, PostgresError, PostgresStore, Published, Quorum, StoreUrl,
    Wait,
};
use crate::purpose::{COPIED, MOVED, Purpose};
use crate::sqlite::{DataDir, Displaced, OpenError, SqliteStore, StoreError};

/// A PostgreSQL database for a log, or for what lies beside one in EventStoreDB.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Database {
    /// Where it is.
    pub url: StoreUrl,
    /// Which of its standbys must have what is acknowledged; `None` where its own disk is enough.
    pub quorum: Option<Quorum>,
    /// The cluster of EventStoreDB or KurrentDB that has the log itself.
    pub log: Option<LogUrl>,
    /// How long another process that writes is waited for.
    pub wait: Wait,
}

impl Database {
    /// One without standbys that count, which has the log.
    #[must_use]
    pub fn at(url: StoreUrl) -> Database {
        Database {
            url,
            quorum: None,
            log: None,
            wait: Wait::default(),
        }
    }

    /// What the directory notes, if its log is not there.
    fn noted(directory: &DataDir) -> Result<Option<Database>, OpenError> {
        let Some((url, log)) = directory.store_url()? else {
            return Ok(None);
        };
        Ok(Some(Database {
            log: log.map(|log| log.parse()).transpose()?,
            ..Database::at(url.parse()?)
        }))
    }
}

/// The log of a ledger and what is committed with it, wherever that is. Servers and tools open this
/// one and name no database.
#[derive(Debug)]
pub enum Backend {
    /// In `ledger.db` of the data directory.
    Sqlite(SqliteStore),
    /// In a PostgreSQL database; the data directory has the rest. Who writes owns it by the lock.
    Postgres(PostgresStore, Option<File>),
    /// In a cluster of EventStoreDB or KurrentDB, with a database beside it.
    #[cfg(feature = "eventstore")]
    Kurrent(KurrentStore, Option<File>),
}

/// Says the same to whichever store there is.
macro_rules! ask {
    ($backend:expr, $store:ident => $answer:expr) => {
        match $backend {
            Backend::Sqlite($store) => $answer,
            Backend::Postgres($store, _) => $answer,
            #[cfg(feature = "eventstore")]
            Backend::Kurrent($store, _) => $answer,
        }
    };
}

impl Backend {
    /// Becomes the writer of the ledger in `data_dir`, which is made if it does not exist; with a
    /// `database` its log lies there, and the directory notes where.
    ///
    /// # Errors
    /// See [`OpenError`]; also when the log of this directory lies elsewhere.
    pub async fn open(data_dir: &Path, database: Option<&Database>) -> Result<Backend, OpenError> {
        Backend::open_for(Purpose::Ledger, data_dir, database).await
    }

    /// Becomes the writer of the ledger in `data_dir`, wherever its log lies.
    ///
    /// # Errors
    /// See [`OpenError`].
    pub async fn open_noted(data_dir: &Path) -> Result<Backend, OpenError> {
        let directory = DataDir::at(data_dir);
        let Some(database) = Database::noted(&directory)? else {
            if !directory.ledger().exists() {
                let directory = data_dir.to_owned();
                return Err(OpenError::NoLedger { directory });
            }
            return Backend::open(data_dir, None).await;
        };
        Backend::open(data_dir, Some(&database)).await
    }

    /// Becomes the one who copies a log to this place, where there is none yet, or the part that an
    /// interrupted copy left. No ledger starts there before [`Backend::finish_copy`].
    ///
    /// # Errors
    /// See [`OpenError`].
    pub async fn open_for_copy(
        data_dir: &Path,
        database: Option<&Database>,
    ) -> Result<Backend, OpenError> {
        Backend::open_for(Purpose::Copy, data_dir, database).await
    }

    /// The copy is whole: from now on a ledger may start here.
    ///
    /// # Errors
    /// [`AppendError`]; nothing has changed, unless the outcome is unknown.
    pub async fn finish_copy(&self) -> Result<(), AppendError> {
        ask!(self, store => store.hand_over(COPIED).await)
    }

    /// Nobody ever writes to this log again. Only who still is its writer can say so, which means
    /// that nobody has written since it was opened.
    ///
    /// # Errors
    /// [`AppendError`]; nothing has changed, unless the outcome is unknown.
    pub async fn entomb(&self) -> Result<(), AppendError> {
        ask!(self, store => store.hand_over(MOVED).await)
    }

    async fn open_for(
        purpose: Purpose,
        data_dir: &Path,
        database: Option<&Database>,
    ) -> Result<Backend, OpenError> {
        let directory = DataDir::at(data_dir);
        let Some(database) = database else {
            if directory.store_url()?.is_some() {
                let directory = data_dir.to_owned();
                return Err(OpenError::InDatabase { directory });
            }
            if !directory.ledger().exists() && directory.read_model().exists() {
                let directory = data_dir.to_owned();
                return Err(OpenError::NoLog { directory });
            }
            return Ok(Backend::Sqlite(
                SqliteStore::open_for(purpose, data_dir).await?,
            ));
        };
        if directory.ledger().exists() {
            let directory = data_dir.to_owned();
            return Err(OpenError::InDirectory { directory });
        }
        let directory = DataDir::create(data_dir)?;
        let lock = Some(directory.own()?);
        let (url, quorum, wait) = (&database.url, database.quorum.clone(), database.wait);
        let backend = match &database.log {
            None => {
                let store = PostgresStore::open_for(purpose, url, quorum, wait).await?;
                Backend::Postgres(store, lock)
            }
            #[cfg(feature = "eventstore")]
            Some(log) => {
                let store = KurrentStore::open(purpose, log, url, quorum, wait).await?;
                Backend::Kurrent(store, lock)
            }
            #[cfg(not(feature = "eventstore"))]
            Some(_) => return Err(OpenError::NoEventStore),
        };
        directory.note_store_url(url.reveal(), database.log.as_ref().map(LogUrl::reveal))?;
        Ok(backend)
    }

    /// Notes in `data_dir` that the log is in `database`, for commands that read the ledger of this
    /// directory: a process that only stands by does so.
    ///
    /// # Errors
    /// [`OpenError::File`]; [`OpenError::InDirectory`] where the directory has a log of its own.
    pub fn note_address(data_dir: &Path, database: &Database) -> Result<(), OpenError> {
        let directory = DataDir::create(data_dir)?;
        if directory.ledger().exists() {
            let directory = data_dir.to_owned();
            return Err(OpenError::InDirectory { directory });
        }
        let log = database.log.as_ref().map(LogUrl::reveal);
        directory.note_store_url(database.url.reveal(), log)
    }

    /// Reads the ledger of `data_dir`, wherever its log lies, beside whoever writes it, and changes
    /// nothing.
    ///
    /// # Errors
    /// See [`OpenError`].
    pub async fn open_read_only(data_dir: &Path) -> Result<Backend, OpenError> {
        let Some(database) = Database::noted(&DataDir::at(data_dir))? else {
            let store = SqliteStore::open_read_only(data_dir).await?;
            return Ok(Backend::Sqlite(store));
        };
        match &database.log {
            None => {
                let store = PostgresStore::open_read_only(&database.url).await?;
                Ok(Backend::Postgres(store, None))
            }
            #[cfg(feature = "eventstore")]
            Some(log) => {
                let store = KurrentStore::open_read_only(log, &database.url).await?;
                Ok(Backend::Kurrent(store, None))
            }
            #[cfg(not(feature = "eventstore"))]
            Some(_) => Err(OpenError::NoEventStore),
        }
    }

    /// Reads the ledger in `database` beside whoever writes it, and shows nothing beyond the last
    /// published head. A log in a cluster is read from the database beside it, which has the leaves, too.
    ///
    /// # Errors
    /// See [`OpenError`].
    pub async fn open_following(database: &Database) -> Result<Backend, OpenError> {
        let store = PostgresStore::open_following(&database.url).await?;
        Ok(Backend::Postgres(store, None))
    }

    /// The database that has the log, or what lies beside it.
    fn database(&self) -> Option<&PostgresStore> {
        match self {
            Backend::Sqlite(_) => None,
            Backend::Postgres(store, _) => Some(store),
            #[cfg(feature = "eventstore")]
            Backend::Kurrent(store, _) => Some(store.beside()),
        }
    }

    /// How far the log is published, asked now; `None` in a data directory, where one process only is.
    ///
    /// # Errors
    /// When the database cannot be asked.
    pub async fn look(&self) -> Result<Option<Published>, PostgresError> {
        match self.database() {
            Some(store) => store.look().await.map(Some),
            None => Ok(None),
        }
    }

    /// Where the log ends in its database, published or not.
    ///
    /// # Errors
    /// [`ReadError`].
    pub async fn stored_size(&self) -> Result<u64, ReadError> {
        match self.database() {
            Some(store) => store.stored_size().await,
            None => Ok(self.head().await?.size),
        }
    }

    /// Bytes of the ledger's tables in its database, and the place where that server's write-ahead log
    /// ends; `None` in a data directory.
    ///
    /// # Errors
    /// When the database cannot be asked.
    pub async fn bytes(&self) -> Result<Option<(u64, u64)>, PostgresError> {
        match self.database() {
            Some(store) => store.bytes().await.map(Some),
            None => Ok(None),
        }
    }

    /// The lease that this process writes by; `None` in a data directory, and of one that reads.
    #[must_use]
    pub fn lease(&self) -> Option<Lease> {
        self.database().and_then(PostgresStore::lease)
    }

    /// Notes for the operator how far the process `name` follows the log.
    ///
    /// # Errors
    /// When the database cannot be written.
    pub async fn note_follower(&self, name: &str, size: u64) -> Result<(), PostgresError> {
        match self.database() {
            Some(store) => store.note_follower(name, size).await,
            None => Ok(()),
        }
    }

    /// The processes that follow the log, but for `except`, and the standbys of its database.
    ///
    /// # Errors
    /// When the database cannot be asked.
    pub async fn behind(
        &self,
        except: &str,
    ) -> Result<(Vec<Follower>, Vec<DatabaseStandby>), PostgresError> {
        match self.database() {
            Some(store) => store.behind(except).await,
            None => Ok((Vec::new(), Vec::new())),
        }
    }

    /// Where the last signed checkpoint of this log lies: in `file`, and with a database there, too.
    #[must_use]
    pub fn checkpoints(&self, file: FileCheckpointStore) -> CheckpointPlaces {
        match self {
            Backend::Sqlite(_) => CheckpointPlaces::of(file, None),
            Backend::Postgres(store, _) => CheckpointPlaces::of(file, Some(store.checkpoint())),
            #[cfg(feature = "eventstore")]
            Backend::Kurrent(store, _) => CheckpointPlaces::of(file, Some(store.checkpoint())),
        }
    }

    /// What is wrong with the form of what is stored, sentence by sentence; empty when nothing is.
    /// The form of a database is its server's business; one beside a stream has the same records.
    ///
    /// # Errors
    /// When it cannot be read.
    pub async fn problems(&self, data_dir: &Path) -> Result<Vec<String>, StoreError> {
        match self {
            Backend::Sqlite(store) => store.problems(data_dir).await,
            Backend::Postgres(..) => Ok(Vec::new()),
            #[cfg(feature = "eventstore")]
            Backend::Kurrent(store, _) => Ok(store.problems().await),
        }
    }

    /// The first of the open files that its path does not name any more; `None` for a database.
    /// Nothing is acknowledged any more then, and the ledger has to end.
    #[must_use]
    pub fn displaced(&self) -> Option<Displaced> {
        match self {
            Backend::Sqlite(store) => store.displaced(),
            Backend::Postgres(..) => None,
            #[cfg(feature = "eventstore")]
            Backend::Kurrent(..) => None,
        }
    }

    /// Returns the state of the store that keeps its ledger from acknowledging anything, if there is one.
    #[must_use]
    pub fn fault(&self) -> Option<StoreFault> {
        match self {
            Backend::Sqlite(_) | Backend::Postgres(..) => None,
            #[cfg(feature = "eventstore")]
            Backend::Kurrent(store, _) => store.fault(),
        }
    }

    /// Moves the open write-ahead log into the open database, so that this file has every commit,
    /// whatever its path is. `false` where that is not done, or the log is in a database server.
    pub async fn settle(&self) -> bool {
        match self {
            Backend::Sqlite(store) => store.settle().await,
            Backend::Postgres(..) => false,
            #[cfg(feature = "eventstore")]
            Backend::Kurrent(..) => false,
        }
    }

    /// Writes everything from the open files into the directory `target`, whatever their paths name.
    ///
    /// # Errors
    /// As [`Backend::copy_to`].
    pub async fn rescue(&self, target: &Path) -> Result<(), OpenError> {
        match self {
            Backend::Sqlite(store) => store.rescue(target).await,
            Backend::Postgres(..) => Err(PostgresError::NotHere.into()),
            #[cfg(feature = "eventstore")]
            Backend::Kurrent(..) => Err(PostgresError::NotHere.into()),
        }
    }

    /// Copies everything, as of one commit, into the directory `target`, which has no ledger yet.
    ///
    /// # Errors
    /// See [`OpenError`]; [`PostgresError::NotHere`] for a database, which has tools of its own.
    pub async fn copy_to(&self, target: &Path) -> Result<(), OpenError> {
        match self {
            Backend::Sqlite(store) => store.copy_to(target).await,
            Backend::Postgres(..) => Err(PostgresError::NotHere.into()),
            #[cfg(feature = "eventstore")]
            Backend::Kurrent(..) => Err(PostgresError::NotHere.into()),
        }
    }

    /// Closes it in order.
    pub async fn close(self) {
        ask!(self, store => store.close().await);
    }
}

impl EventLog for Backend {
    async fn append(&self, expected_size: u64, records: &[Record]) -> Result<Head, AppendError> {
        ask!(self, store => store.log().append(expected_size, records).await)
    }

    async fn read(&self, from: u64, limit: usize) -> Result<Vec<Record>, ReadError> {
        ask!(self, store => store.log().read(from, limit).await)
    }

    async fn head(&self) -> Result<Head, ReadError> {
        ask!(self, store => store.log().head().await)
    }

    async fn follow(&self, seen_size: u64) -> Result<u64, ReadError> {
        ask!(self, store => store.log().follow(seen_size).await)
    }
}

impl LedgerStore for Backend {
    type Log = Backend;

    fn log(&self) -> &Backend {
        self
    }

    asks_another!(ask);

    async fn commit(&self, commit: Commit) -> Result<Head, AppendError> {
        ask!(self, store => store.commit(commit).await)
    }

    async fn records_with_bodies(
        &self,
        positions: &[u64],
    ) -> Result<(Vec<Record>, HashMap<u64, Body>), ReadError> {
        ask!(self, store => store.records_with_bodies(positions).await)
    }
}
