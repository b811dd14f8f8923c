//! The tail of the chain: what a block costs, what is answered without a call, what a reorg takes
//! back, and what a restart remembers.

use std::collections::BTreeSet;

use super::depth;
use super::rig::Rig;
use super::scripted::{CONFIRMED_DEPTH, ScriptedChain, receipt, tx, unreachable};
use x811_protocol::evm::TxHash;
use x811_protocol::observation::{Observation, TransactionStatus};
use x811_watcher::Receipt;

/// A hash of its own for each of many transactions.
fn numbered(number: u32) -> TxHash {
    let mut bytes = [0xee; 32];
    bytes[..4].copy_from_slice(&number.to_be_bytes());
    TxHash::from_bytes(bytes)
}

/// What 20 blocks cost, a block each 2 s, with so many transactions awaited.
async fn calls_in_20_blocks(endpoints: usize, pending: u32) -> usize {
    let chains: Vec<_> = (0..endpoints)
        .map(|_| ScriptedChain::with_blocks(60))
        .collect();
    let labels = ["first", "second"];
    let named: Vec<_> = labels.into_iter().zip(&chains).collect();
    let hashes: Vec<TxHash> = (0..pending).map(numbered).collect();
    let mut rig = Rig::through(&named, &hashes);
    let mut mine_and_take = async |blocks: usize| {
        for _ in 0..blocks {
            chains.iter().for_each(|chain| chain.world().mine(1));
            for observation in rig.all_within(2_000).await {
                assert!(matches!(observation, Observation::Sweep(_)));
            }
        }
    };
    // Every one of them is asked for once.
    mine_and_take(110).await;
    let total = || -> usize { chains.iter().map(|c| c.world().calls.total()).sum() };
    let before = total();
    mine_and_take(20).await;
    total() - before
}

#[tokio::test(start_paused = true)]
async fn sw_design_a_block_costs_the_same_whatever_is_awaited() {
    let mut costs = Vec::new();
    for pending in [0, 1_000, 100_000] {
        costs.push(calls_in_20_blocks(1, pending).await);
    }
    assert_eq!(costs[0], costs[1]);
    assert_eq!(costs[0], costs[2]);
    assert!(costs[0] <= 3 * 20, "{costs:?} calls in 20 blocks");
}

#[tokio::test(start_paused = true)]
async fn sw_design_two_endpoints_cost_at_most_four_calls_a_block() {
    let costs = [
        calls_in_20_blocks(2, 0).await,
        calls_in_20_blocks(2, 1_000).await,
    ];
    assert_eq!(costs[0], costs[1]);
    assert!(costs[0] <= 4 * 20, "{costs:?} calls in 20 blocks");
}

#[tokio::test(start_paused = true)]
async fn sw_10_what_is_awaited_is_asked_for_at_looks_alone() {
    let chain = ScriptedChain::with_blocks(40);
    let mut rig = Rig::through(&[("only", &chain)], &[tx(1)]);
    let first = rig.sweep().await;
    assert_eq!(first.transactions[&tx(1)], TransactionStatus::NotFound);
    for _ in 0..10 {
        rig.world().mine(1);
        assert!(rig.sweep().await.transactions.is_empty());
    }
    assert_eq!(rig.world().calls.receipt, 1);
    rig.look_for(&[tx(1)]);
    rig.world().mine(1);
    let look = rig.sweep().await;
    assert_eq!(look.transactions[&tx(1)], TransactionStatus::NotFound);
    assert_eq!(rig.world().calls.receipt, 2);
    rig.look_for(&[]);
    rig.world().mine(1);
    rig.world().pay(tx(1), 5);
    assert_eq!(depth(&rig.sweep().await, tx(1)), Some(1));
    assert_eq!(rig.world().calls.receipt, 3, "and once when it is found");
    rig.world().mine(1);
    assert_eq!(depth(&rig.sweep().await, tx(1)), Some(2));
    assert_eq!(rig.world().calls.receipt, 3);
}

/// A transaction was asked for in vain, and is in the newest block, whose logs do not show it.
async fn paid_and_left_out_of_the_logs() -> Rig {
    let chain = ScriptedChain::with_blocks(40);
    let mut rig = Rig::through(&[("only", &chain)], &[tx(1)]);
    rig.sweep().await;
    {
        let mut world = rig.world();
        world.mine(1);
        world.omitted.insert(tx(1));
        world.pay(tx(1), 5);
    }
    rig
}

#[tokio::test(start_paused = true)]
async fn sw_26_an_omitted_log_is_found_by_its_receipt_at_the_next_look() {
    let mut rig = paid_and_left_out_of_the_logs().await;
    assert!(rig.sweep().await.transactions.is_empty());
    rig.look_for(&[tx(1)]);
    rig.world().mine(1);
    assert_eq!(depth(&rig.sweep().await, tx(1)), Some(2));
    rig.look_for(&[]);
    let asked = rig.world().calls.receipt;
    for expected_depth in 3..=CONFIRMED_DEPTH {
        rig.world().mine(1);
        assert_eq!(depth(&rig.sweep().await, tx(1)), Some(expected_depth));
    }
    assert_eq!(rig.world().calls.receipt, asked, "it is held by its block");
}

/// Nobody looks for it any more: its interaction is over.
#[tokio::test(start_paused = true)]
async fn sw_21_what_the_logs_left_out_is_found_by_its_receipt_long_after() {
    let mut rig = paid_and_left_out_of_the_logs().await;
    let mut blocks = 1;
    while depth(&rig.sweep().await, tx(1)).is_none() {
        assert!(blocks < 155, "not found");
        assert_eq!(rig.world().calls.receipt, 1, "after {blocks} blocks");
        rig.world().mine(1);
        blocks += 1;
    }
    assert!(blocks >= 150, "{blocks} blocks");
}

#[tokio::test(start_paused = true)]
async fn sw_21_of_many_that_are_missing_few_are_asked_for_at_a_time_and_all_in_turn() {
    let chain = ScriptedChain::with_blocks(40);
    let hashes: Vec<TxHash> = (0..300).map(numbered).collect();
    let mut rig = Rig::through(&[("only", &chain)], &hashes);
    rig.sweep().await;
    {
        let mut world = rig.world();
        world.mine(1);
        world.omitted.extend(&hashes);
        hashes.iter().for_each(|tx| world.pay(*tx, 5));
    }
    let mut found = BTreeSet::new();
    let mut blocks = 1;
    while found.len() < hashes.len() {
        let before = rig.world().calls.receipt;
        rig.world().mine(1);
        let sweep = rig.sweep().await;
        assert!(rig.world().calls.receipt - before <= 10);
        found.extend(sweep.transactions.into_keys());
        blocks += 1;
        assert!(blocks <= 150 + 300 / 10 * 5, "{} found", found.len());
    }
    assert_eq!(rig.world().calls.receipt, 2 * 300);
}

/// An endpoint that does not answer is no witness of what is missing: what nobody has is not asked
/// for at every head because of it.
#[tokio::test(start_paused = true)]
async fn sw_25_what_is_missing_stays_so_while_an_endpoint_cannot_say() {
    let chains = [40, 40].map(ScriptedChain::with_blocks);
    let hashes: Vec<TxHash> = (0..30).map(numbered).collect();
    let mut rig = Rig::through(&[("first", &chains[0]), ("second", &chains[1])], &hashes);
    let first = rig.sweep().await;
    assert_eq!(first.transactions.len(), 30);
    chains[1].world().is_behind = true;
    for _ in 0..250 {
        chains.iter().for_each(|chain| chain.world().mine(1));
        rig.all_within(2_000).await;
        assert_eq!(rig.health.borrow().unsettled, 0);
    }
    let asked = chains[0].world().calls.receipt;
    assert_eq!(asked, 2 * 30);
}

#[tokio::test(start_paused = true)]
async fn sw_12_a_reverted_transaction_has_no_logs_and_is_found_by_its_receipt() {
    let chain = ScriptedChain::with_blocks(40);
    let mut rig = Rig::through(&[("only", &chain)], &[tx(1)]);
    rig.sweep().await;
    rig.world().mine(1);
    let reverted = Receipt {
        succeeded: false,
        transfers: Vec::new(),
        ..receipt(tx(1), rig.world().head(), 5)
    };
    rig.world().receipts.insert(tx(1), reverted);
    rig.look_for(&[tx(1)]);
    let sweep = rig.sweep().await;
    let TransactionStatus::Mined(mined) = &sweep.transactions[&tx(1)] else {
        panic!("it is mined")
    };
    assert!(!mined.succeeded);
}

#[tokio::test(start_paused = true)]
async fn sw_23_a_reorg_takes_back_and_the_new_branch_brings_again() {
    let chain = ScriptedChain::with_blocks(40);
    let mut rig = Rig::through(&[("only", &chain)], &[tx(1), tx(2)]);
    rig.sweep().await;
    {
        let mut world = rig.world();
        world.mine(1);
        world.pay(tx(1), 5);
        world.pay(tx(2), 6);
    }
    let seen = rig.sweep().await;
    assert_eq!(
        (depth(&seen, tx(1)), depth(&seen, tx(2))),
        (Some(1), Some(1))
    );
    {
        let mut world = rig.world();
        world.reorg(1);
        world.pay(tx(2), 6);
    }
    let after = rig.sweep().await;
    assert_eq!(after.transactions[&tx(1)], TransactionStatus::NotFound);
    assert_eq!(depth(&after, tx(2)), Some(1));
    rig.world().mine(1);
    rig.world().pay(tx(1), 5);
    let again = rig.sweep().await;
    assert_eq!(
        (depth(&again, tx(1)), depth(&again, tx(2))),
        (Some(1), Some(2))
    );
    assert_eq!(rig.health.borrow().reorgs, 1);
}

/// A branch that is no longer than the one it replaces: heights alone would not show it.
#[tokio::test(start_paused = true)]
async fn sw_23_a_branch_of_the_same_or_a_lower_height_is_noticed() {
    for new_blocks in [0, 1, 2] {
        let chain = ScriptedChain::with_blocks(40);
        let mut rig = Rig::through(&[("only", &chain)], &[tx(1)]);
        rig.sweep().await;
        rig.world().mine(1);
        rig.world().pay(tx(1), 5);
        assert_eq!(depth(&rig.sweep().await, tx(1)), Some(1));
        rig.world().mine(2);
        assert_eq!(depth(&rig.sweep().await, tx(1)), Some(3));
        rig.world().replace(3, new_blocks + 1);
        let sweep = rig.sweep().await;
        assert_eq!(sweep.head, rig.world().head().block());
        assert_eq!(sweep.transactions[&tx(1)], TransactionStatus::NotFound);
    }
}

#[tokio::test(start_paused = true)]
async fn sw_27_a_block_counts_once_its_transfers_are_known() {
    let chain = ScriptedChain::with_blocks(40);
    let mut rig = Rig::through(&[("only", &chain)], &[tx(1)]);
    rig.sweep().await;
    rig.world().logs_fail_every = Some(2);
    for _ in 0..30 {
        rig.world().mine(3);
        let paid = rig.world().canonical.len() - 2;
        let block = rig.world().canonical[paid];
        rig.world().receipts.insert(tx(1), receipt(tx(1), block, 5));
        let sweep = loop {
            if let Observation::Sweep(sweep) = rig.next().await {
                break sweep;
            }
        };
        assert_eq!(sweep.head, rig.world().head().block());
        assert_eq!(depth(&sweep, tx(1)), Some(2), "no block was skipped");
        rig.watch(&[]);
        rig.all_within(100).await;
        rig.watch(&[tx(1)]);
        rig.all_within(100).await;
    }
    let asked = rig.world().calls.receipt;
    assert_eq!(
        asked,
        1 + 2 * 30,
        "the index had it every time, and its receipt said so"
    );
}

#[tokio::test(start_paused = true)]
async fn sw_23_a_reorg_during_downtime_takes_back_what_was_seen() {
    let chain = ScriptedChain::with_blocks(40);
    chain.world().pay(tx(1), 5);
    let mut rig = Rig::through(&[("only", &chain)], &[tx(1)]);
    assert_eq!(depth(&rig.sweep().await, tx(1)), Some(1));
    let blocks = rig.stop().await;
    chain.world().reorg(5);
    let mut rig = Rig::resume_through(&[("only", &chain)], blocks, &[tx(1)]);
    let sweep = rig.sweep().await;
    assert_eq!(sweep.transactions[&tx(1)], TransactionStatus::NotFound);
    assert_eq!(rig.health.borrow().reorgs, 1);
}

/// Whose word the stored blocks are is not kept: whoever is asked now says it once.
#[tokio::test(start_paused = true)]
async fn sw_design_what_was_indexed_takes_one_receipt_after_a_restart() {
    let chain = ScriptedChain::with_blocks(40);
    chain.world().pay(tx(1), 5);
    let mut rig = Rig::through(&[("only", &chain)], &[]);
    rig.sweep().await;
    rig.world().mine(5);
    rig.sweep().await;
    let blocks = rig.stop().await;
    chain.world().mine(5);
    let asked = chain.world().calls;
    let mut rig = Rig::resume_through(&[("only", &chain)], blocks, &[tx(1)]);
    assert_eq!(depth(&rig.sweep().await, tx(1)), Some(11));
    let calls = rig.world().calls;
    assert_eq!((calls.receipt, calls.logs - asked.logs), (1, 5));
}

/// More than the window is long: what was held proves nothing any more, receipts do.
#[tokio::test(start_paused = true)]
async fn sw_11_after_a_gap_longer_than_the_window_receipts_decide() {
    let chain = ScriptedChain::with_blocks(40);
    chain.world().pay(tx(1), 5);
    chain.world().pay(tx(2), 6);
    let mut rig = Rig::through(&[("only", &chain)], &[tx(1), tx(2)]);
    rig.sweep().await;
    {
        let mut world = rig.world();
        world.mine(700);
        world.receipts.remove(&tx(2));
    }
    let sweep = loop {
        let sweep = rig.sweep().await;
        if sweep.head.number == 739 {
            break sweep;
        }
    };
    assert_eq!(depth(&sweep, tx(1)), Some(701));
    assert_eq!(sweep.transactions[&tx(2)], TransactionStatus::NotFound);
    let later = rig.world().calls;
    rig.expect_undecided(&[tx(1)]);
    rig.world().mine(1);
    assert_eq!(depth(&rig.sweep().await, tx(1)), Some(702));
    assert_eq!(rig.world().calls.header_by_number, later.header_by_number);
}

#[tokio::test(start_paused = true)]
async fn sw_design_many_are_asked_for_in_turn() {
    let chain = ScriptedChain::with_blocks(40);
    let hashes: Vec<TxHash> = (0..2_500).map(numbered).collect();
    let mut rig = Rig::through(&[("only", &chain)], &hashes);
    let mut answered = BTreeSet::new();
    for _ in 0..3 {
        let sweep = rig.sweep().await;
        assert!(sweep.transactions.len() <= 1_000);
        answered.extend(sweep.transactions.into_keys());
        rig.world().mine(1);
    }
    assert_eq!(answered.len(), 2_500);
}

#[tokio::test(start_paused = true)]
async fn sw_25_what_is_found_waits_while_the_network_is_not_seen() {
    let chain = ScriptedChain::with_blocks(40);
    let mut rig = Rig::through(&[("only", &chain)], &[tx(1)]);
    rig.sweep().await;
    rig.look_for(&[tx(1)]);
    rig.world().failure = Some(unreachable());
    rig.world().mine(300);
    let blind = rig.all_within(600_000).await;
    assert!(
        blind
            .iter()
            .all(|seen| matches!(seen, Observation::Unreachable { .. }))
    );
    rig.world().failure = None;
    rig.world().pay(tx(1), 5);
    loop {
        if let Observation::Sweep(sweep) = rig.next().await {
            assert_eq!(depth(&sweep, tx(1)), Some(1));
            break;
        }
    }
}
