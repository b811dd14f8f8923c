//! A chain that does what the test says. Nothing here knows alloy or JSON: the trait is the whole world.

#![expect(clippy::unwrap_used, reason = "a harness stops the test at once")]

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use x811_protocol::digest::Digest;
use x811_protocol::evm::{BlockHash, ChainId, EvmAddress, TxHash};
use x811_protocol::money::MicroUsdc;
use x811_protocol::observation::Transfer;
use x811_protocol::parameters::FinalBy;
use x811_watcher::{
    BlockStore, BlockStoreError, CallAnswer, ChainSource, HeadTag, Header, MemoryBlockStore,
    Receipt, ReceiptAnswer, SourceError, TailBlock, TailChange, TokenTransaction,
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
    /// What makes its blocks final, as the watcher is configured.
    pub(crate) final_by: FinalBy,
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
    /// These calls fail: methods, or the tags of heads.
    pub(crate) fails: BTreeMap<&'static str, SourceError>,
    /// These calls are answered with null.
    pub(crate) nulls: BTreeSet<&'static str>,
    /// Every request fails with this.
    pub(crate) failure: Option<SourceError>,
    /// Every so-many-th header asked for by its hash gets no answer.
    pub(crate) header_fails_every: Option<usize>,
    pub(crate) calls: Calls,
    /// Transactions that logs do not show although their receipts are there.
    pub(crate) omitted: BTreeSet<TxHash>,
    /// Of these transactions lists alone show that this much was moved, in micro-USDC.
    pub(crate) forged_in_lists: BTreeMap<TxHash, u64>,
    /// Of each transaction lists show so many transfers.
    pub(crate) cuts_lists: Option<usize>,
    /// The lists of these blocks are refused, or of all.
    pub(crate) refuses_lists_of: BTreeSet<BlockHash>,
    pub(crate) refuses_lists: bool,
    /// No receipt is answered: the node is indexing.
    pub(crate) is_indexing: bool,
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
        self.fails.clear();
        self.nulls.clear();
        self.lag_blocks = 0;
        self.logs_fail_every = None;
        self.header_fails_every = None;
        self.omitted.clear();
        self.forged_in_lists.clear();
        self.cuts_lists = None;
        self.refuses_lists_of.clear();
        self.refuses_lists = false;
        self.is_indexing = false;
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

    /// What the list of its block shows of it.
    fn listed(&self, truth: &Receipt) -> Vec<Transfer> {
        if let Some(micro_usdc) = self.forged_in_lists.get(&truth.tx_hash) {
            return vec![transfer(*micro_usdc)];
        }
        let mut transfers = self.said(truth).transfers;
        transfers.truncate(self.cuts_lists.unwrap_or(usize::MAX));
        transfers
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

pub(crate) fn transfer(micro_usdc: u64) -> Transfer {
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

pub(crate) fn rate_limited() -> SourceError {
    SourceError::Busy {
        method: "scripted",
        said: "over rate limit (code -32016)".to_owned(),
        is_rate_limit: true,
        retry_after_ms: None,
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
            final_by: FinalBy::Tag,
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
            fails: BTreeMap::new(),
            nulls: BTreeSet::new(),
            failure: None,
            header_fails_every: None,
            calls: Calls::default(),
            omitted: BTreeSet::new(),
            forged_in_lists: BTreeMap::new(),
            cuts_lists: None,
            refuses_lists_of: BTreeSet::new(),
            refuses_lists: false,
            is_indexing: false,
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

    /// The world, when the endpoint answers that call.
    fn asked(&self, call: &str) -> Result<MutexGuard<'_, World>, SourceError> {
        let world = self.world();
        let failure = world.failure.as_ref().or(world.fails.get(call));
        failure.cloned().map_or(Ok(world), Err)
    }
}

impl ChainSource for ScriptedChain {
    async fn chain_id(&self) -> Result<ChainId, SourceError> {
        self.world().calls.chain_id += 1;
        Ok(self.asked("eth_chainId")?.chain_id)
    }

    async fn code_at(&self, address: EvmAddress) -> Result<bool, SourceError> {
        assert_eq!(address, TOKEN);
        self.world().calls.code += 1;
        Ok(self.asked("eth_getCode")?.has_code)
    }

    async fn token_decimals(&self, token: EvmAddress) -> Result<Option<u8>, SourceError> {
        assert_eq!(token, TOKEN);
        Ok(self.asked("eth_call")?.decimals)
    }

    async fn call(
        &self,
        _to: EvmAddress,
        input: &[u8],
        as_of: BlockHash,
    ) -> Result<CallAnswer, SourceError> {
        let mut world = self.asked("eth_call")?;
        world.calls.call += 1;
        if world.canonical.iter().all(|header| header.hash != as_of) {
            return Err(refused());
        }
        let answer = world.answers.get(&(as_of, input.to_vec()));
        answer.cloned().unwrap_or_else(|| Ok(world.call.clone()))
    }

    async fn head(&self, tag: HeadTag) -> Result<Option<Header>, SourceError> {
        let mut world = self.asked(tag.as_str())?;
        if world.nulls.contains(tag.as_str()) {
            return Ok(None);
        }
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
        let mut world = self.asked("eth_getBlockByHash")?;
        if world.nulls.contains("eth_getBlockByHash") {
            return Ok(None);
        }
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
        let mut world = self.asked("eth_getBlockByNumber")?;
        if world.nulls.contains("eth_getBlockByNumber") {
            return Ok(None);
        }
        world.calls.header_by_number += 1;
        Ok(world.blocks().find(|header| header.number == number))
    }

    async fn transfers_in(
        &self,
        block: BlockHash,
        token: EvmAddress,
    ) -> Result<Vec<TokenTransaction>, SourceError> {
        assert_eq!(token, TOKEN);
        let mut world = self.asked("eth_getLogs")?;
        world.calls.logs += 1;
        let asked = world.calls.logs;
        if world
            .logs_fail_every
            .is_some_and(|every| asked % every == 0)
        {
            return Err(unreachable());
        }
        if world.blocks().all(|header| header.hash != block) {
            return Err(SourceError::Behind { method: "scripted" });
        }
        if world.refuses_lists || world.refuses_lists_of.contains(&block) {
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
            transfers: world.listed(receipt),
            authorizations: receipt.authorizations.clone(),
        });
        Ok(moved.filter(|moved| !moved.transfers.is_empty()).collect())
    }

    async fn receipts(
        &self,
        transactions: &[TxHash],
        token: EvmAddress,
        as_of: BlockHash,
    ) -> Result<Vec<ReceiptAnswer>, SourceError> {
        assert_eq!(token, TOKEN);
        tokio::time::sleep(Duration::from_millis(1)).await;
        let mut world = self.asked("eth_getTransactionReceipt")?;
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
            if world.is_indexing {
                return ReceiptAnswer::Unanswered;
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
