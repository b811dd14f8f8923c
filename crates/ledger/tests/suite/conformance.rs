//! What is kept in memory keeps every promise of the places that it stands for.

use std::sync::Arc;
use x811_ledger::conformance::{Places, RowsPlace, StorePlace};
use x811_ledger::memory::{MemoryReadModel, MemoryStore};

/// A store outlives whoever opened it.
struct Kept(Arc<MemoryStore>);

impl StorePlace for Kept {
    type Store = MemoryStore;

    fn store(&self) -> &MemoryStore {
        &self.0
    }
}

struct Stores;

impl Places for Stores {
    type Place = Kept;

    async fn open(&self) -> Kept {
        Kept(Arc::new(MemoryStore::new()))
    }

    async fn reopen(&self, place: Kept) -> Option<Kept> {
        Some(Kept(place.0.clone()))
    }
}

struct Forgotten(MemoryReadModel);

impl RowsPlace for Forgotten {
    type Rows = MemoryReadModel;

    fn rows(&self) -> &MemoryReadModel {
        &self.0
    }
}

struct Rows;

impl Places for Rows {
    type Place = Forgotten;

    async fn open(&self) -> Forgotten {
        Forgotten(MemoryReadModel::new())
    }
}

#[expect(clippy::unwrap_used, reason = "a test without a runtime has failed")]
fn run<T>(future: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    runtime.unwrap().block_on(future)
}

mod store {
    x811_ledger::store_conformance_tests!(super::run, super::Stores);
}

mod rows {
    x811_ledger::rows_conformance_tests!(super::run, super::Rows);
}
