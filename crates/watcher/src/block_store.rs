//! The tail across a restart: headers, so that a reorg that happened while the ledger was down is
//! noticed, and what moved in their blocks. What is stored is a hint: it is checked when loaded, and
//! losing it costs only time.

use std::collections::BTreeMap;
use std::future::Future;
use std::sync::{Mutex, PoisonError};

use crate::source::{Header, TokenTransaction};

/// One block as the tail holds it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TailBlock {
    /// Header of the block.
    pub header: Header,
    /// What moved in it.
    pub transactions: Vec<TokenTransaction>,
}

/// What changed in a tail. Blocks below `keep_from` and at or above `replace_from` go, then `added`
/// comes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TailChange<'a> {
    /// Height of the oldest block that is kept.
    pub keep_from: u64,
    /// Height of the lowest block that is replaced.
    pub replace_from: u64,
    /// The new blocks, oldest first, linked to each other and to what stays.
    pub added: &'a [TailBlock],
}

/// Where a watcher keeps its tail. Implemented by whoever owns the ledger's files.
pub trait BlockStore: Send + Sync + 'static {
    /// The blocks last saved for `network`, oldest first; none when nothing was saved.
    fn load(
        &self,
        network: &str,
    ) -> impl Future<Output = Result<Vec<TailBlock>, BlockStoreError>> + Send;

    /// Takes `change` over for `network`, at every new block.
    fn save(
        &self,
        network: &str,
        change: TailChange<'_>,
    ) -> impl Future<Output = Result<(), BlockStoreError>> + Send;
}

/// The tail could not be loaded or saved.
#[derive(Debug, thiserror::Error)]
#[error("the blocks of a network could not be kept: {0}")]
pub struct BlockStoreError(#[source] Box<dyn std::error::Error + Send + Sync>);

impl BlockStoreError {
    /// A failure of the backend, with its cause.
    pub fn new(cause: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> BlockStoreError {
        BlockStoreError(cause.into())
    }
}

/// Keeps tails in memory: for tests, and for whoever accepts that a reorg during downtime is seen
/// only from receipts.
#[derive(Debug, Default)]
pub struct MemoryBlockStore {
    tails: Mutex<BTreeMap<String, BTreeMap<u64, TailBlock>>>,
}

impl BlockStore for MemoryBlockStore {
    async fn load(&self, network: &str) -> Result<Vec<TailBlock>, BlockStoreError> {
        let tails = self.tails.lock().unwrap_or_else(PoisonError::into_inner);
        let tail = tails.get(network);
        Ok(tail.map_or_else(Vec::new, |tail| tail.values().cloned().collect()))
    }

    async fn save(&self, network: &str, change: TailChange<'_>) -> Result<(), BlockStoreError> {
        let mut tails = self.tails.lock().unwrap_or_else(PoisonError::into_inner);
        let tail = tails.entry(network.to_owned()).or_default();
        tail.retain(|number, _| (change.keep_from..change.replace_from).contains(number));
        let added = change.added.iter();
        tail.extend(added.map(|block| (block.header.number, block.clone())));
        Ok(())
    }
}
