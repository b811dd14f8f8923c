//! The checklist of settlement-watcher.md section 2, as far as it concerns the watcher: each test
//! names its rule.

use std::collections::BTreeSet;

use super::depth;
use super::rig::Rig;
use super::scripted::{
    ACCOUNTS, CONFIRMED_DEPTH, POLL_MS, ScriptedChain, TOKEN, receipt, refused, tx, unreachable,
};
use x811_protocol::evm::{BlockHash, ChainId, EvmAddress};
use x811_protocol::observation::{BlindCause, Hindrance, Observation, Sweep, TransactionStatus};
use x811_watcher::{
    BlockStore as _, CallAnswer, CheckFailure, HeadTag, Misfit, Receipt, SourceError, TailBlock,
    TailChange, verify_endpoint,
};

fn unseen(cause: BlindCause) -> Observation {
    Observation::Unreachable {
        network: "base".to_owned(),
        cause,
        silent: vec!["scripted".to_owned()],
    }
}

#[tokio::test]
async fn rule_09_proven_misfits_say_how_to_mend_them() {
    let other = ChainId::new(84_532);
    let mut table = Vec::new();
    for (chain_id, has_code, decimals) in [
        (other, true, Some(6)),
        (super::scripted::CHAIN_ID, false, None),
        (super::scripted::CHAIN_ID, true, Some(18)),
        (super::scripted::CHAIN_ID, true, None),
    ] {
        let chain = ScriptedChain::with_blocks(1);
        {
            let mut world = chain.world();
            (world.chain_id, world.has_code, world.decimals) = (chain_id, has_code, decimals);
        }
        table.push(
            verify_endpoint(&chain, super::scripted::CHAIN_ID, TOKEN)
                .await
                .unwrap_err(),
        );
    }
    let (expected, chain_id) = (super::scripted::CHAIN_ID, super::scripted::CHAIN_ID);
    assert_eq!(
        table,
        [
            CheckFailure::Misfit(Misfit::ChainId {
                expected,
                actual: other
            }),
            CheckFailure::Misfit(Misfit::NoTokenCode {
                token: TOKEN,
                chain_id
            }),
            CheckFailure::Misfit(Misfit::Decimals {
                token: TOKEN,
                actual: Some(18)
            }),
            CheckFailure::Misfit(Misfit::Decimals {
                token: TOKEN,
                actual: None
            }),
        ]
    );
    for failure in table {
        assert!(failure.to_string().contains("configure"), "{failure}");
    }
}

#[tokio::test]
async fn rule_09_silence_proves_nothing() {
    let chain = ScriptedChain::with_blocks(1);
    chain.world().failure = Some(unreachable());
    let failure = verify_endpoint(&chain, super::scripted::CHAIN_ID, TOKEN).await;
    assert_eq!(failure, Err(CheckFailure::Unreachable(unreachable())));
    chain.world().failure = None;
    assert_eq!(
        verify_endpoint(&chain, super::scripted::CHAIN_ID, TOKEN).await,
        Ok(())
    );
}

#[tokio::test(start_paused = true)]
async fn rule_09_a_misfit_found_late_blinds_and_never_sweeps() {
    let chain = ScriptedChain::with_blocks(40);
    chain.world().has_code = false;
    let mut rig = Rig::start(&chain, &[tx(1)]);
    let seen = rig.all_within(120_000).await;
    assert!(seen.len() > 10);
    assert!(seen.iter().all(|o| *o == unseen(BlindCause::WrongChain)));
    rig.world().has_code = true;
    rig.sweep().await;
}

#[tokio::test(start_paused = true)]
async fn rule_09_the_chain_id_is_checked_every_minute() {
    let mut rig = Rig::start(&ScriptedChain::with_blocks(40), &[tx(1)]);
    rig.sweep().await;
    rig.world().chain_id = ChainId::new(1);
    assert_eq!(rig.all_within(59_000).await, []);
    let seen = rig.all_within(60_000).await;
    assert!(!seen.is_empty() && seen.iter().all(|o| *o == unseen(BlindCause::WrongChain)));
    rig.world().chain_id = super::scripted::CHAIN_ID;
    rig.sweep().await;
}

/// The endpoint fails over to a node of another chain between two checks of the chain id: its head
/// descends from nothing we hold, and that alone has it checked.
#[tokio::test(start_paused = true)]
async fn rule_09_another_chain_is_never_taken_for_a_reorg() {
    let mut rig = Rig::start(&ScriptedChain::with_blocks(40), &[]);
    rig.sweep().await;
    {
        let mut world = rig.world();
        world.reorg(40);
        world.chain_id = ChainId::new(84_532);
    }
    assert_eq!(rig.next().await, unseen(BlindCause::WrongChain));
    let later = rig.all_within(30_000).await;
    assert!(later.iter().all(|o| *o == unseen(BlindCause::WrongChain)));
}

#[tokio::test(start_paused = true)]
async fn rule_10_unknown_is_not_found_and_stays_watched() {
    let mut rig = Rig::start(&ScriptedChain::with_blocks(40), &[tx(1)]);
    for _ in 0..5 {
        assert_eq!(
            rig.sweep().await.transactions[&tx(1)],
            TransactionStatus::NotFound
        );
        rig.world().mine(1);
    }
    rig.sweep().await;
    {
        let mut world = rig.world();
        world.mine(1);
        world.pay(tx(1), 29_725);
    }
    for expected_depth in 1..=CONFIRMED_DEPTH + 3 {
        let sweep = rig.sweep().await;
        assert_eq!(depth(&sweep, tx(1)), Some(expected_depth));
        assert_eq!(sweep.head, rig.world().head().block());
        rig.world().mine(1);
    }
}

#[tokio::test(start_paused = true)]
async fn rule_10_and_23_a_transaction_reorged_out_is_not_found_again() {
    let mut rig = Rig::start(&ScriptedChain::with_blocks(40), &[tx(1)]);
    rig.world().pay(tx(1), 5);
    assert_eq!(depth(&rig.sweep().await, tx(1)), Some(1));
    rig.world().mine(2);
    assert_eq!(depth(&rig.sweep().await, tx(1)), Some(3));
    rig.world().reorg(3);
    assert_eq!(depth(&rig.sweep().await, tx(1)), None);
    rig.world().pay(tx(1), 5);
    rig.world().mine(1);
    assert_eq!(depth(&rig.sweep().await, tx(1)), Some(2));
}

#[tokio::test(start_paused = true)]
async fn rule_11_a_receipt_must_answer_the_question() {
    let chain = ScriptedChain::with_blocks(400);
    let held = chain.world().canonical[395];
    let no_block = BlockHash::from_bytes([0; 32]);
    let other_block = BlockHash::from_bytes([0xee; 32]);
    let good = receipt(tx(1), held, 5);
    let wrong = [
        Receipt {
            tx_hash: tx(9),
            ..good.clone()
        },
        Receipt {
            block_hash: no_block,
            ..good.clone()
        },
        Receipt {
            block_hash: other_block,
            ..good.clone()
        },
        Receipt {
            block_number: held.number - 1,
            ..good.clone()
        },
        Receipt {
            block_number: 7,
            block_hash: other_block,
            ..good.clone()
        },
        Receipt {
            block_number: 7,
            block_hash: no_block,
            ..good.clone()
        },
    ];
    let mut rig = Rig::start(&chain, &[tx(1)]);
    for receipt in wrong {
        rig.world().receipts.insert(tx(1), receipt.clone());
        let sweep = rig.sweep().await;
        let status = sweep.transactions.get(&tx(1));
        assert_eq!(status, None, "neither there nor missing: {receipt:?}");
        rig.world().mine(1);
    }
    rig.sweep().await;
    rig.world().receipts.insert(tx(1), good);
    rig.world().mine(1);
    let sweep = rig.sweep().await;
    assert_eq!(
        depth(&sweep, tx(1)),
        Some(sweep.head.number - held.number + 1)
    );
}

/// A block mined after the head was fetched belongs to the next head's report.
#[tokio::test(start_paused = true)]
async fn rule_11_a_block_above_the_head_waits_for_its_turn() {
    let chain = ScriptedChain::with_blocks(40);
    chain.world().pay(tx(1), 5);
    chain.world().lag_blocks = 1;
    let mut rig = Rig::start(&chain, &[tx(1)]);
    assert_eq!(depth(&rig.sweep().await, tx(1)), None);
    rig.world().lag_blocks = 0;
    assert_eq!(depth(&rig.sweep().await, tx(1)), Some(1));
}

#[tokio::test(start_paused = true)]
async fn rule_11_below_the_window_the_hash_at_that_height_decides() {
    let chain = ScriptedChain::with_blocks(400);
    let old = chain.world().canonical[7];
    chain.world().receipts.insert(tx(1), receipt(tx(1), old, 5));
    let mut rig = Rig::start(&chain, &[tx(1)]);
    let sweep = rig.sweep().await;
    assert_eq!(depth(&sweep, tx(1)), Some(393));
    assert_eq!(rig.world().calls.header_by_number, 1);
}

/// A node that leaves the hash of an unsealed block at zero, in headers as in receipts.
#[tokio::test(start_paused = true)]
async fn rule_11_zero_is_no_block_hash_even_where_both_answers_have_it() {
    let chain = ScriptedChain::with_blocks(400);
    {
        let mut world = chain.world();
        world.canonical[7].hash = BlockHash::from_bytes([0; 32]);
        let unsealed = receipt(tx(1), world.canonical[7], 5);
        world.receipts.insert(tx(1), unsealed);
    }
    assert_eq!(
        depth(&Rig::start(&chain, &[tx(1)]).sweep().await, tx(1)),
        None
    );
}

#[tokio::test(start_paused = true)]
async fn rule_12_a_reverted_transaction_is_mined_and_failed() {
    let chain = ScriptedChain::with_blocks(40);
    let reverted = Receipt {
        succeeded: false,
        transfers: Vec::new(),
        ..receipt(tx(1), chain.world().head(), 5)
    };
    chain.world().receipts.insert(tx(1), reverted);
    let mut rig = Rig::start(&chain, &[tx(1)]);
    for expected_depth in 1..=CONFIRMED_DEPTH {
        let sweep = rig.sweep().await;
        let TransactionStatus::Mined(mined) = &sweep.transactions[&tx(1)] else {
            panic!("it is mined")
        };
        assert_eq!((mined.succeeded, mined.transfers.len()), (false, 0));
        assert_eq!(depth(&sweep, tx(1)), Some(expected_depth));
        rig.world().mine(1);
    }
}

/// The transaction of that number, in the last block, where it failed.
fn fail(chain: &ScriptedChain, number: u8) {
    let mut world = chain.world();
    let failed = Receipt {
        succeeded: false,
        transfers: Vec::new(),
        ..receipt(tx(number), world.head(), 5)
    };
    world.receipts.insert(tx(number), failed);
}

fn hindrance(sweep: &Sweep, number: u8) -> Option<Hindrance> {
    match &sweep.transactions[&tx(number)] {
        TransactionStatus::Mined(mined) => mined.hindrance,
        TransactionStatus::NotFound => panic!("{number} is mined"),
    }
}

/// How a contract says yes.
fn yes() -> Vec<u8> {
    let mut word = vec![0; 32];
    word[31] = 1;
    word
}

/// The selector of `isBlacklisted(address)` and an account.
fn is_blacklisted(account: EvmAddress) -> Vec<u8> {
    [&[0xfe, 0x57, 0x5a, 0x87][..], &[0; 12], account.as_bytes()].concat()
}

/// The selector of `paused()`.
const PAUSED: [u8; 4] = [0x5c, 0x97, 0x5a, 0xbb];

#[tokio::test(start_paused = true)]
async fn rule_29_why_it_failed_is_asked_once_as_of_its_block_when_it_is_deep() {
    let chain = ScriptedChain::with_blocks(40);
    fail(&chain, 1);
    chain.world().pay(tx(2), 5);
    let block = chain.world().head().hash;
    let answer = Ok(CallAnswer::Returned(yes()));
    let asked = (block, PAUSED.to_vec());
    chain.world().answers.insert(asked, answer);
    let mut rig = Rig::start(&chain, &[tx(1), tx(2)]);
    for depth in 1..CONFIRMED_DEPTH {
        assert_eq!(hindrance(&rig.sweep().await, 1), None, "{depth} deep");
        assert_eq!(rig.world().calls.call, 0);
        rig.world().mine(1);
    }
    for _ in 0..3 {
        let sweep = rig.sweep().await;
        assert_eq!(hindrance(&sweep, 1), Some(Hindrance::Paused));
        assert_eq!(hindrance(&sweep, 2), None, "it did not fail");
        assert_eq!(rig.world().calls.call, 1);
        rig.world().mine(1);
    }
}

#[tokio::test(start_paused = true)]
async fn rule_29_payer_and_payee_are_asked_for_and_nobody_else() {
    for account in ACCOUNTS {
        let chain = ScriptedChain::with_blocks(40);
        fail(&chain, 1);
        let asked = (chain.world().head().hash, is_blacklisted(account));
        let answer = Ok(CallAnswer::Returned(yes()));
        chain.world().answers.insert(asked, answer);
        chain.world().call = CallAnswer::Returned(vec![0; 32]);
        chain
            .world()
            .mine(usize::try_from(CONFIRMED_DEPTH).unwrap());
        let sweep = Rig::start(&chain, &[tx(1)]).sweep().await;
        let said = Some(Hindrance::Blacklisted(account));
        assert_eq!(hindrance(&sweep, 1), said);
    }
}

/// A token without these functions fails or answers nothing; an endpoint may refuse the question.
#[tokio::test(start_paused = true)]
async fn rule_29_a_failure_that_nobody_explains_is_reported_all_the_same() {
    for (answer, questions) in [
        (Err(refused()), 1),
        (Ok(CallAnswer::Failed), 3),
        (Ok(CallAnswer::Returned(Vec::new())), 3),
        (Ok(CallAnswer::Returned(vec![1; 64])), 3),
    ] {
        let chain = ScriptedChain::with_blocks(40);
        let asked = (chain.world().head().hash, PAUSED.to_vec());
        chain.world().answers.insert(asked, answer);
        fail(&chain, 1);
        chain
            .world()
            .mine(usize::try_from(CONFIRMED_DEPTH).unwrap());
        let mut rig = Rig::start(&chain, &[tx(1)]);
        for _ in 0..3 {
            let sweep = rig.sweep().await;
            assert!(depth(&sweep, tx(1)).unwrap() > CONFIRMED_DEPTH);
            assert_eq!(hindrance(&sweep, 1), None);
            assert_eq!(rig.world().calls.call, questions, "it is not asked again");
            rig.world().mine(1);
        }
        assert_eq!(rig.health.borrow().endpoints[0].failures, 0);
    }
}

/// The token is part of every question, and what its logs say is passed on as it is. (Which logs
/// count is tested where they are read, in the `rpc` module.)
#[tokio::test(start_paused = true)]
async fn rule_13_transfers_are_passed_on_unchanged() {
    let chain = ScriptedChain::with_blocks(40);
    chain.world().pay(tx(1), 0);
    chain.world().pay(tx(2), 29_725);
    let sent = chain.world().receipts.clone();
    let sweep = Rig::start(&chain, &[tx(1), tx(2)]).sweep().await;
    for hash in [tx(1), tx(2)] {
        let TransactionStatus::Mined(mined) = &sweep.transactions[&hash] else {
            panic!("it is mined")
        };
        assert_eq!(mined.transfers, sent[&hash].transfers);
    }
}

#[tokio::test(start_paused = true)]
async fn rule_25_an_endpoint_that_cannot_be_asked_is_reported_at_most_once_a_second() {
    let chain = ScriptedChain::with_blocks(40);
    chain.world().pay(tx(1), 5);
    let mut rig = Rig::start(&chain, &[tx(1)]);
    rig.sweep().await;
    rig.world().failure = Some(unreachable());
    rig.world().mine(1);
    let seen = rig.all_within(20_000).await;
    assert!((3..=20).contains(&seen.len()), "{seen:?}");
    assert!(seen.iter().all(|o| *o == unseen(BlindCause::Unreachable)));
    rig.world().failure = None;
    assert_eq!(depth(&rig.sweep().await, tx(1)), Some(2));
}

/// Without a new head there is nothing new to say, but whoever was told "unreachable" must be told
/// that it is over.
#[tokio::test(start_paused = true)]
async fn rule_25_recovery_is_reported_even_at_the_same_head() {
    let mut rig = Rig::start(&ScriptedChain::with_blocks(40), &[]);
    let before = rig.sweep().await;
    assert_eq!(rig.all_within(30_000).await, []);
    rig.world().failure = Some(unreachable());
    assert_eq!(rig.next().await, unseen(BlindCause::Unreachable));
    rig.world().failure = None;
    assert_eq!(rig.sweep().await, before);
}

#[tokio::test(start_paused = true)]
async fn rule_25_a_ledger_may_start_blind() {
    let chain = ScriptedChain::with_blocks(40);
    chain.world().failure = Some(unreachable());
    let mut rig = Rig::start(&chain, &[tx(1)]);
    assert_eq!(rig.next().await, unseen(BlindCause::Unreachable));
    rig.world().failure = None;
    loop {
        match rig.next().await {
            Observation::Sweep(sweep) => break assert_eq!(depth(&sweep, tx(1)), None),
            blind @ (Observation::Unreachable { .. } | Observation::Header { .. }) => {
                assert_eq!(blind, unseen(BlindCause::Unreachable));
            }
        }
    }
}

#[tokio::test(start_paused = true)]
async fn rule_25_a_lagging_answer_takes_nothing_back() {
    let chain = ScriptedChain::with_blocks(400);
    chain.world().pay(tx(1), 5);
    let mut rig = Rig::start(&chain, &[tx(1)]);
    assert_eq!(depth(&rig.sweep().await, tx(1)), Some(1));
    for lag_blocks in [1, 3, 11, 12, 200, 399] {
        rig.world().lag_blocks = lag_blocks;
        assert_eq!(rig.all_within(5_000).await, [], "{lag_blocks}");
        rig.watch(&[tx(1), tx(2)]);
        assert_eq!(rig.all_within(5_000).await, [], "{lag_blocks}");
        rig.watch(&[tx(1)]);
    }
    rig.world().lag_blocks = 0;
    rig.world().mine(1);
    assert_eq!(depth(&rig.sweep().await, tx(1)), Some(2));
}

/// A load balancer: the head comes from a node that has it, its parents are asked of one that has
/// not. Nothing advances until one node answers for all.
#[tokio::test(start_paused = true)]
async fn rule_27_an_unknown_parent_never_advances() {
    let mut rig = Rig::start(&ScriptedChain::with_blocks(40), &[]);
    rig.sweep().await;
    let hidden = {
        let mut world = rig.world();
        world.mine(3);
        world.canonical.remove(41)
    };
    assert_eq!(rig.all_within(60_000).await, []);
    rig.world().canonical.insert(41, hidden);
    assert_eq!(rig.sweep().await.head.number, 42);
}

/// An endpoint answers with another header than the one asked for, and mends its ways.
#[tokio::test(start_paused = true)]
async fn rule_27_a_header_that_does_not_link_is_not_kept() {
    let mut rig = Rig::start(&ScriptedChain::with_blocks(40), &[]);
    rig.sweep().await;
    rig.world().mine(3);
    rig.world().canonical[41].number = 7;
    assert_eq!(rig.all_within(60_000).await, []);
    rig.world().canonical[41].number = 41;
    assert_eq!(rig.sweep().await.head.number, 42);
}

#[tokio::test(start_paused = true)]
async fn a_long_gap_is_filled_through_an_endpoint_that_often_fails() {
    let mut rig = Rig::start(&ScriptedChain::with_blocks(40), &[]);
    rig.sweep().await;
    let asked_before = rig.world().calls.header_by_hash;
    rig.world().header_fails_every = Some(10);
    rig.world().mine(201);
    let seen = rig.all_within(600_000).await;
    let sweep = seen.iter().find_map(|observation| match observation {
        Observation::Sweep(sweep) => Some(sweep),
        Observation::Unreachable { .. } | Observation::Header { .. } => None,
    });
    assert_eq!(sweep.map(|sweep| sweep.head.number), Some(240));
    let asked = rig.world().calls.header_by_hash - asked_before;
    assert!((200..=230).contains(&asked), "{asked}");
}

#[tokio::test(start_paused = true)]
async fn sw_design_a_new_hash_is_answered_at_once_from_the_index() {
    let chain = ScriptedChain::with_blocks(40);
    chain.world().pay(tx(2), 5);
    let mut rig = Rig::start(&chain, &[tx(1)]);
    rig.sweep().await;
    let asked_before = rig.world().calls.receipt;
    tokio::time::sleep(std::time::Duration::from_millis(POLL_MS / 10)).await;
    let before = tokio::time::Instant::now();
    rig.watch(&[tx(1), tx(2)]);
    let sweep = rig.sweep().await;
    assert!(before.elapsed().as_millis() < u128::from(POLL_MS / 10));
    assert_eq!(
        (depth(&sweep, tx(1)), depth(&sweep, tx(2))),
        (None, Some(1))
    );
    assert_eq!(
        rig.world().calls.receipt,
        asked_before + 1,
        "its receipt says so"
    );
    rig.watch(&[tx(2)]);
    assert_eq!(rig.all_within(5_000).await, []);
}

#[tokio::test(start_paused = true)]
async fn every_watched_hash_is_in_one_sweep_and_they_are_asked_for_together() {
    let hashes: Vec<_> = (1..=100).map(tx).collect();
    let mut rig = Rig::start(&ScriptedChain::with_blocks(40), &hashes);
    let sweep = rig.sweep().await;
    assert!(sweep.transactions.keys().eq(&hashes));
    assert_eq!(sweep.endpoints, ["scripted"]);
    let calls = rig.world().calls;
    assert_eq!((calls.receipt, calls.receipt_batches), (100, 1));
}

#[tokio::test(start_paused = true)]
async fn a_receipt_too_large_to_read_hides_no_other() {
    let chain = ScriptedChain::with_blocks(40);
    chain.world().pay(tx(1), 5);
    chain.world().too_large.insert(tx(2));
    let sweep = Rig::start(&chain, &[tx(1), tx(2)]).sweep().await;
    assert_eq!(
        (depth(&sweep, tx(1)), depth(&sweep, tx(2))),
        (Some(1), None)
    );
}

#[tokio::test(start_paused = true)]
async fn levels_are_asked_for_every_fifth_block_and_may_be_absent() {
    let chain = ScriptedChain::with_blocks(40);
    chain.world().safe_number = Some(30);
    let mut rig = Rig::start(&chain, &[]);
    for block in 0..10 {
        let sweep = rig.sweep().await;
        assert_eq!(
            (sweep.safe_number, sweep.finalized.map(|head| head.number)),
            (Some(30), Some(30))
        );
        assert_eq!(rig.world().calls.levels, if block < 5 { 2 } else { 4 });
        rig.world().mine(1);
    }
    // That it is refused for once takes back nothing.
    rig.world().safe_number = None;
    for _ in 0..10 {
        assert_eq!(rig.sweep().await.safe_number, Some(30));
        rig.world().mine(1);
    }
    let unnamed = rig.health.borrow().endpoints[0].unnamed.clone();
    assert_eq!(unnamed, BTreeSet::from([HeadTag::Safe, HeadTag::Finalized]));
    rig.world().safe_number = Some(42);
    let mut last = rig.sweep().await;
    while last.safe_number != Some(42) {
        rig.world().mine(1);
        last = rig.sweep().await;
    }
    assert_eq!(rig.health.borrow().endpoints[0].unnamed, BTreeSet::new());
}

#[tokio::test(start_paused = true)]
async fn levels_of_another_branch_are_not_believed_and_a_reorg_has_them_asked_again() {
    let chain = ScriptedChain::with_blocks(40);
    chain.world().safe_number = Some(35);
    let mut rig = Rig::start(&chain, &[]);
    assert_eq!(rig.sweep().await.safe_number, Some(35));
    {
        let mut world = rig.world();
        world.stray_level = Some(world.canonical[38]);
        world.reorg(3);
    }
    assert_eq!(rig.sweep().await.safe_number, None);
    rig.world().stray_level = None;
    rig.world().reorg(1);
    assert_eq!(rig.sweep().await.safe_number, Some(35));
}

#[tokio::test(start_paused = true)]
async fn idle_cost_is_one_call_per_poll() {
    let mut rig = Rig::start(&ScriptedChain::with_blocks(40), &[]);
    rig.sweep().await;
    let before = rig.world().calls;
    assert_eq!(rig.all_within(10 * POLL_MS).await, []);
    let after = rig.world().calls;
    // One block time of rest, then a request for the head every half second.
    assert_eq!(after.latest - before.latest, 6);
    assert_eq!(
        super::scripted::Calls {
            latest: before.latest,
            ..after
        },
        before
    );
}

#[tokio::test(start_paused = true)]
async fn a_reorg_while_the_ledger_was_down_is_noticed_by_the_stored_headers() {
    let chain = ScriptedChain::with_blocks(40);
    let mut rig = Rig::start(&chain, &[]);
    let old_head = rig.sweep().await.head;
    let blocks = rig.stop().await;
    let stored = blocks.headers().await;
    assert_eq!(stored.last().map(|header| header.hash), Some(old_head.hash));
    chain.world().reorg(3);
    let mut rig = Rig::resume(&chain, blocks, &[]);
    assert_eq!(rig.sweep().await.head.number, 40);
    assert_eq!(rig.health.borrow().reorgs, 1);
    let stored = rig.blocks.headers().await;
    assert_eq!(stored, chain.world().canonical[28..]);
}

#[tokio::test(start_paused = true)]
async fn stored_headers_that_do_not_link_are_left_aside() {
    let chain = ScriptedChain::with_blocks(40);
    let blocks = super::scripted::SharedBlocks::default();
    let canonical = chain.world().canonical.clone();
    let broken = [canonical[3], canonical[9]].map(|header| TailBlock {
        header,
        transactions: Vec::new(),
    });
    let change = TailChange {
        keep_from: 0,
        replace_from: 0,
        added: &broken,
    };
    blocks.save("base", change).await.unwrap();
    let mut rig = Rig::resume(&chain, blocks, &[]);
    assert_eq!(rig.sweep().await.head.number, 39);
}

#[tokio::test(start_paused = true)]
async fn it_ends_when_told_and_when_nobody_listens() {
    let chain = ScriptedChain::with_blocks(40);
    chain.world().failure = Some(unreachable());
    Rig::start(&chain, &[]).stop().await;
    Rig::start(&chain, &[]).ended().await;
    chain.world().failure = None;
    Rig::start(&chain, &[]).ended().await;
}

#[tokio::test(start_paused = true)]
async fn an_endpoint_that_refuses_everything_is_unreachable() {
    let chain = ScriptedChain::with_blocks(40);
    chain.world().failure = Some(SourceError::Refused {
        method: "scripted",
        code: -32_005,
        message: "slow down".to_owned(),
    });
    let mut rig = Rig::start(&chain, &[]);
    assert_eq!(rig.next().await, unseen(BlindCause::Unreachable));
}
