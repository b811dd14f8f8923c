//! The database beside a stream without the stream, and the stream as it is: for a log whose stream is
//! damaged, hidden or lost (docs/decisions/0300).

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

use x811_protocol::digest::Digest;

use super::{Backend, Database};
#[cfg(feature = "eventstore")]
use crate::kurrent::KurrentStore;
#[cfg(feature = "eventstore")]
use crate::postgres::Wait;
use crate::postgres::{PostgresError, PostgresStore};
#[cfg(feature = "eventstore")]
use crate::purpose::Purpose;
use crate::sqlite::{DataDir, OpenError};

impl Backend {
    /// Returns true if the log of `data_dir` is in a stream of EventStoreDB or KurrentDB, as the directory
    /// notes.
    ///
    /// # Errors
    /// See [`OpenError`].
    pub fn is_in_stream(data_dir: &Path) -> Result<bool, OpenError> {
        let noted = Database::noted(&DataDir::at(data_dir))?;
        Ok(noted.is_some_and(|database| database.log.is_some()))
    }

    /// Becomes the writer of the log of `data_dir` in the database beside its stream, and asks nothing of
    /// the cluster, which may be gone. The database has every leaf, so the whole log can be read from it.
    ///
    /// # Errors
    /// See [`OpenError`]; [`OpenError::NoLedger`] where the log is in no stream.
    pub async fn open_beside_only(data_dir: &Path) -> Result<Backend, OpenError> {
        let directory = DataDir::at(data_dir);
        match Database::noted(&directory)? {
            #[cfg(feature = "eventstore")]
            Some(Database {
                url, log: Some(_), ..
            }) => {
                let lock = Some(directory.own()?);
                // Nothing is made in a database that has no ledger.
                PostgresStore::open_read_only(&url).await?.close().await;
                let (purpose, wait) = (Purpose::Ledger, Wait::default());
                let store = PostgresStore::open_beside(purpose, &url, None, wait).await?;
                Ok(Backend::Postgres(store, lock))
            }
            #[cfg(not(feature = "eventstore"))]
            Some(Database { log: Some(_), .. }) => Err(OpenError::NoEventStore),
            Some(_) | None => Err(in_no_stream(data_dir)),
        }
    }

    /// Reads the log of `data_dir` from the database beside its stream, while others may write to it.
    ///
    /// # Errors
    /// See [`OpenError`]; [`OpenError::NoLedger`] where the log is in no stream.
    pub async fn read_beside_only(data_dir: &Path) -> Result<Backend, OpenError> {
        match Database::noted(&DataDir::at(data_dir))? {
            Some(Database {
                url, log: Some(_), ..
            }) => {
                let store = PostgresStore::open_read_only(&url).await?;
                Ok(Backend::Postgres(store, None))
            }
            Some(_) | None => Err(in_no_stream(data_dir)),
        }
    }

    /// Reads the log of `data_dir` from its stream, though the stream may hide records or have lost them.
    ///
    /// # Errors
    /// See [`OpenError`]; [`OpenError::NoLedger`] where the log is in no stream.
    pub async fn read_stream_only(data_dir: &Path) -> Result<Backend, OpenError> {
        match Database::noted(&DataDir::at(data_dir))? {
            #[cfg(feature = "eventstore")]
            Some(Database {
                url,
                log: Some(log),
                ..
            }) => {
                let store = KurrentStore::open_as_it_is(&log, &url).await?;
                Ok(Backend::Kurrent(store, None))
            }
            #[cfg(not(feature = "eventstore"))]
            Some(Database { log: Some(_), .. }) => Err(OpenError::NoEventStore),
            Some(_) | None => Err(in_no_stream(data_dir)),
        }
    }

    /// Becomes the writer of the log of `data_dir`, whose stream ends otherwise than the database beside it,
    /// and reads the records from the stream.
    ///
    /// # Errors
    /// See [`OpenError`]; [`OpenError::NoLedger`] where the log is in no stream.
    pub async fn open_stream_only(data_dir: &Path) -> Result<Backend, OpenError> {
        let directory = DataDir::at(data_dir);
        match Database::noted(&directory)? {
            #[cfg(feature = "eventstore")]
            Some(Database {
                url,
                log: Some(log),
                ..
            }) => {
                let lock = Some(directory.own()?);
                let store = KurrentStore::open_unmatched(&log, &url).await?;
                Ok(Backend::Kurrent(store, lock))
            }
            #[cfg(not(feature = "eventstore"))]
            Some(Database { log: Some(_), .. }) => Err(OpenError::NoEventStore),
            Some(_) | None => Err(in_no_stream(data_dir)),
        }
    }

    /// Returns those of these bodies that were staged in the database beside a stream, by position. They
    /// are durable before their records are in the stream.
    ///
    /// # Errors
    /// [`PostgresError`]; also where the database has a log of its own, for which nothing is staged.
    pub async fn staged_bodies(
        &self,
        named: &[(u64, Digest)],
    ) -> Result<HashMap<u64, Arc<[u8]>>, PostgresError> {
        match self.database() {
            Some(store) => store.staged(named).await,
            None => Ok(HashMap::new()),
        }
    }
}

fn in_no_stream(data_dir: &Path) -> OpenError {
    let directory = data_dir.to_owned();
    OpenError::NoLedger { directory }
}
