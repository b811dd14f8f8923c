//! What is reported of a transaction once it is deep, and how little that costs.

use std::collections::BTreeSet;

use super::depth;
use super::rig::Rig;
use super::scripted::{CONFIRMED_DEPTH, ScriptedChain, tx};
use x811_protocol::evm::TxHash;
use x811_protocol::observation::{Observation, Sweep, TransactionStatus};
use x811_protocol::parameters::FinalBy;

fn numbered(number: u32) -> TxHash {
    let mut bytes = [0xdd; 32];
    bytes[..4].copy_from_slice(&number.to_be_bytes());
    TxHash::from_bytes(bytes)
}

/// A chain on which all of them were paid in one block and are confirmed, and what watches it. No
/// endpoint names a safe block yet.
async fn deep(hashes: &[TxHash]) -> Rig {
    deep_by(FinalBy::Tag, hashes).await
}

async fn deep_by(final_by: FinalBy, hashes: &[TxHash]) -> Rig {
    let chain = ScriptedChain::with_blocks(40);
    chain.world().final_by = final_by;
    chain.world().safe_number = None;
    let mut rig = Rig::through(&[("only", &chain)], hashes);
    rig.sweep().await;
    rig.world().mine(1);
    for hash in hashes {
        rig.world().pay(*hash, 5);
    }
    let mut last = rig.sweep().await;
    for expected in 1..CONFIRMED_DEPTH {
        assert_eq!(depth(&last, hashes[0]), Some(expected));
        last = mined(&mut rig).await;
    }
    assert_eq!(last.transactions.len(), hashes.len());
    assert_eq!(depth(&last, hashes[0]), Some(CONFIRMED_DEPTH));
    rig
}

async fn mined(rig: &mut Rig) -> Sweep {
    rig.world().mine(1);
    rig.sweep().await
}

/// How many are reported in each of the next blocks.
async fn reported(rig: &mut Rig, blocks: usize) -> Vec<usize> {
    let mut counts = Vec::new();
    for _ in 0..blocks {
        counts.push(mined(rig).await.transactions.len());
    }
    counts
}

#[tokio::test(start_paused = true)]
async fn sw_design_what_is_deep_is_reported_once_and_costs_nothing_afterwards() {
    let hashes: Vec<TxHash> = (0..10_000).map(numbered).collect();
    let mut costs = Vec::new();
    for count in [1, 10_000] {
        let mut rig = deep(&hashes[..count]).await;
        let before = rig.world().calls.total();
        assert_eq!(reported(&mut rig, 20).await, [0; 20]);
        costs.push(rig.world().calls.total() - before);
    }
    assert_eq!(costs[0], costs[1], "calls in 20 blocks");
}

#[tokio::test(start_paused = true)]
async fn sw_levels_what_is_deep_is_reported_when_it_is_safe_and_when_it_is_final() {
    let mut rig = deep(&[tx(1), tx(2)]).await;
    let block = 40;
    let mut sweeps = Vec::new();
    for (safe, finalized) in [(39, 39), (40, 39), (45, 39), (46, 40)] {
        {
            let mut world = rig.world();
            world.safe_number = Some(safe);
            world.final_number = Some(finalized);
        }
        for _ in 0..5 {
            sweeps.push(mined(&mut rig).await);
        }
    }
    let said: Vec<(Option<u64>, Option<u64>)> = sweeps
        .iter()
        .filter(|sweep| !sweep.transactions.is_empty())
        .inspect(|sweep| assert_eq!(sweep.transactions.len(), 2))
        .map(|sweep| (sweep.safe_number, sweep.finalized.map(|head| head.number)))
        .collect();
    assert_eq!(said, [(Some(block), Some(39)), (Some(46), Some(block))]);
}

/// By depth what is deep enough is reported, whatever heads are named; by the heads alone it never is.
#[tokio::test(start_paused = true)]
async fn sw_levels_what_is_deep_enough_is_reported_where_depth_decides() {
    for (final_by, safe) in [
        (FinalBy::Depth, None),
        (FinalBy::Depth, Some(0)),
        (FinalBy::Tag, None),
        (FinalBy::Tag, Some(0)),
    ] {
        let mut rig = deep_by(final_by, &[tx(1)]).await;
        rig.world().safe_number = safe;
        let early = reported(&mut rig, 100).await;
        assert!(early.iter().all(|said| *said == 0), "{early:?}");
        let mut sweeps = Vec::new();
        for _ in 0..27 {
            rig.world().mine(20);
            sweeps.push(rig.sweep().await.transactions.len());
        }
        let is_reported = sweeps.contains(&1);
        assert_eq!(
            is_reported,
            final_by == FinalBy::Depth,
            "{final_by:?} {safe:?}: {sweeps:?}"
        );
        let levels = rig.world().calls.levels;
        assert_eq!(levels == 0, final_by == FinalBy::Depth, "{levels}");
    }
}

/// The ledger stops watching what it has recorded as final; until then it may have been busy.
#[tokio::test(start_paused = true)]
async fn sw_levels_what_is_final_is_reported_whenever_the_levels_are_asked_for() {
    let hashes: Vec<TxHash> = (0..2_600).map(numbered).collect();
    let mut rig = deep(&hashes).await;
    rig.world().safe_number = Some(45);
    let mut first = mined(&mut rig).await;
    while first.transactions.is_empty() {
        first = mined(&mut rig).await;
    }
    assert_eq!(first.transactions.len(), 2_600, "each once");
    let mut again = BTreeSet::new();
    for _ in 0..6 {
        assert_eq!(reported(&mut rig, 4).await, [0; 4]);
        let part = mined(&mut rig).await.transactions;
        assert!((1..=1_000).contains(&part.len()), "a part of them");
        again.extend(part.into_keys());
    }
    assert_eq!(again.len(), 2_600, "all in turn");
    rig.watch(&[]);
    assert_eq!(reported(&mut rig, 10).await, [0; 10]);
}

/// Two transactions may be one payment: what is deep is repeated while that is not decided.
#[tokio::test(start_paused = true)]
async fn sw_16_what_the_ledger_has_not_decided_is_repeated() {
    let mut rig = deep(&[tx(1), tx(2)]).await;
    rig.expect_undecided(&[tx(1), tx(9)]);
    for further in 1..4 {
        let sweep = mined(&mut rig).await;
        assert_eq!(sweep.transactions.len(), 1);
        assert_eq!(depth(&sweep, tx(1)), Some(CONFIRMED_DEPTH + further));
    }
    rig.expect_undecided(&[]);
    rig.look_for(&[tx(2)]);
    let sweep = mined(&mut rig).await;
    assert_eq!(sweep.transactions.keys().collect::<Vec<_>>(), [&tx(2)]);
    rig.look_for(&[]);
    assert_eq!(reported(&mut rig, 3).await, [0; 3]);
}

#[tokio::test(start_paused = true)]
async fn sw_24_what_was_deep_is_reported_when_a_reorg_moves_or_loses_it() {
    let mut rig = deep(&[tx(1), tx(2)]).await;
    {
        let mut world = rig.world();
        world.replace(20, 21);
        world.pay(tx(1), 5);
    }
    let sweep = rig.sweep().await;
    assert_eq!(depth(&sweep, tx(1)), Some(1));
    assert_eq!(sweep.transactions[&tx(2)], TransactionStatus::NotFound);
    let moved = rig.world().head();
    rig.look_for(&[tx(2)]);
    for further in 2..=CONFIRMED_DEPTH {
        let sweep = mined(&mut rig).await;
        assert_eq!(depth(&sweep, tx(1)), Some(further));
        assert_eq!(sweep.transactions[&tx(2)], TransactionStatus::NotFound);
    }
    rig.look_for(&[]);
    assert_eq!(reported(&mut rig, 3).await, [0; 3]);
    rig.world().mine(1);
    rig.world().pay(tx(2), 5);
    let sweep = rig.sweep().await;
    assert_eq!(depth(&sweep, tx(2)), Some(1), "it is back");
    assert!(sweep.head.number > moved.number);
}

/// The ledger may have been told and have lost it.
#[tokio::test(start_paused = true)]
async fn sw_24_what_a_reorg_lost_stays_in_doubt_until_it_is_back() {
    let mut rig = deep(&[tx(1), tx(2)]).await;
    assert_eq!(rig.missing(), []);
    rig.world().replace(20, 21);
    let sweep = rig.sweep().await;
    assert_eq!(sweep.transactions[&tx(2)], TransactionStatus::NotFound);
    for _ in 0..3 {
        assert!(mined(&mut rig).await.transactions.is_empty());
        assert_eq!(rig.missing(), [tx(1), tx(2)]);
    }
    rig.look_for(&[tx(2)]);
    let sweep = mined(&mut rig).await;
    assert_eq!(sweep.transactions[&tx(2)], TransactionStatus::NotFound);
    rig.look_for(&[]);
    rig.watch(&[tx(2)]);
    rig.world().mine(1);
    rig.world().pay(tx(2), 5);
    assert_eq!(depth(&rig.sweep().await, tx(2)), Some(1));
    mined(&mut rig).await;
    assert_eq!(rig.missing(), []);
}

/// A ledger that was started again may take it to be in a block; it is asked once.
#[tokio::test(start_paused = true)]
async fn sw_24_what_is_asked_for_in_vain_is_in_doubt_at_the_next_head() {
    let mut rig = deep(&[tx(1)]).await;
    rig.watch(&[tx(1), tx(2), tx(3)]);
    let sweep = rig.sweep().await;
    assert_eq!(sweep.transactions.len(), 2);
    rig.look_for(&[tx(3)]);
    mined(&mut rig).await;
    assert_eq!(rig.missing(), [tx(2), tx(3)]);
    rig.look_for(&[]);
    mined(&mut rig).await;
    assert_eq!(rig.missing(), [tx(3)]);
    mined(&mut rig).await;
    assert_eq!(rig.missing(), []);
}

#[tokio::test(start_paused = true)]
async fn sw_24_blocks_below_a_reorg_are_not_reported_again() {
    let mut rig = deep(&[tx(1)]).await;
    rig.world().reorg(3);
    assert!(rig.sweep().await.transactions.is_empty());
    let asked = "asked for when it was new, and when it was found";
    assert_eq!(rig.world().calls.receipt, 2, "{asked}");
}

#[tokio::test(start_paused = true)]
async fn sw_25_everything_is_reported_again_after_the_network_was_not_seen() {
    let mut rig = deep(&[tx(1), tx(2)]).await;
    rig.world().failure = Some(super::scripted::unreachable());
    let blind = rig.all_within(10_000).await;
    assert!(
        blind
            .iter()
            .any(|seen| matches!(seen, Observation::Unreachable { .. }))
    );
    rig.world().failure = None;
    assert_eq!(rig.sweep().await.transactions.len(), 2);
    assert_eq!(reported(&mut rig, 3).await, [0; 3]);
}

#[tokio::test(start_paused = true)]
async fn sw_design_what_is_watched_anew_is_reported_although_it_is_deep() {
    let mut rig = deep(&[tx(1), tx(2)]).await;
    rig.watch(&[tx(1)]);
    assert!(mined(&mut rig).await.transactions.is_empty());
    rig.watch(&[tx(1), tx(2)]);
    let sweep = rig.sweep().await;
    assert_eq!(sweep.transactions.keys().collect::<Vec<_>>(), [&tx(2)]);
    assert_eq!(reported(&mut rig, 3).await, [0; 3]);
}

/// A block that draws is told once it is as deep as a payment has to be, not before, and again until nobody
/// asks for it (round.md, "When it is decided", rule 9).
#[tokio::test(start_paused = true)]
async fn cc_061_a_block_that_is_waited_for_is_reported_once_it_is_deep() {
    let chain = ScriptedChain::with_blocks(40);
    let mut rig = Rig::through(&[("only", &chain)], &[tx(1)]);
    let head = rig.sweep().await.head.number;
    rig.expect_headers(&[head + 2]);
    let mut due = None;
    for blocks in 1..=1 + CONFIRMED_DEPTH {
        let sweep = mined(&mut rig).await;
        if blocks == 2 {
            due = Some(sweep.head);
        }
    }
    for _ in 0..2 {
        match rig.next().await {
            Observation::Header { network, block } => {
                assert_eq!((network.is_empty(), Some(block)), (false, due));
            }
            other @ (Observation::Sweep(_) | Observation::Unreachable { .. }) => {
                panic!("{other:?}")
            }
        }
        mined(&mut rig).await;
    }
}
