//! What an auditor's endpoint says of transactions that a log did not find (settlement-watcher.md
//! rules 10, 24 and 26).

#![expect(clippy::unwrap_used, reason = "a harness stops the test at once")]

use x811_protocol::digest::Digest;
use x811_protocol::event::PayerBinding;
use x811_protocol::evm::{BlockHash, EvmAddress};
use x811_protocol::money::MicroUsdc;
use x811_protocol::settlement::{Fit, Since};
use x811_protocol::time::TimestampMs;
use x811_watcher::{Sought, Testimony, Witness};

use super::scripted::{ScriptedChain, TOKEN, World, tx, unreachable};

const PAID: u64 = 29_725;
const DEPTH: u64 = 4;

/// A chain with a payment in block 20, and a look from block 29 that did not find it.
fn overlooked() -> (ScriptedChain, Sought) {
    let chain = ScriptedChain::with_blocks(21);
    let head = {
        let mut world = chain.world();
        world.pay(tx(1), PAID);
        world.mine(9);
        let head = world.head().block();
        world.mine(9);
        head
    };
    let sought = Sought {
        token: TOKEN,
        tx_hash: tx(1),
        head,
        confirmed_depth: DEPTH,
        fit: Fit {
            binding: PayerBinding::Wallet,
            fee_nonce: Digest::from_bytes([6; 32]),
            payee: EvmAddress::from_bytes([2; 20]),
            payer: EvmAddress::from_bytes([1; 20]),
            payment_nonce: Digest::from_bytes([7; 32]),
            treasury: None,
        },
        since: Since::Above(19),
        came_later: false,
        amount: None,
    };
    (chain, sought)
}

async fn testimony(chain: &ScriptedChain, sought: Sought) -> Testimony {
    let mut witness = Witness::call(chain.clone()).await.unwrap();
    witness.seek(&[sought]).await.unwrap().pop().unwrap()
}

#[tokio::test(start_paused = true)]
async fn sw_10_a_payment_that_a_look_should_have_found_is_named() {
    let (chain, sought) = overlooked();
    let Testimony::Differs(found) = testimony(&chain, sought).await else {
        panic!("it is in a block that the look's head stands on");
    };
    assert_eq!(found[0].member, "status");
    let sentence = &found[0].sentence;
    for said in ["was not found: 0.029725 USDC", "10 blocks deep", "head 29"] {
        assert!(sentence.contains(said), "{said}: {sentence}");
    }
    // Nothing but the time of the ACCEPT is known: the same.
    let accepted_at = |s: u64| Since::Time(TimestampMs::new(s * 1_000));
    let since = accepted_at(1_040);
    let said = testimony(&chain, Sought { since, ..sought }).await;
    assert!(matches!(said, Testimony::Differs(_)), "{said:?}");
    let since = accepted_at(1_041);
    let said = testimony(&chain, Sought { since, ..sought }).await;
    assert!(matches!(said, Testimony::Unknown(_)), "{said:?}");
}

#[tokio::test(start_paused = true)]
async fn sw_10_what_is_not_there_is_as_the_log_says() {
    let (chain, sought) = overlooked();
    chain.world().receipts.clear();
    assert_eq!(testimony(&chain, sought).await, Testimony::Same);
}

/// Each of these an honest ledger may have met.
#[tokio::test(start_paused = true)]
async fn sw_10_nothing_follows_from_what_a_look_need_not_have_found() {
    type Change = fn(&mut World, &mut Sought);
    let table: [(Change, &str); 10] = [
        (|_, sought| sought.head.number = 22, "after the look"),
        (|_, sought| sought.head.number = 19, "after the look"),
        (
            |_, sought| sought.head.hash = BlockHash::from_bytes([9; 32]),
            "not on the endpoint's branch",
        ),
        (
            |_, sought| sought.since = Since::Above(20),
            "nothing in it pays",
        ),
        (
            |_, sought| sought.fit.payee = EvmAddress::from_bytes([9; 20]),
            "nothing in it pays",
        ),
        (
            |_, sought| sought.fit.binding = PayerBinding::Authorization,
            "nothing in it pays",
        ),
        (
            |world, _| world.authorize(tx(1), Digest::from_bytes([8; 32])),
            "nothing in it pays",
        ),
        (
            |world, _| world.receipts.get_mut(&tx(1)).unwrap().succeeded = false,
            "nothing in it pays",
        ),
        (
            |world, _| {
                let receipt = world.receipts.get_mut(&tx(1)).unwrap();
                receipt.block_hash = BlockHash::from_bytes([3; 32]);
            },
            "does not hold",
        ),
        (
            |world, _| {
                world.too_large.insert(tx(1));
            },
            "too long",
        ),
    ];
    for (change, why) in table {
        let (chain, mut sought) = overlooked();
        change(&mut chain.world(), &mut sought);
        let said = testimony(&chain, sought).await;
        assert!(
            matches!(&said, Testimony::Unknown(said) if said.contains(why)),
            "{why}: {said:?}"
        );
    }
}

/// A payment that was declared before it was mined, looked for in vain, and found by the next look.
#[tokio::test(start_paused = true)]
async fn sw_10_what_the_log_found_later_is_as_it_says() {
    let (chain, mut sought) = overlooked();
    sought.came_later = true;
    let found = testimony(&chain, sought).await;
    assert!(matches!(found, Testimony::Differs(_)), "{found:?}");
    sought.head = chain.world().canonical[22].block();
    assert_eq!(testimony(&chain, sought).await, Testimony::Same);
}

/// A look that saw it, or had refuted it in a block that nobody else has, and what was due was there.
#[tokio::test(start_paused = true)]
async fn sw_10_just_what_was_due_is_not_passed_over() {
    let (chain, mut sought) = overlooked();
    let amount = |micro_usdc| MicroUsdc::from_micro_usdc(micro_usdc).ok();
    (sought.came_later, sought.amount) = (true, amount(PAID));
    let Testimony::Differs(found) = testimony(&chain, sought).await else {
        panic!("it would have been confirmed");
    };
    let said = "the log says did not pay: 0.029725 USDC";
    assert!(found[0].sentence.contains(said), "{}", found[0].sentence);
    for micro_usdc in [PAID - 1, PAID + 1] {
        sought.amount = amount(micro_usdc);
        assert_eq!(testimony(&chain, sought).await, Testimony::Same);
    }
    sought.amount = amount(PAID);
    sought.fit.treasury = Some(sought.fit.payee);
    sought.fit.payee = EvmAddress::from_bytes([9; 20]);
    assert_eq!(testimony(&chain, sought).await, Testimony::Same, "no fee");
}

#[tokio::test(start_paused = true)]
async fn sw_26_one_transaction_is_judged_for_each_that_declared_it() {
    let (chain, sought) = overlooked();
    let mut theirs = sought;
    theirs.fit.payer = EvmAddress::from_bytes([9; 20]);
    let mut witness = Witness::call(chain.clone()).await.unwrap();
    let said = witness.seek(&[sought, theirs, sought]).await.unwrap();
    assert!(matches!(said[0], Testimony::Differs(_)), "{said:?}");
    assert!(matches!(said[1], Testimony::Unknown(_)), "{said:?}");
    assert_eq!(said[2], said[0]);

    chain.world().failure = Some(unreachable());
    assert_eq!(witness.seek(&[sought]).await, Err(unreachable()));
}
