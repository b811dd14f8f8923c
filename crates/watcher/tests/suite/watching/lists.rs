//! Lists of a block's transfers that are refused, or cut short without an error: what endpoints do whose provider limits
//! the answer to `eth_getLogs`. Receipts have the whole.

#![expect(clippy::unwrap_used, reason = "it was paid right before")]

use tracing::Level;
use x811_protocol::observation::{Observation, Sweep, TransactionStatus};
use x811_watcher::EndpointState;

use super::depth;
use super::log::Log;
use super::rig::Rig;
use super::scripted::{CONFIRMED_DEPTH, ScriptedChain, World, transfer, tx};

/// Mines a block with a transaction of three transfers, which moves most at last.
fn pay_thrice(world: &mut World) {
    world.mine(1);
    world.pay(tx(1), 1);
    let paid = world.receipts.get_mut(&tx(1)).unwrap();
    for (ordinal, micro_usdc) in [(1, 2), (2, 29_725)] {
        let mut next = transfer(micro_usdc);
        next.ordinal = ordinal;
        paid.transfers.push(next);
    }
}

/// Whether the sweep says of the transaction what the chain says, or nothing.
fn is_true(sweep: &Sweep, world: &World) -> bool {
    let truth = world.receipts.get(&tx(1)).map(|it| &it.transfers);
    match sweep.transactions.get(&tx(1)) {
        Some(TransactionStatus::Mined(mined)) => Some(&mined.transfers) == truth,
        Some(TransactionStatus::NotFound) => truth.is_none(),
        None => true,
    }
}

/// One block whose list is refused for good does not hold up those behind it, is asked for a few times alone, and
/// what was paid in it is found by its receipt at once.
#[tokio::test(start_paused = true)]
async fn sw_26_a_block_whose_list_is_refused_is_a_hole_that_receipts_fill() {
    for quorum in [1, 2] {
        let chains = [(); 2].map(|()| ScriptedChain::with_blocks(40));
        let endpoints = [("a", &chains[0]), ("b", &chains[1])];
        let mut rig = Rig::through(&endpoints[..quorum], &[tx(1)]);
        rig.sweep().await;
        for chain in &chains[..quorum] {
            let mut world = chain.world();
            world.mine(1);
            world.pay(tx(1), 29_725);
            let head = world.head().hash;
            world.refuses_lists_of.insert(head);
            world.calls.logs = 0;
        }
        let heard = rig.all_within(10_000).await;
        let sweeps = heard.iter().filter_map(|it| match it {
            Observation::Sweep(sweep) => Some(sweep),
            Observation::Unreachable { .. } | Observation::Header { .. } => None,
        });
        assert_eq!(
            sweeps.filter_map(|it| depth(it, tx(1))).next(),
            Some(1),
            "{heard:?}"
        );
        let asked: Vec<usize> = chains.iter().map(|it| it.world().calls.logs).collect();
        assert!(
            asked.iter().all(|logs| *logs <= 4),
            "{asked:?} lists in 10 s"
        );
        let error = rig.health.borrow().endpoints[0].last_error.clone();
        assert!(
            error.is_some_and(|error| error.contains("block 40")),
            "it is named"
        );
        for expected in 2..=CONFIRMED_DEPTH {
            chains.iter().for_each(|it| it.world().mine(1));
            assert_eq!(depth(&rig.sweep().await, tx(1)), Some(expected));
        }
    }
}

/// An endpoint that refuses every list is asked for each once, after the first: it is followed without delay.
#[tokio::test(start_paused = true)]
async fn sw_26_an_endpoint_without_lists_is_followed_by_receipts() {
    let chain = ScriptedChain::with_blocks(40);
    let mut rig = Rig::through(&[("only", &chain)], &[tx(1)]);
    rig.sweep().await;
    chain.world().refuses_lists = true;
    chain.world().mine(1);
    rig.sweep().await;
    let before = chain.world().calls.logs;
    for _ in 0..20 {
        chain.world().mine(1);
        let head = chain.world().head().number;
        assert_eq!(rig.sweep().await.head.number, head);
    }
    assert_eq!(chain.world().calls.logs - before, 20);
    chain.world().mine(1);
    chain.world().pay(tx(1), 29_725);
    assert_eq!(depth(&rig.sweep().await, tx(1)), Some(1));
    assert_eq!(rig.health.borrow().endpoints[0].state, EndpointState::Good);
    // It lists again: nothing is asked for by receipts any more.
    chain.world().refuses_lists = false;
    chain.world().mine(2);
    rig.sweep().await;
    let asked = chain.world().calls.receipt;
    chain.world().mine(1);
    rig.sweep().await;
    assert_eq!(chain.world().calls.receipt, asked);
}

/// The log says when an endpoint begins to list nothing and when it lists again, not at every block.
#[tokio::test(start_paused = true)]
async fn sw_26_an_endpoint_without_lists_is_warned_of_once_and_once_when_it_lists_again() {
    let (log, _guard) = Log::start();
    let chain = ScriptedChain::with_blocks(40);
    let mut rig = Rig::start(&chain, &[tx(1)]);
    rig.sweep().await;
    let mut expected = Vec::new();
    for _ in 0..2 {
        chain.world().refuses_lists = true;
        for _ in 0..5 {
            chain.world().mine(1);
            rig.sweep().await;
        }
        chain.world().refuses_lists = false;
        for _ in 0..5 {
            chain.world().mine(1);
            rig.sweep().await;
        }
        expected.extend([Level::WARN, Level::INFO]);
        assert_eq!(log.levels_of("the RPC endpoint lists"), expected);
    }
    let health = rig.health.borrow().endpoints[0].clone();
    assert_eq!(health.failures, 10, "an operator sees every block");
}

/// Another endpoint that lists the block is followed instead.
#[tokio::test(start_paused = true)]
async fn sw_26_who_lists_a_block_is_followed_past_who_refuses_it() {
    let chains = [(); 2].map(|()| ScriptedChain::with_blocks(40));
    let mut rig = Rig::through(&[("a", &chains[0]), ("b", &chains[1])], &[tx(1)]);
    rig.sweep().await;
    chains[0].world().refuses_lists = true;
    for chain in &chains {
        pay_thrice(&mut chain.world());
    }
    assert_eq!(depth(&rig.sweep().await, tx(1)), Some(1));
    assert!(rig.health.borrow().endpoints[1].leads);
}

/// A list that was cut within a transaction says nothing false of it, at any depth and through one endpoint or two.
#[tokio::test(start_paused = true)]
async fn sw_26_a_list_that_is_cut_short_is_never_what_a_payment_is_judged_by() {
    for (quorum, shown) in [(1, 0), (1, 1), (1, 2), (2, 0), (2, 1), (2, 2)] {
        let chains = [(); 2].map(|()| ScriptedChain::with_blocks(40));
        let endpoints = [("a", &chains[0]), ("b", &chains[1])];
        let mut rig = Rig::through(&endpoints[..quorum], &[tx(1)]);
        rig.sweep().await;
        for chain in &chains {
            chain.world().cuts_lists = Some(shown);
            pay_thrice(&mut chain.world());
        }
        rig.look_for(&[tx(1)]);
        let mut last = None;
        for _ in 0..CONFIRMED_DEPTH + 2 {
            let sweep = rig.sweep().await;
            assert!(
                is_true(&sweep, &chains[0].world()),
                "{quorum} {shown}: {sweep:?}"
            );
            last = depth(&sweep, tx(1)).or(last);
            chains.iter().for_each(|it| it.world().mine(1));
        }
        assert!(last >= Some(CONFIRMED_DEPTH), "{quorum} {shown}: {last:?}");
        let disagreements = rig.health.borrow().endpoints[0].disagreements;
        assert!(
            disagreements == 0 || quorum == 2,
            "one endpoint contradicts nobody"
        );
    }
}

/// The list has it and the receipt is null, or is not answered, for minutes: nothing is said of it, and it is found
/// as soon as there is a receipt.
#[tokio::test(start_paused = true)]
async fn sw_26_a_listed_transaction_without_a_receipt_is_not_missing() {
    for is_null in [true, false] {
        let chain = ScriptedChain::with_blocks(40);
        let mut rig = Rig::through(&[("only", &chain)], &[tx(1)]);
        rig.sweep().await;
        {
            let mut world = chain.world();
            world.is_indexing = !is_null;
            if is_null {
                world.denied.insert(tx(1));
            }
            pay_thrice(&mut world);
        }
        rig.look_for(&[tx(1)]);
        for _ in 0..150 {
            let sweep = rig.sweep().await;
            assert_eq!(sweep.transactions.get(&tx(1)), None);
            chain.world().mine(1);
        }
        assert_eq!(rig.health.borrow().endpoints[0].failures, 0);
        chain.world().heal();
        chain.world().mine(1);
        assert!(depth(&rig.sweep().await, tx(1)) > Some(100));
    }
}
