//! A chain that does what the test says, and a watcher running on it under paused time. Nothing
//! here knows alloy or JSON: the trait is the whole world.

#![expect(
    clippy::expect_used,
    clippy::unwrap_used,
    reason = "a harness stops the test at once"
)]

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use tokio::sync::{mpsc, oneshot, watch};
use tokio::task::JoinHandle;
use x811_protocol::evm::{BlockHash, ChainId, EvmAddress, TxHash};
use x811_protocol::money::MicroUsdc;
use x811_protocol::observation::{Observation, Sweep, TransactionStatus, Transfer};
use x811_watcher::{
    ChainSource, HeadTag, Header, HeaderStore, HeaderStoreError, MemoryHeaderStore, Receipt,
    SourceError, WatchedNetwork, Watcher,
};

pub(crate) const CHAIN_ID: ChainId = ChainId::new(8453);
pub(crate) const TOKEN: EvmAddress = EvmAddress::from_bytes([0x83; 20]);
pub(crate) const POLL_MS: u64 = 500;
pub(crate) const CONFIRMED_DEPTH: u64 = 12;

/// What the test rules over. All blocks ever mined stay known by hash.
pub(crate) struct World {
    pub(crate) chain_id: ChainId,
    pub(crate) has_code: bool,
    pub(crate) decimals: Option<u8>,
    /// The endpoint's branch, by height.
    pub(crate) canonical: Vec<Header>,
    pub(crate) receipts: BTreeMap<TxHash, Receipt>,
    /// Receipts that cannot be read.
    pub(crate) too_large: BTreeSet<TxHash>,
    /// How far the endpoint's `latest` trails.
    pub(crate) lag_blocks: usize,
    /// Height of `safe`; `None` when the endpoint refuses the word.
    pub(crate) safe_number: Option<usize>,
    /// What `safe` and `finalized` stand for instead, on whatever branch.
    pub(crate) stray_level: Option<Header>,
    /// Every request fails with this.
    pub(crate) failure: Option<SourceError>,
    /// Every so-many-th header asked for by its hash gets no answer.
    pub(crate) header_fails_every: Option<usize>,
    pub(crate) calls: Calls,
    branches: u8,
    receipts_in_flight: usize,
}

/// How often the endpoint was asked for what.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Calls {
    pub(crate) chain_id: usize,
    pub(crate) latest: usize,
    pub(crate) levels: usize,
    pub(crate) header_by_hash: usize,
    pub(crate) header_by_number: usize,
    pub(crate) receipt: usize,
    pub(crate) most_receipts_in_flight: usize,
}

impl World {
    /// Adds `blocks` blocks to the endpoint's branch.
    pub(crate) fn mine(&mut self, blocks: usize) {
        for _ in 0..blocks {
            let number = u64::try_from(self.canonical.len()).unwrap();
            let mut hash = [self.branches; 32];
            hash[..8].copy_from_slice(&(number + 1).to_be_bytes());
            let parent = self
                .canonical
                .last()
                .map_or(BlockHash::from_bytes([0; 32]), |h| h.hash);
            let hash = BlockHash::from_bytes(hash);
            self.canonical.push(Header {
                number,
                hash,
                parent,
                timestamp_s: 1_000 + 2 * number,
            });
        }
    }

    /// Replaces the last `depth` blocks by one more, without their transactions.
    pub(crate) fn reorg(&mut self, depth: usize) {
        let gone = self.canonical.split_off(self.canonical.len() - depth);
        self.receipts
            .retain(|_, receipt| gone.iter().all(|h| h.hash != receipt.block_hash));
        self.branches += 1;
        self.mine(depth + 1);
    }

    /// Puts `tx` with one transfer of `micro_usdc` into the last block.
    pub(crate) fn pay(&mut self, tx: TxHash, micro_usdc: u64) {
        let receipt = receipt(tx, self.head(), micro_usdc);
        self.receipts.insert(tx, receipt);
    }

    pub(crate) fn head(&self) -> Header {
        *self.canonical.last().unwrap()
    }
}

pub(crate) fn tx(byte: u8) -> TxHash {
    TxHash::from_bytes([byte; 32])
}

pub(crate) fn receipt(tx: TxHash, block: Header, micro_usdc: u64) -> Receipt {
    let transfer = Transfer {
        ordinal: 0,
        from: EvmAddress::from_bytes([1; 20]),
        to: EvmAddress::from_bytes([2; 20]),
        amount: MicroUsdc::from_micro_usdc(micro_usdc).unwrap(),
    };
    Receipt {
        tx_hash: tx,
        block_number: block.number,
        block_hash: block.hash,
        succeeded: true,
        transfers: vec![transfer],
    }
}

pub(crate) fn unreachable() -> SourceError {
    SourceError::Unreachable {
        method: "scripted",
        detail: "unplugged".to_owned(),
    }
}

fn refused() -> SourceError {
    SourceError::Refused {
        method: "scripted",
        code: -32_602,
        message: "no such tag".to_owned(),
    }
}

/// One endpoint of the scripted chain.
#[derive(Clone)]
pub(crate) struct ScriptedChain(Arc<Mutex<World>>);

impl ScriptedChain {
    /// A chain of `blocks` blocks.
    pub(crate) fn with_blocks(blocks: usize) -> ScriptedChain {
        let mut world = World {
            chain_id: CHAIN_ID,
            has_code: true,
            decimals: Some(6),
            canonical: Vec::new(),
            receipts: BTreeMap::new(),
            too_large: BTreeSet::new(),
            lag_blocks: 0,
            safe_number: Some(0),
            stray_level: None,
            failure: None,
            header_fails_every: None,
            calls: Calls::default(),
            branches: 1,
            receipts_in_flight: 0,
        };
        world.mine(blocks);
        ScriptedChain(Arc::new(Mutex::new(world)))
    }

    pub(crate) fn world(&self) -> MutexGuard<'_, World> {
        self.0.lock().unwrap()
    }

    /// The world, when the endpoint answers at all.
    fn asked(&self) -> Result<MutexGuard<'_, World>, SourceError> {
        let world = self.world();
        world.failure.clone().map_or(Ok(world), Err)
    }
}

impl ChainSource for ScriptedChain {
    async fn chain_id(&self) -> Result<ChainId, SourceError> {
        self.world().calls.chain_id += 1;
        Ok(self.asked()?.chain_id)
    }

    async fn code_at(&self, address: EvmAddress) -> Result<bool, SourceError> {
        assert_eq!(address, TOKEN);
        Ok(self.asked()?.has_code)
    }

    async fn token_decimals(&self, token: EvmAddress) -> Result<Option<u8>, SourceError> {
        assert_eq!(token, TOKEN);
        Ok(self.asked()?.decimals)
    }

    async fn head(&self, tag: HeadTag) -> Result<Option<Header>, SourceError> {
        let mut world = self.asked()?;
        if tag == HeadTag::Latest {
            world.calls.latest += 1;
            let number = world.canonical.len() - 1 - world.lag_blocks;
            return Ok(world.canonical.get(number).copied());
        }
        world.calls.levels += 1;
        let number = world.safe_number.ok_or_else(refused)?;
        Ok(world.stray_level.or(world.canonical.get(number).copied()))
    }

    async fn header_by_hash(&self, hash: BlockHash) -> Result<Option<Header>, SourceError> {
        let mut world = self.asked()?;
        world.calls.header_by_hash += 1;
        let asked = world.calls.header_by_hash;
        if world
            .header_fails_every
            .is_some_and(|every| asked % every == 0)
        {
            return Err(unreachable());
        }
        Ok(world
            .canonical
            .iter()
            .find(|header| header.hash == hash)
            .copied())
    }

    async fn header_by_number(&self, number: u64) -> Result<Option<Header>, SourceError> {
        let mut world = self.asked()?;
        world.calls.header_by_number += 1;
        Ok(world
            .canonical
            .get(usize::try_from(number).unwrap())
            .copied())
    }

    async fn receipt(
        &self,
        transaction: TxHash,
        token: EvmAddress,
    ) -> Result<Option<Receipt>, SourceError> {
        assert_eq!(token, TOKEN);
        {
            let mut world = self.asked()?;
            world.calls.receipt += 1;
            world.receipts_in_flight += 1;
            let in_flight = world.receipts_in_flight;
            let most = &mut world.calls.most_receipts_in_flight;
            *most = in_flight.max(*most);
        }
        tokio::time::sleep(Duration::from_millis(1)).await;
        let mut world = self.world();
        world.receipts_in_flight -= 1;
        if world.too_large.contains(&transaction) {
            return Err(SourceError::TooLarge {
                method: "scripted",
                limit_bytes: 1,
            });
        }
        Ok(world.receipts.get(&transaction).cloned())
    }
}

/// A header store that the test can look into, and that outlives a watcher.
#[derive(Clone, Default)]
pub(crate) struct SharedHeaders(Arc<MemoryHeaderStore>);

impl HeaderStore for SharedHeaders {
    async fn load(&self, network: &str) -> Result<Vec<Header>, HeaderStoreError> {
        self.0.load(network).await
    }

    async fn save(&self, network: &str, headers: &[Header]) -> Result<(), HeaderStoreError> {
        self.0.save(network, headers).await
    }
}

/// A running watcher.
pub(crate) struct Rig {
    pub(crate) chain: ScriptedChain,
    pub(crate) headers: SharedHeaders,
    pub(crate) observations: mpsc::Receiver<Observation>,
    watched: watch::Sender<Arc<BTreeSet<TxHash>>>,
    shutdown: oneshot::Sender<()>,
    task: JoinHandle<()>,
}

impl Rig {
    /// Watches `hashes` on `chain` from now on.
    pub(crate) fn start(chain: &ScriptedChain, hashes: &[TxHash]) -> Rig {
        Rig::resume(chain, SharedHeaders::default(), hashes)
    }

    /// The same with what an earlier watcher has stored.
    pub(crate) fn resume(chain: &ScriptedChain, headers: SharedHeaders, hashes: &[TxHash]) -> Rig {
        let network = WatchedNetwork {
            name: "base".to_owned(),
            chain_id: CHAIN_ID,
            token: TOKEN,
            confirmed_depth: CONFIRMED_DEPTH,
            poll_ms: POLL_MS,
            endpoint_label: "scripted".to_owned(),
        };
        let (watched, receiver) = watch::channel(Arc::new(hashes.iter().copied().collect()));
        let (sender, observations) = mpsc::channel(1_000);
        let watcher = Watcher::new(chain.clone(), network, headers.clone(), receiver, sender);
        let (shutdown, ended) = oneshot::channel::<()>();
        let task = tokio::spawn(watcher.run(async {
            let _ended = ended.await;
        }));
        Rig {
            chain: chain.clone(),
            headers,
            observations,
            watched,
            shutdown,
            task,
        }
    }

    pub(crate) fn world(&self) -> MutexGuard<'_, World> {
        self.chain.world()
    }

    pub(crate) fn watch(&self, hashes: &[TxHash]) {
        self.watched
            .send_replace(Arc::new(hashes.iter().copied().collect()));
    }

    /// The next observation, however long it takes.
    pub(crate) async fn next(&mut self) -> Observation {
        let next = tokio::time::timeout(Duration::from_secs(600), self.observations.recv());
        next.await
            .expect("an observation within ten minutes")
            .expect("the watcher runs")
    }

    /// The next observation, which is a sweep.
    pub(crate) async fn sweep(&mut self) -> Sweep {
        match self.next().await {
            Observation::Sweep(sweep) => sweep,
            other @ Observation::Unreachable { .. } => panic!("expected a sweep, got {other:?}"),
        }
    }

    /// Everything that is reported within `period_ms`.
    pub(crate) async fn all_within(&mut self, period_ms: u64) -> Vec<Observation> {
        tokio::time::sleep(Duration::from_millis(period_ms)).await;
        let mut all = Vec::new();
        while let Ok(observation) = self.observations.try_recv() {
            all.push(observation);
        }
        all
    }

    /// Ends the watcher and hands back what it stored.
    pub(crate) async fn stop(self) -> SharedHeaders {
        self.shutdown.send(()).expect("the watcher runs");
        self.task.await.expect("the watcher ends well");
        self.headers
    }

    /// Waits for the watcher to end by itself.
    pub(crate) async fn ended(self) {
        let Rig {
            observations,
            task,
            shutdown: _running,
            ..
        } = self;
        drop(observations);
        tokio::time::timeout(Duration::from_secs(600), task)
            .await
            .expect("it ends when nobody listens")
            .expect("the watcher ends well");
    }
}

/// The status of `hash`, as a depth: `None` when not found.
pub(crate) fn depth(sweep: &Sweep, hash: TxHash) -> Option<u64> {
    match &sweep.transactions[&hash] {
        TransactionStatus::NotFound => None,
        TransactionStatus::Mined(mined) => Some(sweep.depth_of(&mined.block)),
    }
}
