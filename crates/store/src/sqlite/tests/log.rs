//! The log inside the store keeps every promise of `EventLog`.

use std::future::Future;

use tempfile::TempDir;
use x811_eventlog::conformance::Backend;
use x811_eventlog::{AppendError, EventLog, Head, ReadError, Record};
use x811_ledger::port::LedgerStore;

use crate::SqliteStore;

/// A store and the directory it is in, which goes when the log goes.
struct StoredLog {
    store: SqliteStore,
    directory: TempDir,
}

impl EventLog for StoredLog {
    async fn append(&self, expected_size: u64, records: &[Record]) -> Result<Head, AppendError> {
        self.store.log().append(expected_size, records).await
    }

    async fn read(&self, from: u64, limit: usize) -> Result<Vec<Record>, ReadError> {
        self.store.log().read(from, limit).await
    }

    async fn head(&self) -> Result<Head, ReadError> {
        self.store.log().head().await
    }

    async fn follow(&self, seen_size: u64) -> Result<u64, ReadError> {
        self.store.log().follow(seen_size).await
    }
}

struct Sqlite;

impl Backend for Sqlite {
    type Log = StoredLog;

    async fn open(&self) -> StoredLog {
        let directory = TempDir::new().unwrap();
        let store = SqliteStore::open(directory.path()).await.unwrap();
        StoredLog { store, directory }
    }

    async fn reopen(&self, log: StoredLog) -> Option<StoredLog> {
        let StoredLog { store, directory } = log;
        drop(store);
        let store = SqliteStore::open(directory.path()).await.unwrap();
        Some(StoredLog { store, directory })
    }
}

pub(super) fn run<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap()
        .block_on(future)
}

x811_eventlog::conformance_tests!(run, Sqlite);
