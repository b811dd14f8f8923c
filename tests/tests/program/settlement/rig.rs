//! Anvil as Base, a proxy for each endpoint, and a watcher behind them.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use alloy::primitives::Address;
use alloy::providers::Provider as _;
use serde_json::Value;
use tokio::sync::{mpsc, oneshot, watch};
use tokio::task::JoinHandle;
use tokio::time::timeout;
use x811_protocol::evm::{ChainId, EvmAddress, TxHash};
use x811_protocol::observation::{
    BlindCause, MinedTransaction, Observation, Sweep, TransactionStatus,
};
use x811_protocol::parameters::FinalBy;
use x811_tests::anvil::{Anvil, BASE_CHAIN_ID, BASE_USDC, DEV_KEYS};
use x811_tests::proxy::Proxy;
use x811_watcher::{
    AnnouncementLimits, BlockStore, BlockStoreError, Channels, Endpoint, EndpointHealth, Expected,
    MemoryBlockStore, NetworkHealth, NewHeads, RpcLimits, RpcSource, TailBlock, TailChange,
    WatchedNetwork, WatchedSet, Watcher,
};

pub(crate) const DEPTH: u64 = 12;
pub(crate) const AMOUNT: u64 = 29_725;
const PATIENCE: Duration = Duration::from_secs(30);
/// A head that was announced is looked at within this time.
const SOON: Duration = Duration::from_millis(250);
/// Short, so that an endpoint that hangs is found out soon.
const LIMITS: RpcLimits = RpcLimits {
    connect_timeout_ms: 500,
    total_timeout_ms: 500,
    answer_bytes: 4 * 1024 * 1024,
};

/// Longer than any test.
const NEVER_MS: u64 = 3_600_000;
const SHORT_LIVED: AnnouncementLimits = AnnouncementLimits {
    connect_timeout_ms: 500,
    keepalive_ms: 300,
};

/// What makes the watcher look.
enum Wake {
    Poll,
    Both(String),
    Announced(String),
}

/// A Base of one's own, with a payer who has USDC and 20 blocks below.
pub(crate) struct Chain {
    pub(crate) anvil: Anvil,
    payee: Address,
}

impl Chain {
    pub(crate) async fn start() -> Chain {
        let anvil = Anvil::start(BASE_CHAIN_ID, None);
        anvil.deploy_usdc(BASE_USDC).await;
        let payer = Anvil::dev_account(0).address();
        anvil.mint(BASE_USDC, payer, 1_000_000_000).await;
        anvil.mine(20).await;
        let payee = Anvil::dev_account(1).address();
        Chain { anvil, payee }
    }

    /// The same, and so many proxies before it.
    pub(crate) async fn behind(count: usize) -> (Chain, Vec<Proxy>) {
        let chain = Chain::start().await;
        let proxies = chain.proxies(count).await;
        (chain, proxies)
    }

    /// A transfer of [`AMOUNT`] in a block of its own.
    pub(crate) async fn pay(&self) -> TxHash {
        let hash = self
            .anvil
            .transfer(DEV_KEYS[0], BASE_USDC, self.payee, AMOUNT)
            .await;
        self.anvil.receipt(hash).await;
        TxHash::from_bytes(hash.0)
    }

    pub(crate) async fn rpc(&self, method: &'static str, params: Value) -> Value {
        let answer = self.anvil.provider().raw_request(method.into(), params);
        answer.await.unwrap()
    }

    /// Where it announces its heads: host and port.
    pub(crate) fn address(&self) -> String {
        self.anvil.rpc_url().replace("http://", "")
    }

    pub(crate) async fn proxies(&self, count: usize) -> Vec<Proxy> {
        let mut proxies = Vec::new();
        for _ in 0..count {
            proxies.push(Proxy::start(&self.anvil.rpc_url()).await);
        }
        proxies
    }

    pub(crate) async fn head_number(&self) -> u64 {
        self.anvil.provider().get_block_number().await.unwrap()
    }
}

/// Blocks that outlive a watcher.
#[derive(Clone, Default)]
pub(crate) struct SharedBlocks(Arc<MemoryBlockStore>);

impl BlockStore for SharedBlocks {
    async fn load(&self, network: &str) -> Result<Vec<TailBlock>, BlockStoreError> {
        self.0.load(network).await
    }

    async fn save(&self, network: &str, change: TailChange<'_>) -> Result<(), BlockStoreError> {
        self.0.save(network, change).await
    }
}

/// A running watcher, for which a look is due for every transaction at every head.
pub(crate) struct Rig {
    pub(crate) health: watch::Receiver<NetworkHealth>,
    /// Everything it ever said.
    pub(crate) said: Vec<Observation>,
    observations: mpsc::Receiver<Observation>,
    watched: watch::Sender<WatchedSet>,
    blocks: SharedBlocks,
    shutdown: oneshot::Sender<()>,
    task: JoinHandle<()>,
}

impl Rig {
    /// Through `proxies`, of which the first leads; asks for the head all the time.
    pub(crate) fn start(proxies: &[Proxy]) -> Rig {
        Rig::resume(proxies, SharedBlocks::default(), &[])
    }

    /// The same with what an earlier watcher has stored and watched.
    pub(crate) fn resume(proxies: &[Proxy], blocks: SharedBlocks, hashes: &[TxHash]) -> Rig {
        Rig::with(proxies, blocks, hashes, Wake::Poll)
    }

    /// Asks for the head only when it is announced at this WebSocket, and no look is ever due.
    pub(crate) fn announced(proxies: &[Proxy], ws_url: &str) -> Rig {
        let wake = Wake::Announced(ws_url.to_owned());
        Rig::with(proxies, SharedBlocks::default(), &[], wake)
    }

    /// Asks for the head all the time, and has this WebSocket besides.
    pub(crate) fn polling_with(proxies: &[Proxy], ws_url: &str) -> Rig {
        let wake = Wake::Both(ws_url.to_owned());
        Rig::with(proxies, SharedBlocks::default(), &[], wake)
    }

    fn with(proxies: &[Proxy], blocks: SharedBlocks, hashes: &[TxHash], wake: Wake) -> Rig {
        let (block_ms, is_looked_for, ws_url) = match wake {
            Wake::Poll => (0, true, None),
            Wake::Both(ws_url) => (0, true, Some(ws_url)),
            Wake::Announced(ws_url) => (NEVER_MS, false, Some(ws_url)),
        };
        let network = WatchedNetwork {
            name: "base".to_owned(),
            chain_id: ChainId::new(BASE_CHAIN_ID),
            token: EvmAddress::from_bytes(BASE_USDC.into_array()),
            confirmed_depth: DEPTH,
            final_by: FinalBy::Tag,
            poll_ms: 20,
            block_ms,
        };
        let endpoints = proxies.iter().zip(["a", "b", "c"]).zip(1..);
        let endpoints = endpoints.map(|((proxy, label), jitter_seed)| Endpoint {
            source: RpcSource::new(proxy.url(), LIMITS).unwrap(),
            label: label.to_owned(),
            jitter_seed,
        });
        let (watched, receiver) = watch::channel(WatchedSet::from_iter(hashes.iter().copied()));
        let (sender, observations) = mpsc::channel(16);
        let all = receiver.clone();
        let channels = Channels {
            watched: receiver,
            expecting: Arc::new(move |_head| Expected {
                looked_for: match is_looked_for {
                    true => all.borrow().iter().copied().collect(),
                    false => Default::default(),
                },
                ..Expected::default()
            }),
            accounts_of: Arc::new(|_| BTreeSet::new()),
            observations: sender,
        };
        let new_heads = ws_url.map(|url| {
            let feed = NewHeads::new(&url, "ws", 1).unwrap();
            feed.with_limits(SHORT_LIVED)
        });
        let watcher = Watcher::new(endpoints.collect(), network, blocks.clone(), channels)
            .woken_by(new_heads.into_iter().collect());
        let health = watcher.health();
        let (shutdown, ended) = oneshot::channel::<()>();
        let task = tokio::spawn(watcher.run(async {
            let _ended = ended.await;
        }));
        Rig {
            health,
            said: Vec::new(),
            observations,
            watched,
            blocks,
            shutdown,
            task,
        }
    }

    pub(crate) fn watch(&self, hashes: &[TxHash]) {
        self.watched.send_replace(hashes.iter().copied().collect());
    }

    /// Ends the watcher and hands back what it stored.
    pub(crate) async fn stop(self) -> SharedBlocks {
        self.shutdown.send(()).unwrap();
        self.task.await.unwrap();
        self.blocks
    }

    /// Waits for an observation from now on that `wanted` finds something in, the last included.
    pub(crate) async fn until<T>(&mut self, wanted: impl Fn(&Observation) -> Option<T>) -> T {
        let waiting = async {
            loop {
                if let Some(found) = self.said.last().and_then(&wanted) {
                    return found;
                }
                self.said.push(self.observations.recv().await.unwrap());
            }
        };
        let found = timeout(PATIENCE, waiting).await.ok();
        found.unwrap_or_else(|| panic!("not observed; last {:?}", self.said.last()))
    }

    pub(crate) async fn until_sweep<T>(&mut self, wanted: impl Fn(&Sweep) -> Option<T>) -> T {
        self.until(|observation| match observation {
            Observation::Sweep(sweep) => wanted(sweep),
            Observation::Header { .. } | Observation::Unreachable { .. } => None,
        })
        .await
    }

    pub(crate) async fn until_head(&mut self, number: u64) {
        self.until_sweep(|sweep| (sweep.head.number >= number).then_some(()))
            .await;
    }

    /// Mines until an announcement brings the watcher to the head.
    pub(crate) async fn until_woken(&mut self, chain: &Chain) {
        let woken = async {
            loop {
                chain.anvil.mine(1).await;
                let head = chain.head_number().await;
                if timeout(SOON, self.until_head(head)).await.is_ok() {
                    return;
                }
            }
        };
        timeout(PATIENCE, woken).await.unwrap();
    }

    /// Waits until `hash` is said to be at `depth` blocks or deeper.
    pub(crate) async fn until_deep(&mut self, hash: TxHash, depth: u64) -> MinedTransaction {
        self.until_sweep(|sweep| match sweep.transactions.get(&hash)? {
            TransactionStatus::Mined(mined) if sweep.depth_of(&mined.block) >= depth => {
                Some(mined.clone())
            }
            TransactionStatus::Mined(_) | TransactionStatus::NotFound => None,
        })
        .await
    }

    pub(crate) async fn until_not_found(&mut self, hash: TxHash) {
        self.until_sweep(|sweep| {
            (sweep.transactions.get(&hash)? == &TransactionStatus::NotFound).then_some(())
        })
        .await;
    }

    pub(crate) async fn until_unreachable(&mut self) -> BlindCause {
        self.until(|observation| match observation {
            Observation::Unreachable { cause, .. } => Some(*cause),
            Observation::Header { .. } | Observation::Sweep(_) => None,
        })
        .await
    }

    /// Waits until the endpoint of that place is as `wanted`. What is said meanwhile is kept.
    pub(crate) async fn until_endpoint(
        &mut self,
        place: usize,
        wanted: impl Fn(&EndpointHealth) -> bool,
    ) {
        let mut health = self.health.clone();
        let waiting = async {
            let mut seen = std::pin::pin!(health.wait_for(|h| wanted(&h.endpoints[place])));
            loop {
                tokio::select! {
                    found = &mut seen => return drop(found.unwrap()),
                    Some(said) = self.observations.recv() => self.said.push(said),
                }
            }
        };
        let found = timeout(PATIENCE, waiting).await;
        found.unwrap_or_else(|_| panic!("the endpoints stay {:?}", self.health.borrow()));
    }

    /// Everything ever said of `hash`, with the depth of what was mined.
    pub(crate) fn said_of(&self, hash: TxHash) -> Vec<(TransactionStatus, u64)> {
        let sweeps = self
            .said
            .iter()
            .filter_map(|observation| match observation {
                Observation::Sweep(sweep) => Some(sweep),
                Observation::Header { .. } | Observation::Unreachable { .. } => None,
            });
        let said = sweeps.filter_map(|sweep| {
            let status = sweep.transactions.get(&hash)?.clone();
            let depth = match &status {
                TransactionStatus::Mined(mined) => sweep.depth_of(&mined.block),
                TransactionStatus::NotFound => 0,
            };
            Some((status, depth))
        });
        said.collect()
    }

    /// It was never said that `hash` is not there.
    pub(crate) fn assert_never_missed(&self, hash: TxHash) {
        let said = self.said_of(hash);
        let is_missed =
            |(status, _): &(TransactionStatus, u64)| *status == TransactionStatus::NotFound;
        assert!(!said.iter().any(is_missed), "{said:?}");
    }
}

/// The one amount that a transaction moved.
pub(crate) fn amount(mined: &MinedTransaction) -> u64 {
    let [transfer] = mined.transfers.as_slice() else {
        panic!("one transfer: {mined:?}")
    };
    transfer.amount.as_micro_usdc()
}
