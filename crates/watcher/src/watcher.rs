//! The task that watches one network through one endpoint by polling.
//!
//! Each poll: the latest head, the headers between it and what is held, and, when head or watched
//! set are new, a receipt for every watched hash. Then one [`Sweep`] with all of them, as of that
//! head. On any failure nothing advances and the poll is repeated later.

use std::collections::{BTreeMap, BTreeSet};
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use futures_util::stream::{self, StreamExt as _, TryStreamExt as _};
use tokio::sync::{mpsc, watch};
use tokio::time::Instant;
use x811_protocol::evm::{BlockHash, ChainId, EvmAddress, TxHash};
use x811_protocol::observation::{
    BlindCause, MinedTransaction, Observation, Sweep, TransactionStatus,
};

use crate::checks::{CheckFailure, Misfit, verify_chain_id, verify_endpoint};
use crate::header_store::HeaderStore;
use crate::placement::{Placement, confirm_below, place};
use crate::plan::{DueCheck, Plan, Retry};
use crate::source::{ChainSource, HeadTag, Header, SourceError};
use crate::window::{Branch, Extension, MIN_CAPACITY_BLOCKS, Splice, StrayHeader, Window};

/// Receipts asked for at the same time.
const RECEIPTS_IN_FLIGHT: usize = 8;

/// Headers kept of a gap that cannot be filled: more than a fillable gap has.
const MOST_WALKED: usize = 4 * MIN_CAPACITY_BLOCKS;

/// What to watch, and how.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WatchedNetwork {
    /// The name that observations carry.
    pub name: String,
    /// EIP-155 chain id that the endpoint must have.
    pub chain_id: ChainId,
    /// The USDC contract.
    pub token: EvmAddress,
    /// Blocks at which a transfer counts as confirmed: so many headers are held from the start.
    pub confirmed_depth: u64,
    /// Pause between two polls.
    pub poll_ms: u64,
    /// How the endpoint is called in observations and logs; never its URL.
    pub endpoint_label: String,
}

/// Watches one network and reports what it sees.
#[derive(Debug)]
pub struct Watcher<S, H> {
    source: S,
    network: WatchedNetwork,
    header_store: H,
    watched: watch::Receiver<Arc<BTreeSet<TxHash>>>,
    observations: mpsc::Sender<Observation>,
    window: Window,
    /// Headers fetched for a gap that is not filled yet. By hash they stay true, so that an
    /// endpoint that fails now and then is not asked for all of them again.
    walked: BTreeMap<BlockHash, Header>,
    plan: Plan,
    started: Instant,
}

/// Why a poll led to nothing.
#[derive(Debug, thiserror::Error)]
enum PollFailure {
    #[error(transparent)]
    Source(#[from] SourceError),
    #[error(transparent)]
    Misfit(#[from] Misfit),
    #[error("the RPC endpoint names no latest block; use an endpoint that is in sync")]
    NoHead,
    #[error(
        "the RPC endpoint does not have block {number} or one below it; it is behind, or several \
         nodes answer for it"
    )]
    UnknownParent { number: u64 },
    #[error(transparent)]
    Stray(#[from] StrayHeader),
    #[error("nobody takes the observations any more")]
    Closed,
}

impl From<CheckFailure> for PollFailure {
    fn from(failure: CheckFailure) -> PollFailure {
        match failure {
            CheckFailure::Misfit(misfit) => PollFailure::Misfit(misfit),
            CheckFailure::Unreachable(error) => PollFailure::Source(error),
        }
    }
}

impl PollFailure {
    /// What the ledger is told; nothing when the endpoint answers and only its answers do not yet
    /// fit together. Its head then grows old, and the ledger judges that itself.
    fn blind_cause(&self) -> Option<BlindCause> {
        match self {
            PollFailure::Source(_) | PollFailure::NoHead => Some(BlindCause::Unreachable),
            PollFailure::Misfit(_) => Some(BlindCause::WrongChain),
            PollFailure::UnknownParent { .. } | PollFailure::Stray(_) | PollFailure::Closed => None,
        }
    }
}

impl<S: ChainSource, H: HeaderStore> Watcher<S, H> {
    /// A watcher of `network` through `source`. `watched` is the set of transactions to report on;
    /// the watcher stops when nobody receives `observations`.
    pub fn new(
        source: S,
        network: WatchedNetwork,
        header_store: H,
        watched: watch::Receiver<Arc<BTreeSet<TxHash>>>,
        observations: mpsc::Sender<Observation>,
    ) -> Watcher<S, H> {
        let fill_blocks = fill_blocks(&network);
        let plan = Plan::new(jitter_seed(&network));
        Watcher {
            source,
            network,
            header_store,
            watched,
            observations,
            window: Window::new(fill_blocks),
            walked: BTreeMap::new(),
            plan,
            started: Instant::now(),
        }
    }

    /// Watches until `shutdown` is ready. It may be ready at any point: nothing is half done.
    pub async fn run(mut self, shutdown: impl Future<Output = ()> + Send) {
        tokio::select! {
            () = shutdown => {}
            () = self.watch() => {}
        }
    }

    async fn watch(&mut self) {
        self.restore_window().await;
        loop {
            match self.poll().await {
                Ok(()) => {
                    if self.plan.succeeded() {
                        tracing::info!(network = self.network.name, "the network is seen again");
                    }
                    self.rest().await;
                }
                Err(PollFailure::Closed) => return,
                Err(failure) => {
                    let blind = self.blind_cause(&failure).is_some();
                    let retry = self.plan.failed(self.now_ms(), blind);
                    if self.report(&failure, retry).await.is_err() {
                        return;
                    }
                    tokio::time::sleep(Duration::from_millis(retry.after_ms)).await;
                }
            }
        }
    }

    async fn restore_window(&mut self) {
        let fill_blocks = fill_blocks(&self.network);
        let stored = match self.header_store.load(&self.network.name).await {
            Ok(stored) => Window::restore(stored, fill_blocks).map_err(|broken| broken.to_string()),
            Err(error) => Err(error.to_string()),
        };
        match stored {
            Ok(window) => self.window = window,
            Err(reason) => {
                tracing::warn!(
                    network = self.network.name,
                    reason,
                    "starts without stored headers"
                );
            }
        }
    }

    /// Sleeps until the next poll; a change of the watched set ends the sleep.
    async fn rest(&mut self) {
        let poll = tokio::time::sleep(Duration::from_millis(self.network.poll_ms));
        tokio::select! {
            () = poll => {}
            Ok(()) = self.watched.changed() => {}
        }
    }

    async fn poll(&mut self) -> Result<(), PollFailure> {
        self.check(self.plan.due_check(self.now_ms())).await?;
        let head = self
            .source
            .head(HeadTag::Latest)
            .await?
            .ok_or(PollFailure::NoHead)?;
        if !self.follow(head).await? {
            return Ok(());
        }
        let watched = Arc::clone(&self.watched.borrow_and_update());
        let Some(unasked) = self.plan.unasked(&head, &watched) else {
            return Ok(());
        };
        if self.plan.levels_due(head.number) {
            let safe_number = self.level(HeadTag::Safe).await?;
            let final_number = self.level(HeadTag::Finalized).await?;
            self.plan.set_levels(head.number, safe_number, final_number);
        }
        let answers = self.statuses(unasked).await?;
        let levels = self.plan.levels();
        let sweep = Sweep {
            network: self.network.name.clone(),
            head: head.block(),
            safe_number: levels.safe_number,
            final_number: levels.final_number,
            endpoints: vec![self.network.endpoint_label.clone()],
            transactions: self.plan.sweep(&head, &watched, answers),
        };
        self.send(Observation::Sweep(sweep)).await
    }

    async fn check(&mut self, due: Option<DueCheck>) -> Result<(), PollFailure> {
        let WatchedNetwork {
            chain_id, token, ..
        } = self.network;
        match due {
            None => return Ok(()),
            Some(DueCheck::Everything) => verify_endpoint(&self.source, chain_id, token).await?,
            Some(DueCheck::ChainId) => verify_chain_id(&self.source, chain_id).await?,
        }
        self.plan.proven(self.now_ms());
        Ok(())
    }

    /// Makes `head` the window's tip. `false` when it is older than what was already seen: an
    /// endpoint that lags has no say (settlement-watcher.md rule 25).
    async fn follow(&mut self, head: Header) -> Result<bool, PollFailure> {
        let mut extension = self.window.extend(head);
        loop {
            extension = match extension {
                Extension::Unchanged => return Ok(true),
                Extension::Behind => {
                    let (network, head_number) = (&self.network.name, head.number);
                    tracing::debug!(network, head_number, "the endpoint's head went back");
                    return Ok(false);
                }
                Extension::Ready(splice) => {
                    self.accept(splice).await?;
                    return Ok(true);
                }
                Extension::Needs(branch) => {
                    let number = head.number;
                    let parent = self.parent(&branch).await?;
                    let parent = parent.ok_or(PollFailure::UnknownParent { number })?;
                    // A header that does not link must not be served from memory next time.
                    self.window
                        .resume(branch, parent)
                        .inspect_err(|_| self.walked.clear())?
                }
            };
        }
    }

    async fn parent(&mut self, branch: &Branch) -> Result<Option<Header>, SourceError> {
        let hash = branch.missing();
        if let Some(walked) = self.walked.get(&hash) {
            return Ok(Some(*walked));
        }
        let parent = self.source.header_by_hash(hash).await?;
        if self.walked.len() >= MOST_WALKED {
            self.walked.clear();
        }
        self.walked.extend(parent.map(|header| (hash, header)));
        Ok(parent)
    }

    /// Takes the new branch over. Before held headers are given up for it, the endpoint must show
    /// that it did not simply come to serve another chain.
    async fn accept(&mut self, splice: Splice) -> Result<(), PollFailure> {
        if splice.dropped() > 0 {
            self.check(Some(DueCheck::ChainId)).await?;
            let (network, dropped_blocks) = (&self.network.name, splice.dropped());
            if splice.is_restart() {
                tracing::warn!(
                    network,
                    dropped_blocks,
                    "the head descends from no held header"
                );
            } else {
                tracing::warn!(network, dropped_blocks, "reorg");
            }
            self.plan.reorganised();
        }
        self.window.accept(splice);
        self.walked.clear();
        let saved = self
            .header_store
            .save(&self.network.name, self.window.headers())
            .await;
        if let Err(error) = saved {
            tracing::warn!(network = self.network.name, %error, "headers not saved");
        }
        Ok(())
    }

    /// The height of a `safe` or `finalized` head. An endpoint that has no such word is tolerated,
    /// and one that names a block of another branch is not believed.
    async fn level(&self, tag: HeadTag) -> Result<Option<u64>, SourceError> {
        match self.source.head(tag).await {
            Ok(named) => Ok(named
                .filter(|level| {
                    self.window
                        .at(level.number)
                        .is_none_or(|held| held == level)
                })
                .map(|level| level.number)),
            Err(SourceError::Refused { .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }

    async fn statuses(
        &self,
        transactions: Vec<TxHash>,
    ) -> Result<BTreeMap<TxHash, TransactionStatus>, SourceError> {
        let asked: Vec<_> = transactions.into_iter().map(|tx| self.status(tx)).collect();
        stream::iter(asked)
            .buffer_unordered(RECEIPTS_IN_FLIGHT)
            .try_collect()
            .await
    }

    /// Where one transaction stands. A receipt that does not fit the held branch counts as not
    /// found this time: the next head settles it. So does one too large to read, which its sender
    /// alone brings about; it must not keep all other payments from being seen.
    async fn status(&self, tx: TxHash) -> Result<(TxHash, TransactionStatus), SourceError> {
        let receipt = match self.source.receipt(tx, self.network.token).await {
            Ok(Some(receipt)) => receipt,
            Ok(None) => return Ok((tx, TransactionStatus::NotFound)),
            Err(error @ SourceError::TooLarge { .. }) => {
                tracing::warn!(network = self.network.name, %tx, %error, "receipt not read");
                return Ok((tx, TransactionStatus::NotFound));
            }
            Err(error) => return Err(error),
        };
        let block = match place(&self.window, tx, &receipt) {
            Placement::Held(block) => Some(block),
            Placement::BelowWindow => {
                let canonical = self.source.header_by_number(receipt.block_number).await?;
                confirm_below(&receipt, canonical)
            }
            Placement::Elsewhere => None,
        };
        let status = block.map_or(TransactionStatus::NotFound, |block| {
            let (succeeded, transfers) = (receipt.succeeded, receipt.transfers);
            TransactionStatus::Mined(MinedTransaction {
                block,
                succeeded,
                transfers,
            })
        });
        Ok((tx, status))
    }

    /// Logs a failure once, at its beginning, and tells the ledger when it is time to.
    /// Before the first head there is none that could grow old: then every failure is told.
    fn blind_cause(&self, failure: &PollFailure) -> Option<BlindCause> {
        let first = self
            .window
            .tip()
            .is_none()
            .then_some(BlindCause::Unreachable);
        failure.blind_cause().or(first)
    }

    async fn report(&self, failure: &PollFailure, retry: Retry) -> Result<(), PollFailure> {
        let (network, endpoint) = (&self.network.name, &self.network.endpoint_label);
        if retry.first {
            tracing::warn!(network, endpoint, error = %failure, "the network is not seen");
        } else {
            tracing::debug!(network, endpoint, error = %failure, "still not seen");
        }
        match self.blind_cause(failure).filter(|_| retry.report) {
            Some(cause) => {
                self.send(Observation::Unreachable {
                    network: network.clone(),
                    cause,
                })
                .await
            }
            None => Ok(()),
        }
    }

    async fn send(&self, observation: Observation) -> Result<(), PollFailure> {
        self.observations
            .send(observation)
            .await
            .map_err(|_| PollFailure::Closed)
    }

    fn now_ms(&self) -> u64 {
        u64::try_from(self.started.elapsed().as_millis()).unwrap_or(u64::MAX)
    }
}

fn fill_blocks(network: &WatchedNetwork) -> usize {
    usize::try_from(network.confirmed_depth).unwrap_or(usize::MAX)
}

/// FNV-1a over the endpoint's label, so that equal watchers scatter alike and others do not.
fn jitter_seed(network: &WatchedNetwork) -> u64 {
    let label = network.name.bytes().chain(network.endpoint_label.bytes());
    label.fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}
