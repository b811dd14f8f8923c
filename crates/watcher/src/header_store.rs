//! The header window across a restart. Without it a reorg that happened while the ledger was down
//! would go unnoticed. What is stored is a hint: it is checked when loaded, and losing it costs
//! only time.

use std::collections::BTreeMap;
use std::future::Future;
use std::sync::{Mutex, PoisonError};

use crate::source::Header;

/// Where a watcher keeps its window. Implemented by whoever owns the ledger's files.
pub trait HeaderStore: Send + Sync + 'static {
    /// The headers last saved for `network`, oldest first; none when nothing was saved.
    fn load(
        &self,
        network: &str,
    ) -> impl Future<Output = Result<Vec<Header>, HeaderStoreError>> + Send;

    /// Replaces what is saved for `network` by `headers`, oldest first (some 256 of them, at every
    /// new block).
    fn save(
        &self,
        network: &str,
        headers: &[Header],
    ) -> impl Future<Output = Result<(), HeaderStoreError>> + Send;
}

/// The window could not be loaded or saved.
#[derive(Debug, thiserror::Error)]
#[error("the block headers of a network could not be kept: {0}")]
pub struct HeaderStoreError(#[source] Box<dyn std::error::Error + Send + Sync>);

impl HeaderStoreError {
    /// A failure of the backend, with its cause.
    pub fn new(cause: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> HeaderStoreError {
        HeaderStoreError(cause.into())
    }
}

/// Keeps windows in memory: for tests, and for whoever accepts that a reorg during downtime is
/// seen only from receipts.
#[derive(Debug, Default)]
pub struct MemoryHeaderStore {
    windows: Mutex<BTreeMap<String, Vec<Header>>>,
}

impl HeaderStore for MemoryHeaderStore {
    async fn load(&self, network: &str) -> Result<Vec<Header>, HeaderStoreError> {
        let windows = self.windows.lock().unwrap_or_else(PoisonError::into_inner);
        Ok(windows.get(network).cloned().unwrap_or_default())
    }

    async fn save(&self, network: &str, headers: &[Header]) -> Result<(), HeaderStoreError> {
        let mut windows = self.windows.lock().unwrap_or_else(PoisonError::into_inner);
        windows.insert(network.to_owned(), headers.to_vec());
        Ok(())
    }
}
