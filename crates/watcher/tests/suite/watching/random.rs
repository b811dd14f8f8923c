//! Random histories of a chain and its two endpoints, against a fresh scan of the chain: mine, pay,
//! reorg with and without re-inclusion, drop, faults, lies, restarts.
//!
//! What is reported is taken in by a small stand-in for the ledger. Whatever happens on the way,
//! nothing false is ever reported, at whatever depth, and once it is quiet what is known is exactly
//! what the chain says: so every transfer that was taken back had its report.

#![expect(
    clippy::unwrap_used,
    reason = "there is a watcher whenever a step is taken"
)]

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;

use super::rig::Rig;
use super::scripted::{
    CONFIRMED_DEPTH, ScriptedChain, SharedBlocks, World, rate_limited, receipt, tx, unreachable,
};
use x811_protocol::evm::{BlockHash, TxHash};
use x811_protocol::observation::{Observation, Sweep, TransactionStatus};
use x811_watcher::Receipt;

/// Transactions of one history.
const TRANSACTIONS: u8 = 6;

#[derive(Debug, Clone)]
enum Step {
    Mine(usize),
    Pay {
        tx: u8,
        reverts: bool,
    },
    Reorg {
        depth: usize,
        blocks: usize,
        again: bool,
    },
    Fault {
        endpoint: usize,
        fault: Fault,
    },
    Heal {
        endpoint: usize,
    },
    Restart {
        forgets: bool,
    },
    Watch {
        tx: u8,
    },
    Look,
}

#[derive(Debug, Clone)]
enum Fault {
    Down,
    Lag(usize),
    LogsFailEvery(usize),
    HeadersFailEvery(usize),
    OmitsLog(u8),
    DeniesReceipt(u8),
    Forges(u8),
    InventsBlocks(u64),
    InventsTransfer(u8),
    RepeatsLogs,
    RefusesLevels,
    RefusesLists,
    CutsLists(usize),
    /// No receipt is answered.
    Indexes,
    LimitsRate,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => (1_usize..8).prop_map(Step::Mine),
        4 => (0..TRANSACTIONS, prop::bool::weighted(0.2))
            .prop_map(|(tx, reverts)| Step::Pay { tx, reverts }),
        2 => (1_usize..20, 1_usize..24, any::<bool>())
            .prop_map(|(depth, blocks, again)| Step::Reorg { depth, blocks, again }),
        3 => (0_usize..2, fault()).prop_map(|(endpoint, fault)| Step::Fault { endpoint, fault }),
        3 => (0_usize..2).prop_map(|endpoint| Step::Heal { endpoint }),
        1 => any::<bool>().prop_map(|forgets| Step::Restart { forgets }),
        3 => (0..TRANSACTIONS).prop_map(|tx| Step::Watch { tx }),
        2 => Just(Step::Look),
    ]
}

fn fault() -> impl Strategy<Value = Fault> {
    prop_oneof![
        Just(Fault::Down),
        (1_usize..9).prop_map(Fault::Lag),
        (2_usize..5).prop_map(Fault::LogsFailEvery),
        (2_usize..5).prop_map(Fault::HeadersFailEvery),
        (0..TRANSACTIONS).prop_map(Fault::OmitsLog),
        (0..TRANSACTIONS).prop_map(Fault::DeniesReceipt),
        (0..TRANSACTIONS).prop_map(Fault::Forges),
        (1_u64..40).prop_map(Fault::InventsBlocks),
        (0..TRANSACTIONS).prop_map(Fault::InventsTransfer),
        Just(Fault::RepeatsLogs),
        Just(Fault::RefusesLevels),
        Just(Fault::RefusesLists),
        (0_usize..2).prop_map(Fault::CutsLists),
        Just(Fault::Indexes),
        Just(Fault::LimitsRate),
    ]
}

/// The chain with both endpoints, and what a ledger would know by now.
struct History {
    endpoints: [ScriptedChain; 2],
    rig: Option<Rig>,
    /// The most blocks that the chain ever had after a step.
    highest: usize,
    watched: BTreeSet<TxHash>,
    /// What is true of every block there ever was.
    truth: BTreeMap<(BlockHash, TxHash), Receipt>,
    /// Every block that there ever was.
    blocks: BTreeSet<BlockHash>,
    /// What was reported last of each transaction: its block, and whether anything moved.
    known: BTreeMap<TxHash, Option<(BlockHash, bool)>>,
    /// Transfers that a ledger would have claimed.
    claimed: BTreeSet<(TxHash, u64)>,
}

impl History {
    fn start() -> History {
        let endpoints = [(); 2].map(|()| ScriptedChain::with_blocks(60));
        let rig = Rig::through(&[("a", &endpoints[0]), ("b", &endpoints[1])], &[]);
        History {
            endpoints,
            rig: Some(rig),
            highest: 0,
            watched: BTreeSet::new(),
            truth: BTreeMap::new(),
            blocks: BTreeSet::new(),
            known: BTreeMap::new(),
            claimed: BTreeSet::new(),
        }
    }

    fn both(&self, act: impl Fn(&mut World)) {
        for endpoint in &self.endpoints {
            act(&mut endpoint.world());
        }
    }

    fn rig(&mut self) -> &mut Rig {
        self.rig.as_mut().unwrap()
    }

    async fn take(&mut self, step: Step) {
        match step {
            Step::Mine(blocks) => self.both(|world| world.mine(blocks)),
            Step::Pay {
                tx: number,
                reverts,
            } => self.pay(tx(number), reverts),
            Step::Reorg {
                depth,
                blocks,
                again,
            } => self.reorg(depth, blocks, again),
            Step::Fault { endpoint, fault } => self.break_down(endpoint, &fault),
            Step::Heal { endpoint } => self.endpoints[endpoint].world().heal(),
            Step::Restart { forgets } => self.restart(forgets).await,
            Step::Watch { tx: number } => {
                self.watched.insert(tx(number));
                let watched: Vec<TxHash> = self.watched.iter().copied().collect();
                self.rig().watch(&watched);
            }
            Step::Look => {
                let watched: Vec<TxHash> = self.watched.iter().copied().collect();
                self.rig().look_for(&watched);
            }
        }
        self.highest = self.highest.max(self.height());
        self.note_blocks();
        self.listen(2_000).await;
    }

    fn height(&self) -> usize {
        self.endpoints[0].world().canonical.len()
    }

    /// Mines it into a new block, unless it is in one.
    fn pay(&mut self, tx: TxHash, reverts: bool) {
        if self.endpoints[0].world().receipts.contains_key(&tx) {
            return;
        }
        self.both(|world| {
            world.mine(1);
            let mut mined = receipt(tx, world.head(), 29_725);
            if reverts {
                mined.succeeded = false;
                mined.transfers.clear();
            }
            world.receipts.insert(tx, mined);
        });
        self.note_truth();
    }

    fn reorg(&mut self, depth: usize, blocks: usize, again: bool) {
        let before = self.endpoints[0].world().receipts.clone();
        self.both(|world| {
            let depth = depth.min(world.canonical.len() - 30);
            world.replace(depth, blocks);
            let head = world.head();
            for (tx, mined) in &before {
                if again && !world.receipts.contains_key(tx) {
                    let (block_number, block_hash) = (head.number, head.hash);
                    let mined = Receipt {
                        block_number,
                        block_hash,
                        ..mined.clone()
                    };
                    world.receipts.insert(*tx, mined);
                }
            }
        });
        self.note_truth();
    }

    fn note_blocks(&mut self) {
        let world = self.endpoints[0].world();
        self.blocks
            .extend(world.canonical.iter().map(|header| header.hash));
    }

    fn note_truth(&mut self) {
        for (tx, mined) in &self.endpoints[0].world().receipts {
            self.truth.insert((mined.block_hash, *tx), mined.clone());
        }
    }

    fn break_down(&mut self, endpoint: usize, fault: &Fault) {
        let mut world = self.endpoints[endpoint].world();
        world.who = u8::try_from(endpoint).unwrap();
        match fault {
            Fault::Down => world.failure = Some(unreachable()),
            Fault::Lag(blocks) => world.lag_blocks = *blocks,
            Fault::LogsFailEvery(every) => world.logs_fail_every = Some(*every),
            Fault::HeadersFailEvery(every) => world.header_fails_every = Some(*every),
            Fault::OmitsLog(number) => drop(world.omitted.insert(tx(*number))),
            Fault::DeniesReceipt(number) => drop(world.denied.insert(tx(*number))),
            // More money than was moved. The other endpoint may lie, too, but not the same lie.
            Fault::Forges(number) => {
                let micro_usdc = [1_000_000, 2_000_000][endpoint];
                world.forged.insert(tx(*number), micro_usdc);
            }
            Fault::RepeatsLogs => world.repeats_logs = true,
            Fault::RefusesLevels => world.refuses_levels = true,
            Fault::RefusesLists => world.refuses_lists = true,
            Fault::CutsLists(transfers) => world.cuts_lists = Some(*transfers),
            Fault::Indexes => world.is_indexing = true,
            Fault::LimitsRate => world.failure = Some(rate_limited()),
            Fault::InventsBlocks(blocks) => world.invented = *blocks,
            // Each another one: two that lie alike are two that agree.
            Fault::InventsTransfer(number) => {
                world.invent_transfer(tx(*number), [3_000_000, 4_000_000][endpoint]);
            }
        }
    }

    async fn restart(&mut self, forgets: bool) {
        let stored = self.rig.take().unwrap().stop().await;
        let stored = if forgets {
            SharedBlocks::default()
        } else {
            stored
        };
        let watched: Vec<TxHash> = self.watched.iter().copied().collect();
        let [a, b] = &self.endpoints;
        self.rig = Some(Rig::resume_through(&[("a", a), ("b", b)], stored, &watched));
    }

    async fn listen(&mut self, period_ms: u64) {
        for observation in self.rig().all_within(period_ms).await {
            if let Observation::Sweep(sweep) = observation {
                self.take_in(&sweep);
            }
        }
    }

    /// As a ledger does: what is deep is claimed, and what was claimed and is gone is reversed.
    fn take_in(&mut self, sweep: &Sweep) {
        let is_true = self.blocks.contains(&sweep.head.hash);
        assert!(is_true, "nobody mined the head {}", sweep.head.number);
        for (tx, status) in &sweep.transactions {
            assert!(self.watched.contains(tx), "nobody asked about {tx}");
            let TransactionStatus::Mined(mined) = status else {
                self.known.insert(*tx, None);
                continue;
            };
            let has_moved = !mined.transfers.is_empty();
            self.known.insert(*tx, Some((mined.block.hash, has_moved)));
            let truth = &self.truth[&(mined.block.hash, *tx)];
            assert_eq!(truth.transfers, mined.transfers, "{tx}");
            assert_eq!(truth.succeeded, mined.succeeded, "{tx}");
            if sweep.depth_of(&mined.block) < CONFIRMED_DEPTH {
                continue;
            }
            let claims = mined.transfers.iter().map(|moved| (*tx, moved.ordinal));
            let claims: Vec<(TxHash, u64)> = claims.collect();
            let distinct: BTreeSet<_> = claims.iter().copied().collect();
            assert_eq!(distinct.len(), claims.len(), "one claim for one transfer");
            self.claimed.extend(claims);
        }
    }

    /// Every fault ends, the chain outgrows whatever it once was (a head below all that is held says
    /// nothing), time passes, and each transaction is looked for.
    async fn quiet_down(&mut self) {
        self.both(World::heal);
        let lost = self.highest.saturating_sub(self.height());
        self.both(|world| world.mine(lost));
        let watched: Vec<TxHash> = self.watched.iter().copied().collect();
        self.rig().look_for(&watched);
        for _ in 0..CONFIRMED_DEPTH + 3 {
            self.both(|world| world.mine(1));
            self.note_blocks();
            self.listen(20_000).await;
        }
    }

    fn compare_with_a_fresh_scan(&self) {
        let world = self.endpoints[0].world();
        for tx in &self.watched {
            let on_chain = world.receipts.get(tx);
            let on_chain = on_chain.map(|mined| (mined.block_hash, !mined.transfers.is_empty()));
            let known = self.known.get(tx).copied();
            assert_eq!(known, Some(on_chain), "{tx}");
        }
        let paid: BTreeSet<TxHash> = world
            .receipts
            .values()
            .filter(|mined| !mined.transfers.is_empty() && self.watched.contains(&mined.tx_hash))
            .map(|mined| mined.tx_hash)
            .collect();
        let claimed: BTreeSet<TxHash> = self
            .claimed
            .iter()
            .map(|(tx, _)| *tx)
            .filter(|tx| matches!(self.known.get(tx), Some(Some((_, true)))))
            .collect();
        assert_eq!(
            claimed, paid,
            "what is claimed and still there is what is paid"
        );
    }
}

proptest! {
    #![proptest_config(ProptestConfig { max_shrink_iters: 2_000, ..ProptestConfig::default() })]

    #[test]
    fn sw_property_what_is_known_in_the_end_is_what_the_chain_says(
        steps in prop::collection::vec(step(), 1..60)
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .start_paused(true)
            .build()
            .unwrap();
        runtime.block_on(async {
            let mut history = History::start();
            for step in steps {
                history.take(step).await;
            }
            history.quiet_down().await;
            history.compare_with_a_fresh_scan();
        });
    }
}
