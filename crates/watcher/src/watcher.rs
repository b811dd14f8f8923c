//! The task that watches one network: it follows one branch by hash, block by block, and says where
//! each watched transaction stands.
//!
//! A look is: the endpoints' heads, the agreed head, which is the highest block that as many of them
//! as must agree carry, the headers between it and what is held, and for each new block the token's
//! transfers. Then receipts for what the blocks cannot answer or one endpoint alone says, and one
//! [`Sweep`] of all that can be said, as of the agreed head. Whatever fails, nothing advances, and it
//! is tried again later. What a look costs does not depend on how many transactions are watched.
//!
//! [`Sweep`]: x811_protocol::observation::Sweep

mod agree;
mod follow;
mod settle;

use std::collections::{BTreeMap, BTreeSet};
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use imbl::OrdSet;
use tokio::sync::{mpsc, watch};
use tokio::time::Instant;
use x811_protocol::evm::{BlockHash, ChainId, EvmAddress, TxHash};
use x811_protocol::observation::{BlindCause, Block, Observation, RecordedBranch};
use x811_protocol::parameters::FinalBy;

use crate::block_store::BlockStore;
use crate::endpoint::{Endpoint, Tracked};
use crate::health::NetworkHealth;
use crate::index::TransferIndex;
use crate::new_heads::NewHeads;
use crate::orphans::Orphans;
use crate::pace::Pace;
use crate::source::{ChainSource, Header, TokenTransaction};
use crate::verdict::EndpointId;
use crate::watchlist::Watchlist;
use crate::window::Window;

/// A network that cannot be seen is reported at most this often.
const REPORT_EVERY_MS: u64 = 1_000;

/// The transactions to watch. A change to a clone costs as much as it differs, for both sides.
pub type WatchedSet = OrdSet<TxHash>;

/// Tells what the ledger waits for, once it has this head.
pub type Expecting = Arc<dyn Fn(&Reported<'_>) -> Expected + Send + Sync>;

/// What the ledger is about to be told, and should have been told before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reported<'a> {
    /// The agreed head that it is told of.
    pub head: Block,
    /// Transactions that are in no block any more, or that were asked for in vain. The ledger may
    /// not know: what it was told is lost when it cannot write.
    pub missing: &'a BTreeSet<TxHash>,
}

/// Tells whose accounts a transaction is to move money between.
pub type AccountsOf = Arc<dyn Fn(TxHash) -> BTreeSet<EvmAddress> + Send + Sync>;

/// Of what the ledger is to be told again, although nothing has changed.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Expected {
    /// Transactions that a look waits for, and missing ones that the ledger takes to be in a block.
    /// They are asked for again when they are nowhere to be found; all others only long after, a
    /// few at a time.
    pub looked_for: BTreeSet<TxHash>,
    /// Transactions of payments that may be decided when they are seen together: in part deep, in
    /// part not, or not yet *safe*; or declared by a payment of late that is not the first to do so.
    pub undecided: BTreeSet<TxHash>,
    /// Heads recorded before, by height and hash: whether they are on the branch has to be known.
    pub recorded: BTreeSet<(u64, BlockHash)>,
    /// Heights of blocks that are waited for: of each its header, once it is confirmed-deep.
    pub headers: BTreeSet<u64>,
}

/// What to watch, and how.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WatchedNetwork {
    /// The name that observations carry.
    pub name: String,
    /// EIP-155 chain id that every endpoint must have.
    pub chain_id: ChainId,
    /// The USDC contract.
    pub token: EvmAddress,
    /// Blocks at which a transfer counts as confirmed: so many headers are held from the start, and
    /// there a payment may be confirmed.
    pub confirmed_depth: u64,
    /// Condition for *safe* and *final* blocks. With depth, named heads are not requested.
    pub final_by: FinalBy,
    /// Pause between two requests for the head while a block is due.
    pub poll_ms: u64,
    /// Time between two blocks: so long the head is not asked for after a new one. 0 where it is not
    /// known.
    pub block_ms: u64,
}

/// Where the watcher and the ledger meet.
#[derive(Clone)]
pub struct Channels {
    /// The transactions to report on.
    pub watched: watch::Receiver<WatchedSet>,
    /// Those that it waits for.
    pub expecting: Expecting,
    /// Payer and payee of a transaction, asked where it failed.
    pub accounts_of: AccountsOf,
    /// What is seen; the watcher stops when nobody receives it.
    pub observations: mpsc::Sender<Observation>,
}

/// Watches one network and reports what it sees.
pub struct Watcher<S, B> {
    network: WatchedNetwork,
    endpoints: Vec<Tracked<S>>,
    /// The endpoint that headers and transfers are asked of.
    leader: EndpointId,
    /// Those of whom is known that they carry the tip.
    carriers: BTreeSet<EndpointId>,
    block_store: B,
    channels: Channels,
    new_heads: Vec<NewHeads>,
    /// The head that was announced last.
    announced: watch::Receiver<Option<Block>>,
    announcer: watch::Sender<Option<Block>>,
    window: Window,
    index: TransferIndex,
    watchlist: Watchlist,
    orphans: Orphans,
    /// The first head that this watcher followed to.
    followed_from: Option<u64>,
    /// Recorded heads below all indexed blocks, as the leader said where they stand.
    recorded_below: BTreeMap<BlockHash, RecordedBranch>,
    /// So many endpoints must agree before anything is concluded.
    quorum: usize,
    fetched: Fetched,
    pace: Pace,
    levels_at: LevelsAsked,
    /// The head of the last whole sweep.
    swept: Option<BlockHash>,
    /// Who contradicts what was found of which transaction: each is counted once.
    contradicted: BTreeSet<(TxHash, EndpointId)>,
    health: NetworkHealth,
    published: watch::Sender<NetworkHealth>,
    failing: bool,
    /// Too few endpoints agree on a head.
    is_alone: bool,
    reported_at_ms: Option<u64>,
    started: Instant,
}

/// What was fetched for a gap that is not filled yet, so that an endpoint that fails now and then is
/// not asked for all of it again. What moved is the word of the endpoint that gave it, whoever fills
/// the gap.
#[derive(Debug, Default)]
struct Fetched {
    headers: BTreeMap<BlockHash, Header>,
    /// Of a branch that one endpoint alone has, by endpoint.
    below: BTreeMap<(EndpointId, BlockHash), Header>,
    transfers: BTreeMap<BlockHash, (EndpointId, Vec<TokenTransaction>)>,
    /// Blocks whose transfers are not known.
    holes: BTreeSet<BlockHash>,
    /// Number of failed requests for the transfers of a block, by endpoint.
    refusals: BTreeMap<(EndpointId, BlockHash), u32>,
}

/// When the `safe` and `finalized` heads were last asked for, and of whom.
#[derive(Debug, Default)]
struct LevelsAsked {
    number: Option<u64>,
    last: EndpointId,
}

/// What a round of questions for the head came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Advance {
    /// The agreed head is held, or is an older block than is held.
    Agreed,
    /// Some endpoint answers, but too few agree.
    Parted,
    /// The agreed head is not held yet: the transfers of a block below it were not returned, and are requested again.
    Unlisted,
    /// No endpoint leads anywhere.
    Unanswered,
}

/// Nobody takes the observations any more.
#[derive(Debug)]
struct Closed;

impl<S: ChainSource, B: BlockStore> Watcher<S, B> {
    /// A watcher of `network` through `endpoints`, of which the first leads while it can.
    pub fn new(
        endpoints: Vec<Endpoint<S>>,
        network: WatchedNetwork,
        block_store: B,
        channels: Channels,
    ) -> Watcher<S, B> {
        let endpoints: Vec<Tracked<S>> = endpoints
            .into_iter()
            .map(|endpoint| Tracked::new(endpoint, network.chain_id, network.token))
            .collect();
        let health = NetworkHealth {
            network: network.name.clone(),
            endpoints: endpoints.iter().map(|known| known.health.clone()).collect(),
            ..NetworkHealth::default()
        };
        let (announcer, announced) = watch::channel(None);
        Watcher {
            leader: 0,
            carriers: BTreeSet::new(),
            new_heads: Vec::new(),
            announced,
            announcer,
            block_store,
            channels,
            window: Window::new(fill_blocks(&network)),
            index: TransferIndex::default(),
            watchlist: Watchlist::new(network.confirmed_depth, quorum_of(endpoints.len())),
            orphans: Orphans::default(),
            followed_from: None,
            recorded_below: BTreeMap::new(),
            quorum: quorum_of(endpoints.len()),
            fetched: Fetched::default(),
            pace: Pace::new(network.poll_ms, network.block_ms),
            levels_at: LevelsAsked::default(),
            swept: None,
            contradicted: BTreeSet::new(),
            published: watch::Sender::new(health.clone()),
            health,
            failing: false,
            is_alone: false,
            reported_at_ms: None,
            started: Instant::now(),
            network,
            endpoints,
        }
    }

    /// Woken by these announcements. Without them, or when they fail, a new head is found later.
    #[must_use]
    pub fn woken_by(mut self, new_heads: Vec<NewHeads>) -> Watcher<S, B> {
        self.new_heads = new_heads;
        self
    }

    /// So many endpoints must agree before anything is concluded, 1 or 2.
    #[must_use]
    pub fn agreeing(mut self, quorum: usize) -> Watcher<S, B> {
        self.quorum = quorum.clamp(1, 2);
        self.watchlist = Watchlist::new(self.network.confirmed_depth, self.quorum);
        self
    }

    /// How the network is watched, from now on.
    pub fn health(&self) -> watch::Receiver<NetworkHealth> {
        self.published.subscribe()
    }

    /// Watches until `shutdown` is ready. It may be ready at any point: nothing is half done.
    pub async fn run(mut self, shutdown: impl Future<Output = ()> + Send) {
        let announcer = self.announcer.clone();
        let new_heads = std::mem::take(&mut self.new_heads);
        let listening = new_heads.into_iter().map(|feed| feed.run(&announcer));
        let listening = async {
            futures_util::future::join_all(listening).await;
            std::future::pending().await
        };
        tokio::select! {
            () = shutdown => {}
            () = listening => {}
            Closed = self.watch() => {}
        }
    }

    async fn watch(&mut self) -> Closed {
        self.restore().await;
        loop {
            if let Err(closed) = self.look().await {
                return closed;
            }
        }
    }

    /// One look, and the rest after it.
    async fn look(&mut self) -> Result<(), Closed> {
        let advance = self.advance().await;
        self.note_agreement(advance);
        if advance != Advance::Agreed {
            self.praise();
            self.publish();
            // Without an agreed head the last one grows old, and the ledger judges that itself.
            if advance == Advance::Unanswered || self.window.tip().is_none() {
                self.report().await?;
            } else if !self.silent().is_empty() {
                self.say_blind(BlindCause::StaleHead).await?;
            }
            tokio::time::sleep(Duration::from_millis(self.retry_in_ms(advance))).await;
            return Ok(());
        }
        if std::mem::take(&mut self.failing) {
            tracing::info!(network = self.network.name, "the network is seen again");
        }
        self.settle().await?;
        self.praise();
        self.publish();
        self.rest().await
    }

    /// Says once that too few endpoints agree, and that they do again.
    fn note_agreement(&mut self, advance: Advance) {
        let is_alone = advance == Advance::Parted;
        self.health.is_agreed = matches!(advance, Advance::Agreed | Advance::Unlisted);
        if std::mem::replace(&mut self.is_alone, is_alone) == is_alone {
            return;
        }
        let (network, quorum) = (&self.network.name, self.quorum());
        if is_alone {
            tracing::warn!(
                network,
                quorum,
                "fewer RPC endpoints agree on a head than must: nothing is concluded until they do"
            );
        } else {
            tracing::info!(network, "RPC endpoints agree on a head");
        }
    }

    async fn restore(&mut self) {
        let blocks = match self.block_store.load(&self.network.name).await {
            Ok(blocks) => blocks,
            Err(error) => {
                let network = &self.network.name;
                tracing::warn!(network, %error, "starts without stored blocks");
                return;
            }
        };
        let headers = blocks.iter().map(|block| block.header).collect();
        match Window::restore(headers, fill_blocks(&self.network)) {
            Ok(window) => self.window = window,
            Err(broken) => {
                let network = &self.network.name;
                tracing::warn!(network, error = %broken, "starts without stored blocks");
                return;
            }
        }
        for block in blocks {
            self.index.push(block.header, block.transactions, None);
        }
    }

    /// Waits until the next block is due or announced. New transactions are answered meanwhile.
    async fn rest(&mut self) -> Result<(), Closed> {
        let rest_ms = self.pace.rest_ms(self.now_ms());
        let until = Instant::now() + Duration::from_millis(rest_ms);
        loop {
            tokio::select! {
                () = tokio::time::sleep_until(until) => return Ok(()),
                Ok(()) = self.channels.watched.changed() => {
                    self.settle().await?;
                    self.publish();
                }
                Ok(()) = self.announced.changed() => {
                    let announced = *self.announced.borrow_and_update();
                    if announced.is_some_and(|block| !self.holds(&block)) && self.pace.announced() {
                        return Ok(());
                    }
                }
            }
        }
    }

    fn holds(&self, block: &Block) -> bool {
        self.window.contains(block.number, &block.hash)
    }

    /// Those that took part and did not fail since.
    fn praise(&mut self) {
        let lagging: Vec<bool> = (0..self.endpoints.len())
            .map(|endpoint| self.lags_far(endpoint))
            .collect();
        for (endpoint, lags) in self.endpoints.iter_mut().zip(lagging) {
            if endpoint.head.is_some() {
                endpoint.succeeded(lags);
            }
        }
    }

    fn publish(&mut self) {
        let leader = self.leader;
        let endpoints = self.endpoints.iter().enumerate();
        self.health.endpoints = endpoints
            .map(|(id, endpoint)| crate::health::EndpointHealth {
                leads: id == leader,
                ..endpoint.health.clone()
            })
            .collect();
        self.health.indexed_blocks = self.index.blocks();
        self.health.indexed_transfers = self.index.transfers();
        self.health.watched = self.watchlist.len();
        self.health.unsettled = self.watchlist.unsettled();
        self.health.contested = self.watchlist.contested();
        self.published.send_replace(self.health.clone());
    }

    /// No endpoint led anywhere. The first time everything is to be said again afterwards; and the
    /// ledger is told, now and then.
    async fn report(&mut self) -> Result<(), Closed> {
        if !std::mem::replace(&mut self.failing, true) {
            tracing::warn!(network = self.network.name, "the network is not seen");
            self.swept = None;
            self.watchlist.forget_reports();
        }
        match self.blind_cause() {
            Some(cause) => self.say_blind(cause).await,
            None => Ok(()),
        }
    }

    /// Tells the ledger, now and then, that there is no agreed head, and who is silent.
    async fn say_blind(&mut self, cause: BlindCause) -> Result<(), Closed> {
        let now_ms = self.now_ms();
        let is_recent = |at_ms: u64| now_ms < at_ms + REPORT_EVERY_MS;
        if self.reported_at_ms.is_some_and(is_recent) {
            return Ok(());
        }
        self.reported_at_ms = Some(now_ms);
        let network = self.network.name.clone();
        let silent = self.silent();
        let unseen = Observation::Unreachable {
            network,
            cause,
            silent,
        };
        self.send(unseen).await
    }

    /// Why the network is not seen; nothing while an endpoint answers and only its answers do not
    /// fit together. Before the first head there is none that could grow old: then every failure is
    /// told.
    fn blind_cause(&self) -> Option<BlindCause> {
        let causes: Vec<Option<BlindCause>> = self
            .endpoints
            .iter()
            .filter_map(|endpoint| endpoint.failure())
            .map(crate::endpoint::EndpointFailure::blind_cause)
            .collect();
        if causes.contains(&None) {
            let is_first = self.window.tip().is_none();
            return is_first.then_some(BlindCause::Unreachable);
        }
        let misfits = causes
            .iter()
            .filter(|cause| **cause == Some(BlindCause::WrongChain));
        Some(if misfits.count() == self.endpoints.len() {
            BlindCause::WrongChain
        } else {
            BlindCause::Unreachable
        })
    }

    /// When an endpoint that failed may be asked again; soon, where all answer and do not agree.
    /// Doubles with each failed request for the transfers of a block.
    fn retry_in_ms(&self, advance: Advance) -> u64 {
        let refusals = self.fetched.refusals.values().max();
        if let (Advance::Unlisted, Some(tries)) = (advance, refusals) {
            return self.network.poll_ms << tries;
        }
        let failed = self.endpoints.iter().filter(|it| it.head.is_none());
        let next_ms = failed.map(Tracked::retry_at_ms).min();
        let wait_ms = next_ms.map(|next_ms| next_ms.saturating_sub(self.now_ms()));
        wait_ms.unwrap_or(self.network.poll_ms).max(1)
    }

    const fn quorum(&self) -> usize {
        self.quorum
    }

    /// Labels of the endpoints that gave no usable answer, in order.
    fn silent(&self) -> Vec<String> {
        let silent = self.endpoints.iter().filter(|it| it.head.is_none());
        let mut labels: Vec<String> = silent.map(|it| it.health.label.clone()).collect();
        labels.sort_unstable();
        labels
    }

    async fn send(&self, observation: Observation) -> Result<(), Closed> {
        let sent = self.channels.observations.send(observation).await;
        sent.map_err(|_| Closed)
    }

    fn now_ms(&self) -> u64 {
        u64::try_from(self.started.elapsed().as_millis()).unwrap_or(u64::MAX)
    }
}

/// How many of so many endpoints must agree: all, at most two (ledger-contract.md section 5).
pub fn quorum_of(endpoints: usize) -> usize {
    endpoints.clamp(1, 2)
}

fn fill_blocks(network: &WatchedNetwork) -> usize {
    usize::try_from(network.confirmed_depth).unwrap_or(usize::MAX)
}
