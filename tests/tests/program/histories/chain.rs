//! One chain that two endpoints serve, with a block every two seconds of the ledger's clock, and
//! everything that was ever true of it.

use std::collections::BTreeMap;

use x811_protocol::evm::{BlockHash, EvmAddress, TxHash};
use x811_protocol::money::MicroUsdc;
use x811_protocol::observation::Transfer;
use x811_protocol::time::TimestampMs;
use x811_watcher::Receipt;

use super::base::{PAYEE, tx};
use super::scripted::{ScriptedChain, World, rate_limited, unreachable};

/// Blocks below the ledger's start.
const BLOCKS_BEFORE: u64 = 60;
/// How far `safe` is behind the head.
const SAFE_DEPTH: usize = 30;
/// How far `finalized` is behind the head; no reorganisation goes so deep.
const FINAL_DEPTH: usize = 40;

/// How an endpoint fails or lies.
#[derive(Debug, Clone)]
pub(crate) enum Fault {
    Down,
    Lag(usize),
    LogsFailEvery(usize),
    HeadersFailEvery(usize),
    OmitsLog(u16),
    DeniesReceipt(u16),
    Forges(u16),
    /// Blocks on top of its branch that nobody else has.
    InventsBlocks(u64),
    /// A transfer in its newest block.
    InventsTransfer(u16),
    RepeatsLogs,
    RefusesLevels,
    RefusesLists,
    CutsLists(usize),
    /// No receipt is answered.
    Indexes,
    LimitsRate,
    /// For good: another endpoint has to take its place.
    Dies,
}

impl Fault {
    /// Whether it makes an endpoint say what is not so: where it is the lone one, nothing defends.
    fn is_lie(&self) -> bool {
        match self {
            Fault::OmitsLog(_)
            | Fault::DeniesReceipt(_)
            | Fault::Forges(_)
            | Fault::InventsBlocks(_)
            | Fault::InventsTransfer(_) => true,
            Fault::Down
            | Fault::Lag(_)
            | Fault::LogsFailEvery(_)
            | Fault::HeadersFailEvery(_)
            | Fault::RepeatsLogs
            | Fault::RefusesLevels
            | Fault::RefusesLists
            | Fault::CutsLists(_)
            | Fault::Indexes
            | Fault::LimitsRate
            | Fault::Dies => false,
        }
    }
}

pub(crate) struct Chain {
    pub(crate) endpoints: [ScriptedChain; 2],
    /// How many of them the ledger asks: both, or the lone first.
    pub(crate) asked: usize,
    /// What is true of every block there ever was.
    pub(crate) truth: BTreeMap<(BlockHash, TxHash), Receipt>,
    /// The parent of every block there ever was since the ledger's start.
    parents: BTreeMap<BlockHash, BlockHash>,
    /// How often a transaction was taken out of a block.
    pub(crate) taken_out: BTreeMap<TxHash, usize>,
    /// Sent and not mined: what it moves, and whether it will fail.
    pool: BTreeMap<TxHash, (Vec<Transfer>, bool)>,
    /// No blocks come.
    pub(crate) is_halted: bool,
}

impl Chain {
    /// Its head is of `now`.
    pub(crate) fn at(now: TimestampMs, asked: usize) -> Chain {
        let genesis_s = now.as_ms() / 1_000 - 2 * (BLOCKS_BEFORE - 1);
        let blocks = usize::try_from(BLOCKS_BEFORE).unwrap();
        Chain {
            endpoints: [(); 2].map(|()| ScriptedChain::since(genesis_s, blocks)),
            asked,
            truth: BTreeMap::new(),
            parents: BTreeMap::new(),
            taken_out: BTreeMap::new(),
            pool: BTreeMap::new(),
            is_halted: false,
        }
    }

    fn both(&self, act: impl Fn(&mut World)) {
        for endpoint in &self.endpoints {
            act(&mut endpoint.world());
        }
    }

    /// Mines what is due by then.
    pub(crate) fn pass_to(&mut self, now: TimestampMs) {
        let now_s = now.as_ms() / 1_000;
        let is_due = |chain: &Chain| chain.endpoints[0].world().head().timestamp_s + 2 <= now_s;
        while !self.is_halted && is_due(self) {
            self.mine_one();
        }
    }

    fn mine_one(&mut self) {
        let pool = std::mem::take(&mut self.pool);
        self.both(|world| {
            world.mine(1);
            for (tx_hash, (transfers, reverts)) in &pool {
                include(world, *tx_hash, transfers, *reverts);
            }
            let blocks = world.canonical.len();
            world.safe_number = Some(blocks.saturating_sub(SAFE_DEPTH));
            world.final_number = Some(blocks.saturating_sub(FINAL_DEPTH));
        });
        self.note();
    }

    /// Sends a transaction that makes these transfers, unless it was sent and is not lost.
    pub(crate) fn send(
        &mut self,
        tx_hash: TxHash,
        payer: EvmAddress,
        amounts: &[u64],
        reverts: bool,
    ) {
        let is_mined = self.endpoints[0].world().receipts.contains_key(&tx_hash);
        if is_mined || self.pool.contains_key(&tx_hash) {
            return;
        }
        let transfers = amounts.iter().zip(0..);
        let transfers = transfers.map(|(micro_usdc, ordinal)| Transfer {
            authorization_nonce: None,
            ordinal,
            from: payer,
            to: PAYEE,
            amount: MicroUsdc::from_micro_usdc(*micro_usdc).unwrap(),
        });
        self.pool.insert(tx_hash, (transfers.collect(), reverts));
    }

    /// Drops a transaction that is not mined.
    pub(crate) fn drop(&mut self, tx_hash: TxHash) {
        self.pool.remove(&tx_hash);
    }

    /// Replaces the last `depth` blocks by so many fewer, the last of which has what was in them when it
    /// is to come back: lower than it was, where they are fewer. Blocks that are due come next.
    pub(crate) fn reorganise(&mut self, depth: usize, fewer: usize, comes_back: bool) {
        let before = self.endpoints[0].world().receipts.clone();
        self.both(|world| {
            world.replace(depth, depth - fewer);
            for (tx_hash, mined) in &before {
                if comes_back && !world.receipts.contains_key(tx_hash) {
                    include(world, *tx_hash, &mined.transfers, !mined.succeeded);
                }
            }
        });
        let after = self.endpoints[0].world().receipts.clone();
        for (tx_hash, mined) in before {
            if after.get(&tx_hash) != Some(&mined) {
                *self.taken_out.entry(tx_hash).or_default() += 1;
            }
        }
        self.note();
    }

    /// What a fresh scan of the blocks from the first to the head finds.
    pub(crate) fn scan(&self) -> BTreeMap<TxHash, Receipt> {
        let world = self.endpoints[0].world();
        let mut found = BTreeMap::new();
        for header in &world.canonical {
            let mined = world.receipts.values();
            for mined in mined.filter(|mined| mined.block_hash == header.hash) {
                let twice = found.insert(mined.tx_hash, mined.clone());
                assert_eq!(twice, None, "a transaction is mined once");
            }
        }
        found
    }

    /// Time of the block of that height, as its header says.
    pub(crate) fn mined_at(&self, mined: &Receipt) -> TimestampMs {
        let world = self.endpoints[0].world();
        let number = usize::try_from(mined.block_number).unwrap();
        TimestampMs::new(world.canonical[number].timestamp_s * 1_000)
    }

    fn note(&mut self) {
        let world = self.endpoints[0].world();
        for (tx_hash, mined) in &world.receipts {
            self.truth
                .insert((mined.block_hash, *tx_hash), mined.clone());
        }
        for header in world.canonical.iter().rev().take(FINAL_DEPTH) {
            self.parents.insert(header.hash, header.parent);
        }
    }

    /// The height of the last block that the branch of `head` has in common with the chain as it is now.
    pub(crate) fn fork_of(&self, head: BlockHash) -> u64 {
        let world = self.endpoints[0].world();
        let height = |block: BlockHash| {
            let mut canonical = world.canonical.iter();
            canonical
                .find(|header| header.hash == block)
                .map(|it| it.number)
        };
        let below = |block: &BlockHash| self.parents.get(block).copied();
        let mut branch = std::iter::successors(Some(head), below);
        branch.find_map(height).expect("no fork is so deep")
    }

    /// Whether the transaction was in `head` or a block below it, on whatever branch.
    pub(crate) fn was_in_branch(&self, tx_hash: TxHash, head: BlockHash) -> bool {
        let below = |block: &BlockHash| self.parents.get(block).copied();
        let mut branch = std::iter::successors(Some(head), below);
        branch.any(|block| self.truth.contains_key(&(block, tx_hash)))
    }

    pub(crate) fn break_down(&self, endpoint: usize, fault: &Fault) {
        if self.asked == 1 && fault.is_lie() {
            return;
        }
        let mut world = self.endpoints[endpoint].world();
        world.who = u8::try_from(endpoint).unwrap();
        match fault {
            Fault::Down => world.failure = Some(unreachable()),
            Fault::Lag(blocks) => world.lag_blocks = *blocks,
            Fault::LogsFailEvery(every) => world.logs_fail_every = Some(*every),
            Fault::HeadersFailEvery(every) => world.header_fails_every = Some(*every),
            Fault::OmitsLog(number) => drop(world.omitted.insert(tx(*number))),
            Fault::DeniesReceipt(number) => drop(world.denied.insert(tx(*number))),
            // The other endpoint may lie, too, but not the same lie.
            Fault::Forges(number) => {
                let micro_usdc = [3_000_000, 4_000_000][endpoint];
                world.forged.insert(tx(*number), micro_usdc);
            }
            Fault::InventsBlocks(blocks) => world.invented = *blocks,
            Fault::InventsTransfer(number) => {
                world.invent_transfer(tx(*number), [3_000_000, 4_000_000][endpoint]);
            }
            Fault::RepeatsLogs => world.repeats_logs = true,
            Fault::RefusesLevels => world.refuses_levels = true,
            Fault::RefusesLists => world.refuses_lists = true,
            Fault::CutsLists(transfers) => world.cuts_lists = Some(*transfers),
            Fault::Indexes => world.is_indexing = true,
            Fault::LimitsRate => world.failure = Some(rate_limited()),
            Fault::Dies => {
                world.is_dead = true;
                world.failure = Some(unreachable());
            }
        }
    }

    /// Another endpoint takes the place of this one.
    pub(crate) fn exchange(&self, endpoint: usize) {
        let mut world = self.endpoints[endpoint].world();
        world.is_dead = false;
        world.heal();
    }

    pub(crate) fn heal(&self, endpoint: usize) {
        self.endpoints[endpoint].world().heal();
    }
}

/// Puts a transaction into the last block. One that failed moved nothing.
fn include(world: &mut World, tx_hash: TxHash, transfers: &[Transfer], reverts: bool) {
    let head = world.head();
    let receipt = Receipt {
        tx_hash,
        block_number: head.number,
        block_hash: head.hash,
        succeeded: !reverts,
        transfers: if reverts {
            Vec::new()
        } else {
            transfers.to_vec()
        },
        authorizations: BTreeMap::new(),
    };
    world.receipts.insert(tx_hash, receipt);
}
