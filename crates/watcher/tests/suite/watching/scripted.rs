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

use super::expecting::expecting;
use imbl::OrdSet;
use tokio::sync::{mpsc, oneshot, watch};
use tokio::task::JoinHandle;
use x811_protocol::digest::Digest;
use x811_protocol::evm::{BlockHash, ChainId, EvmAddress, TxHash};
use x811_protocol::money::MicroUsdc;
use x811_protocol::observation::{Observation, Sweep, Transfer};
use x811_watcher::{
    BlockStore, BlockStoreError, CallAnswer, ChainSource, Channels, Endpoint, HeadTag, Header,
    MemoryBlockStore, NetworkHealth, Receipt, ReceiptAnswer, SourceError, TailBlock, TailChange,
    TokenTransaction, WatchedNetwork, Watcher,
};

pub(crate) const CHAIN_ID: ChainId = ChainId::new(8453);
pub(crate) const TOKEN: EvmAddress = EvmAddress::from_bytes([0x83; 20]);
/// Payer and payee of every transaction.
pub(crate) const ACCOUNTS: [EvmAddress; 2] = [
    EvmAddress::from_bytes([0x11; 20]),
    EvmAddress::from_bytes([0x22; 20]),
];
pub(crate) const POLL_MS: u64 = 500;
pub(crate) const BLOCK_MS: u64 = 2_000;
pub(crate) const CONFIRMED_DEPTH: u64 = 12;

/// What the test rules over. All blocks ever mined stay known by hash.
pub(crate) struct World {
    pub(crate) chain_id: ChainId,
    pub(crate) has_code: bool,
    pub(crate) decimals: Option<u8>,
    /// What every contract answers to every call.
    pub(crate) call: CallAnswer,
    /// The endpoint's branch, by height.
    pub(crate) canonical: Vec<Header>,
    pub(crate) receipts: BTreeMap<TxHash, Receipt>,
    /// Receipts that cannot be read.
    pub(crate) too_large: BTreeSet<TxHash>,
    /// How far the endpoint's `latest` trails.
    pub(crate) lag_blocks: usize,
    /// Height of `safe`; `None` when the endpoint refuses the word.
    pub(crate) safe_number: Option<usize>,
    /// Height of `finalized`, where it is not the same.
    pub(crate) final_number: Option<usize>,
    /// What `safe` and `finalized` stand for instead, on whatever branch.
    pub(crate) stray_level: Option<Header>,
    /// Every request fails with this.
    pub(crate) failure: Option<SourceError>,
    /// Every so-many-th header asked for by its hash gets no answer.
    pub(crate) header_fails_every: Option<usize>,
    pub(crate) calls: Calls,
    /// Transactions that logs do not show although their receipts are there.
    pub(crate) omitted: BTreeSet<TxHash>,
    /// Transactions whose receipts are denied.
    pub(crate) denied: BTreeSet<TxHash>,
    /// The node that is asked for receipts lacks the newest block.
    pub(crate) is_behind: bool,
    /// Transactions of which logs and receipts say that this much was moved, in micro-USDC.
    pub(crate) forged: BTreeMap<TxHash, u64>,
    /// What contracts answer instead, as of a block and to an input.
    pub(crate) answers: BTreeMap<(BlockHash, Vec<u8>), Result<CallAnswer, SourceError>>,
    /// Every so-many-th request for logs gets no answer.
    pub(crate) logs_fail_every: Option<usize>,
    /// It refuses the words `safe` and `finalized`.
    pub(crate) refuses_levels: bool,
    /// It repeats logs, so that they cannot be read.
    pub(crate) repeats_logs: bool,
    /// It is gone for good.
    pub(crate) is_dead: bool,
    /// Which endpoint it is, so that no two tell the same lie.
    pub(crate) who: u8,
    /// How many blocks this endpoint invents on top of its branch.
    pub(crate) invented: u64,
    /// Transactions that this endpoint invents.
    pub(crate) made_up: BTreeMap<TxHash, Receipt>,
    branches: u8,
    /// The time of block 0.
    pub(crate) genesis_s: u64,
}

/// How often the endpoint was asked for what.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Calls {
    pub(crate) chain_id: usize,
    pub(crate) latest: usize,
    pub(crate) levels: usize,
    pub(crate) header_by_hash: usize,
    pub(crate) header_by_number: usize,
    pub(crate) code: usize,
    pub(crate) logs: usize,
    /// Transactions whose receipts were asked for.
    pub(crate) receipt: usize,
    /// Requests for receipts.
    pub(crate) receipt_batches: usize,
    /// Questions to contracts.
    pub(crate) call: usize,
}

impl Calls {
    /// What a provider counts.
    pub(crate) fn total(&self) -> usize {
        let heads = self.latest + self.levels + self.header_by_hash + self.header_by_number;
        let checks = self.chain_id + self.code;
        heads + checks + self.logs + self.receipt + self.receipt_batches + self.call
    }
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
                timestamp_s: self.genesis_s + 2 * number,
            });
        }
    }

    /// Replaces the last `depth` blocks by one more, without their transactions.
    pub(crate) fn reorg(&mut self, depth: usize) {
        self.replace(depth, depth + 1);
    }

    /// Replaces the last `depth` blocks by `blocks` others, without their transactions.
    pub(crate) fn replace(&mut self, depth: usize, blocks: usize) {
        let gone = self.canonical.split_off(self.canonical.len() - depth);
        self.receipts
            .retain(|_, receipt| gone.iter().all(|h| h.hash != receipt.block_hash));
        self.branches += 1;
        self.mine(blocks);
    }

    /// Puts `tx` with one transfer of `micro_usdc` into the last block.
    pub(crate) fn pay(&mut self, tx: TxHash, micro_usdc: u64) {
        let receipt = receipt(tx, self.head(), micro_usdc);
        self.receipts.insert(tx, receipt);
    }

    /// Puts `nonce` right before the transfer of `tx`.
    pub(crate) fn authorize(&mut self, tx: TxHash, nonce: Digest) {
        let receipt = self.receipts.get_mut(&tx).unwrap();
        receipt.authorizations = BTreeMap::from([(0, nonce)]);
    }

    /// The block that is invented so far above the branch.
    fn invented(&self, above: u64) -> Header {
        let top = self.head();
        let hash = |above: u64| match above {
            0 => top.hash,
            _ => {
                let mut hash = *top.hash.as_bytes();
                hash[31] = 0xfa - self.who;
                hash[30] = u8::try_from(above).unwrap();
                BlockHash::from_bytes(hash)
            }
        };
        Header {
            number: top.number + above,
            hash: hash(above),
            parent: hash(above.saturating_sub(1)),
            timestamp_s: top.timestamp_s + 2 * above,
        }
    }

    /// Every block that this endpoint knows.
    fn blocks(&self) -> impl Iterator<Item = Header> + '_ {
        let invented = (1..=self.invented).map(|above| self.invented(above));
        self.canonical.iter().copied().chain(invented)
    }

    /// Every receipt that this endpoint has.
    fn all_receipts(&self) -> impl Iterator<Item = &Receipt> {
        self.receipts.values().chain(self.made_up.values())
    }

    /// This endpoint alone has that transaction, in its newest block, unless it is in one.
    pub(crate) fn invent_transfer(&mut self, tx: TxHash, micro_usdc: u64) {
        if !self.receipts.contains_key(&tx) {
            let made_up = receipt(tx, self.head(), micro_usdc);
            self.made_up.insert(tx, made_up);
        }
    }

    /// Every fault ends, but for death.
    pub(crate) fn heal(&mut self) {
        self.failure = self.is_dead.then(unreachable);
        self.lag_blocks = 0;
        self.logs_fail_every = None;
        self.header_fails_every = None;
        self.omitted.clear();
        self.denied.clear();
        self.forged.clear();
        self.refuses_levels = false;
        self.repeats_logs = false;
        self.invented = 0;
        self.made_up.clear();
    }

    /// What is said of a mined transaction.
    fn said(&self, truth: &Receipt) -> Receipt {
        let mut said = truth.clone();
        if let Some(micro_usdc) = self.forged.get(&truth.tx_hash) {
            let like = truth.transfers.first().copied();
            said.transfers = vec![Transfer {
                amount: MicroUsdc::from_micro_usdc(*micro_usdc).unwrap(),
                ..like.unwrap_or_else(|| transfer(0))
            }];
        }
        said
    }

    /// What is said of it, for another endpoint to say as well.
    pub(crate) fn clone_of(&self, tx: TxHash) -> Receipt {
        self.receipts[&tx].clone()
    }

    pub(crate) fn head(&self) -> Header {
        *self.canonical.last().unwrap()
    }
}

pub(crate) fn tx(byte: u8) -> TxHash {
    TxHash::from_bytes([byte; 32])
}

fn transfer(micro_usdc: u64) -> Transfer {
    Transfer {
        authorization_nonce: None,
        ordinal: 0,
        from: EvmAddress::from_bytes([1; 20]),
        to: EvmAddress::from_bytes([2; 20]),
        amount: MicroUsdc::from_micro_usdc(micro_usdc).unwrap(),
    }
}

pub(crate) fn receipt(tx: TxHash, block: Header, micro_usdc: u64) -> Receipt {
    Receipt {
        tx_hash: tx,
        block_number: block.number,
        block_hash: block.hash,
        succeeded: true,
        transfers: vec![transfer(micro_usdc)],
        authorizations: BTreeMap::new(),
    }
}

pub(crate) fn unreachable() -> SourceError {
    SourceError::Unreachable {
        method: "scripted",
        detail: "unplugged".to_owned(),
    }
}

pub(crate) fn refused() -> SourceError {
    SourceError::Refused {
        method: "scripted",
        code: -32_602,
        message: "no such tag".to_owned(),
    }
}

fn malformed() -> SourceError {
    SourceError::Malformed {
        method: "scripted",
        detail: "two logs at one place of a block".to_owned(),
    }
}

/// One endpoint of the scripted chain.
#[derive(Clone)]
pub(crate) struct ScriptedChain(Arc<Mutex<World>>);

impl ScriptedChain {
    /// A chain of `blocks` blocks.
    pub(crate) fn with_blocks(blocks: usize) -> ScriptedChain {
        ScriptedChain::since(1_000, blocks)
    }

    /// The same with block 0 at that time.
    pub(crate) fn since(genesis_s: u64, blocks: usize) -> ScriptedChain {
        let mut world = World {
            chain_id: CHAIN_ID,
            has_code: true,
            decimals: Some(6),
            call: CallAnswer::Failed,
            canonical: Vec::new(),
            receipts: BTreeMap::new(),
            too_large: BTreeSet::new(),
            lag_blocks: 0,
            safe_number: Some(0),
            final_number: None,
            stray_level: None,
            failure: None,
            header_fails_every: None,
            calls: Calls::default(),
            omitted: BTreeSet::new(),
            denied: BTreeSet::new(),
            is_behind: false,
            forged: BTreeMap::new(),
            answers: BTreeMap::new(),
            logs_fail_every: None,
            refuses_levels: false,
            repeats_logs: false,
            is_dead: false,
            who: 0,
            invented: 0,
            made_up: BTreeMap::new(),
            branches: 1,
            genesis_s,
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
        self.world().calls.code += 1;
        Ok(self.asked()?.has_code)
    }

    async fn token_decimals(&self, token: EvmAddress) -> Result<Option<u8>, SourceError> {
        assert_eq!(token, TOKEN);
        Ok(self.asked()?.decimals)
    }

    async fn call(
        &self,
        _to: EvmAddress,
        input: &[u8],
        as_of: BlockHash,
    ) -> Result<CallAnswer, SourceError> {
        let mut world = self.asked()?;
        world.calls.call += 1;
        if world.canonical.iter().all(|header| header.hash != as_of) {
            return Err(refused());
        }
        let answer = world.answers.get(&(as_of, input.to_vec()));
        answer.cloned().unwrap_or_else(|| Ok(world.call.clone()))
    }

    async fn head(&self, tag: HeadTag) -> Result<Option<Header>, SourceError> {
        let mut world = self.asked()?;
        if tag == HeadTag::Latest {
            world.calls.latest += 1;
            if world.invented > 0 {
                return Ok(world.blocks().last());
            }
            let number = world.canonical.len() - 1 - world.lag_blocks;
            return Ok(world.canonical.get(number).copied());
        }
        world.calls.levels += 1;
        if world.refuses_levels {
            return Err(refused());
        }
        let mut number = world.safe_number.ok_or_else(refused)?;
        if tag == HeadTag::Finalized {
            number = world.final_number.unwrap_or(number);
        }
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
        Ok(world.blocks().find(|header| header.hash == hash))
    }

    async fn header_by_number(&self, number: u64) -> Result<Option<Header>, SourceError> {
        let mut world = self.asked()?;
        world.calls.header_by_number += 1;
        Ok(world.blocks().find(|header| header.number == number))
    }

    async fn transfers_in(
        &self,
        block: BlockHash,
        token: EvmAddress,
    ) -> Result<Vec<TokenTransaction>, SourceError> {
        assert_eq!(token, TOKEN);
        let mut world = self.asked()?;
        world.calls.logs += 1;
        let asked = world.calls.logs;
        if world
            .logs_fail_every
            .is_some_and(|every| asked % every == 0)
        {
            return Err(unreachable());
        }
        if world.blocks().all(|header| header.hash != block) {
            return Err(refused());
        }
        let has_logs = world.all_receipts().any(|it| it.block_hash == block);
        if world.repeats_logs && has_logs {
            return Err(malformed());
        }
        let moved = world.all_receipts().filter(|receipt| {
            receipt.block_hash == block
                && !receipt.transfers.is_empty()
                && !world.omitted.contains(&receipt.tx_hash)
        });
        let moved = moved.map(|receipt| TokenTransaction {
            tx_hash: receipt.tx_hash,
            transfers: world.said(receipt).transfers,
            authorizations: receipt.authorizations.clone(),
        });
        Ok(moved.collect())
    }

    async fn receipts(
        &self,
        transactions: &[TxHash],
        token: EvmAddress,
        as_of: BlockHash,
    ) -> Result<Vec<ReceiptAnswer>, SourceError> {
        assert_eq!(token, TOKEN);
        tokio::time::sleep(Duration::from_millis(1)).await;
        let mut world = self.asked()?;
        world.calls.receipt += transactions.len();
        world.calls.receipt_batches += 1;
        if world.is_behind || world.blocks().all(|header| header.hash != as_of) {
            return Err(SourceError::Behind { method: "scripted" });
        }
        let has_logs = |tx: &TxHash| world.all_receipts().any(|it| it.tx_hash == *tx);
        if world.repeats_logs && transactions.iter().any(has_logs) {
            return Err(malformed());
        }
        let answer = |tx: &TxHash| {
            if world.too_large.contains(tx) {
                return ReceiptAnswer::TooLarge;
            }
            let receipt = world.receipts.get(tx).or_else(|| world.made_up.get(tx));
            receipt
                .filter(|_| !world.denied.contains(tx))
                .map_or(ReceiptAnswer::NotFound, |receipt| {
                    ReceiptAnswer::Mined(world.said(receipt))
                })
        };
        Ok(transactions.iter().map(answer).collect())
    }
}

/// A block store that the test can look into, and that outlives a watcher.
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

impl SharedBlocks {
    /// The headers that are stored.
    pub(crate) async fn headers(&self) -> Vec<Header> {
        let blocks = self.load("base").await.unwrap();
        blocks.iter().map(|block| block.header).collect()
    }
}

/// A running watcher.
pub(crate) struct Rig {
    /// The first endpoint.
    pub(crate) chain: ScriptedChain,
    pub(crate) blocks: SharedBlocks,
    pub(crate) observations: mpsc::Receiver<Observation>,
    pub(crate) health: watch::Receiver<NetworkHealth>,
    watched: watch::Sender<OrdSet<TxHash>>,
    looks: Arc<Mutex<Looks>>,
    undecided: Arc<Mutex<BTreeSet<TxHash>>>,
    headers: Arc<Mutex<BTreeSet<u64>>>,
    missing: Arc<Mutex<BTreeSet<TxHash>>>,
    shutdown: oneshot::Sender<()>,
    task: JoinHandle<()>,
}

/// Which transactions a look waits for.
pub(crate) enum Looks {
    /// All that are watched, at every head.
    All,
    These(BTreeSet<TxHash>),
}

impl Rig {
    /// Watches `hashes` on `chain` from now on, with a look for each of them at every head.
    pub(crate) fn start(chain: &ScriptedChain, hashes: &[TxHash]) -> Rig {
        Rig::resume(chain, SharedBlocks::default(), hashes)
    }

    /// The same with what an earlier watcher has stored.
    pub(crate) fn resume(chain: &ScriptedChain, blocks: SharedBlocks, hashes: &[TxHash]) -> Rig {
        Rig::on(&[("scripted", chain)], blocks, hashes, Looks::All)
    }

    /// Watches through several endpoints, and no look is due until [`Rig::look_for`].
    pub(crate) fn through(chains: &[(&str, &ScriptedChain)], hashes: &[TxHash]) -> Rig {
        Rig::resume_through(chains, SharedBlocks::default(), hashes)
    }

    /// The same with what an earlier watcher has stored.
    pub(crate) fn resume_through(
        chains: &[(&str, &ScriptedChain)],
        blocks: SharedBlocks,
        hashes: &[TxHash],
    ) -> Rig {
        Rig::on(chains, blocks, hashes, Looks::These(BTreeSet::new()))
    }

    fn on(
        chains: &[(&str, &ScriptedChain)],
        blocks: SharedBlocks,
        hashes: &[TxHash],
        looks: Looks,
    ) -> Rig {
        let network = WatchedNetwork {
            name: "base".to_owned(),
            chain_id: CHAIN_ID,
            token: TOKEN,
            confirmed_depth: CONFIRMED_DEPTH,
            poll_ms: POLL_MS,
            block_ms: BLOCK_MS,
        };
        let endpoints = chains
            .iter()
            .zip(1..)
            .map(|((label, chain), jitter_seed)| Endpoint {
                source: (*chain).clone(),
                label: (*label).to_owned(),
                jitter_seed,
            })
            .collect();
        let (watched, receiver) = watch::channel(hashes.iter().copied().collect());
        let (sender, observations) = mpsc::channel(1_000);
        let looks = Arc::new(Mutex::new(looks));
        let undecided = Arc::new(Mutex::new(BTreeSet::new()));
        let headers = Arc::new(Mutex::new(BTreeSet::new()));
        let missing = Arc::new(Mutex::new(BTreeSet::new()));
        let channels = Channels {
            watched: receiver.clone(),
            expecting: expecting(&looks, (&undecided, &headers), &missing, receiver),
            accounts_of: Arc::new(|_| BTreeSet::from(ACCOUNTS)),
            observations: sender,
        };
        let watcher = Watcher::new(endpoints, network, blocks.clone(), channels);
        let health = watcher.health();
        let (shutdown, ended) = oneshot::channel::<()>();
        let task = tokio::spawn(watcher.run(async {
            let _ended = ended.await;
        }));
        Rig {
            chain: chains[0].1.clone(),
            blocks,
            observations,
            health,
            watched,
            looks,
            undecided,
            headers,
            missing,
            shutdown,
            task,
        }
    }

    /// Looks wait for these from the next head on.
    pub(crate) fn look_for(&self, hashes: &[TxHash]) {
        *self.looks.lock().unwrap() = Looks::These(hashes.iter().copied().collect());
    }

    /// The ledger has not decided on these from the next head on.
    pub(crate) fn expect_headers(&self, heights: &[u64]) {
        *self.headers.lock().unwrap() = heights.iter().copied().collect();
    }

    pub(crate) fn expect_undecided(&self, hashes: &[TxHash]) {
        *self.undecided.lock().unwrap() = hashes.iter().copied().collect();
    }

    /// Of what the watcher was not sure at the last head that the ledger knows it to be missing.
    pub(crate) fn missing(&self) -> Vec<TxHash> {
        self.missing.lock().unwrap().iter().copied().collect()
    }

    pub(crate) fn world(&self) -> MutexGuard<'_, World> {
        self.chain.world()
    }

    pub(crate) fn watch(&self, hashes: &[TxHash]) {
        self.watched.send_replace(hashes.iter().copied().collect());
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
            other @ (Observation::Unreachable { .. } | Observation::Header { .. }) => {
                panic!("expected a sweep, got {other:?}")
            }
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
    pub(crate) async fn stop(self) -> SharedBlocks {
        self.shutdown.send(()).expect("the watcher runs");
        self.task.await.expect("the watcher ends well");
        self.blocks
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
