//! An endpoint whose calls are counted, and whose new heads can be held back for a while.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use serde::Serialize;
use x811_protocol::evm::{BlockHash, ChainId, EvmAddress, TxHash};
use x811_watcher::{
    CallAnswer, ChainSource, HeadTag, Header, ReceiptAnswer, RpcSource, SourceError,
    TokenTransaction,
};

/// What has been asked so far.
#[derive(Debug, Default)]
pub(super) struct Meter {
    heads: AtomicU64,
    headers: AtomicU64,
    logs: AtomicU64,
    levels: AtomicU64,
    receipts: AtomicU64,
    seen: Mutex<Seen>,
}

#[derive(Debug, Default)]
struct Seen {
    head: Option<Header>,
    is_held: bool,
}

/// Calls by kind. A request for the head that finds the old one is not counted: how many of those
/// there are says how often somebody asks, not what a block costs.
#[derive(Debug, Clone, Copy, Default, Serialize)]
pub(super) struct Calls {
    pub(super) heads: u64,
    pub(super) headers: u64,
    pub(super) logs: u64,
    /// For the `safe` and the `finalized` head.
    pub(super) levels: u64,
    pub(super) receipts: u64,
}

impl Calls {
    pub(super) fn all(self) -> u64 {
        self.heads + self.headers + self.logs + self.levels + self.receipts
    }

    pub(super) fn since(self, before: Calls) -> Calls {
        Calls {
            heads: self.heads - before.heads,
            headers: self.headers - before.headers,
            logs: self.logs - before.logs,
            levels: self.levels - before.levels,
            receipts: self.receipts - before.receipts,
        }
    }
}

impl Meter {
    pub(super) fn calls(&self) -> Calls {
        let read = |count: &AtomicU64| count.load(Ordering::Relaxed);
        Calls {
            heads: read(&self.heads),
            headers: read(&self.headers),
            logs: read(&self.logs),
            levels: read(&self.levels),
            receipts: read(&self.receipts),
        }
    }

    /// From now on the newest head is the one that was seen last.
    pub(super) fn hold(&self) {
        self.seen().is_held = true;
    }

    /// From now on it is the endpoint's again.
    pub(super) fn release(&self) {
        self.seen().is_held = false;
    }

    fn seen(&self) -> std::sync::MutexGuard<'_, Seen> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn held(&self) -> Option<Header> {
        let seen = self.seen();
        seen.head.filter(|_| seen.is_held)
    }

    fn saw(&self, head: Option<Header>) {
        let mut seen = self.seen();
        if seen.head != head {
            self.heads.fetch_add(1, Ordering::Relaxed);
            seen.head = head;
        }
    }
}

pub(super) struct Metered {
    source: RpcSource,
    meter: Arc<Meter>,
}

impl Metered {
    pub(super) fn new(source: RpcSource, meter: Arc<Meter>) -> Metered {
        Metered { source, meter }
    }
}

fn count(counter: &AtomicU64, calls: usize) {
    let calls = u64::try_from(calls).unwrap_or(u64::MAX);
    counter.fetch_add(calls, Ordering::Relaxed);
}

impl ChainSource for Metered {
    async fn chain_id(&self) -> Result<ChainId, SourceError> {
        self.source.chain_id().await
    }

    async fn code_at(&self, address: EvmAddress) -> Result<bool, SourceError> {
        self.source.code_at(address).await
    }

    async fn token_decimals(&self, token: EvmAddress) -> Result<Option<u8>, SourceError> {
        self.source.token_decimals(token).await
    }

    async fn call(
        &self,
        to: EvmAddress,
        input: &[u8],
        as_of: BlockHash,
    ) -> Result<CallAnswer, SourceError> {
        self.source.call(to, input, as_of).await
    }

    async fn head(&self, tag: HeadTag) -> Result<Option<Header>, SourceError> {
        if tag != HeadTag::Latest {
            count(&self.meter.levels, 1);
            return self.source.head(tag).await;
        }
        if let Some(held) = self.meter.held() {
            return Ok(Some(held));
        }
        let head = self.source.head(tag).await?;
        self.meter.saw(head);
        Ok(head)
    }

    async fn header_by_hash(&self, hash: BlockHash) -> Result<Option<Header>, SourceError> {
        count(&self.meter.headers, 1);
        self.source.header_by_hash(hash).await
    }

    async fn header_by_number(&self, number: u64) -> Result<Option<Header>, SourceError> {
        count(&self.meter.headers, 1);
        self.source.header_by_number(number).await
    }

    async fn transfers_in(
        &self,
        block: BlockHash,
        token: EvmAddress,
    ) -> Result<Vec<TokenTransaction>, SourceError> {
        count(&self.meter.logs, 1);
        self.source.transfers_in(block, token).await
    }

    async fn receipts(
        &self,
        transactions: &[TxHash],
        token: EvmAddress,
        as_of: BlockHash,
    ) -> Result<Vec<ReceiptAnswer>, SourceError> {
        let answers = self.source.receipts(transactions, token, as_of).await;
        // Counted when answered: who waits for the count then finds the answers used soon.
        count(&self.meter.receipts, transactions.len());
        answers
    }
}
