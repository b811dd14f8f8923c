//! What lies in SQLite and in files keeps every promise of the ports; those of the log are in
//! [`super::log`].

use tempfile::TempDir;
use x811_ledger::conformance::{CheckpointPlace, Places, RowsPlace, StorePlace};

use super::log::run;
use crate::{FileCheckpointStore, ReadRows, SqliteStore};

/// Something, and the directory it is in, which goes with it.
struct In<T> {
    place: T,
    directory: TempDir,
}

impl StorePlace for In<SqliteStore> {
    type Store = SqliteStore;

    fn store(&self) -> &SqliteStore {
        &self.place
    }
}

impl RowsPlace for In<ReadRows> {
    type Rows = ReadRows;

    fn rows(&self) -> &ReadRows {
        &self.place
    }
}

impl CheckpointPlace for In<FileCheckpointStore> {
    type Checkpoint = FileCheckpointStore;

    fn checkpoint(&self) -> &FileCheckpointStore {
        &self.place
    }
}

struct Stores;

impl Places for Stores {
    type Place = In<SqliteStore>;

    async fn open(&self) -> Self::Place {
        let directory = TempDir::new().unwrap();
        let place = SqliteStore::open(directory.path()).await.unwrap();
        In { place, directory }
    }

    async fn reopen(&self, In { place, directory }: Self::Place) -> Option<Self::Place> {
        place.close().await;
        let place = SqliteStore::open(directory.path()).await.unwrap();
        Some(In { place, directory })
    }
}

struct Rows;

impl Places for Rows {
    type Place = In<ReadRows>;

    async fn open(&self) -> Self::Place {
        let directory = TempDir::new().unwrap();
        let place = ReadRows::open(directory.path()).await.unwrap();
        In { place, directory }
    }

    async fn reopen(&self, In { place, directory }: Self::Place) -> Option<Self::Place> {
        place.close().await;
        let place = ReadRows::open(directory.path()).await.unwrap();
        Some(In { place, directory })
    }
}

struct Checkpoints;

impl Places for Checkpoints {
    type Place = In<FileCheckpointStore>;

    async fn open(&self) -> Self::Place {
        let directory = TempDir::new().unwrap();
        let place = FileCheckpointStore::open(directory.path()).unwrap();
        In { place, directory }
    }

    async fn reopen(&self, In { place, directory }: Self::Place) -> Option<Self::Place> {
        drop(place);
        let place = FileCheckpointStore::open(directory.path()).unwrap();
        Some(In { place, directory })
    }
}

mod store {
    x811_ledger::store_conformance_tests!(super::run, super::Stores);
}

mod rows {
    x811_ledger::rows_conformance_tests!(super::run, super::Rows);
}

mod checkpoints {
    x811_ledger::checkpoint_conformance_tests!(super::run, super::Checkpoints);
}
