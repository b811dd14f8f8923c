//! Definite failures, one cause at a time, at confirmed depth and once per hash
//! (ledger-contract.md section 5, AX-18).

use x811_protocol::code::Code;
use x811_protocol::event::RefutedCause;
use x811_protocol::interaction::StateName;
use x811_protocol::observation::TransactionStatus;
use x811_protocol::settlement::DeclaredStanding;

use super::chain::{Chain, DEPTH, OTHER, PAYEE, PAYER, TREASURY, transfers, tx};
use super::messages::{FEE, PRICE, TOTAL};
use super::world::{BASE, Outcome, World};

/// Mines by `mine`, waits for confirmed depth and returns what the sweep caused.
fn outcome_of(mine: impl FnOnce(&mut Chain, u64)) -> (World, Outcome) {
    let mut world = World::watching();
    let block = world.next_block();
    mine(&mut world.chain, block);
    world.until_block(block + DEPTH - 2);
    let early = world.sweep(0);
    assert!(
        !early.types().contains(&"refuted"),
        "nothing is definite at depth 11"
    );
    world.advance_ms(2_000);
    let outcome = world.sweep(0);
    (world, outcome)
}

fn assert_refuted(outcome: &Outcome, cause: RefutedCause, code: Code) {
    let refuted = outcome.refuted();
    assert_eq!(refuted.len(), 1, "{cause:?}: {:?}", outcome.types());
    assert_eq!((refuted[0].cause, refuted[0].code), (cause, code));
    assert_eq!(refuted[0].evidence.depth, DEPTH, "{cause:?}");
}

#[test]
fn reverted() {
    let (mut world, outcome) = outcome_of(|chain, block| chain.revert(tx(1), block));
    assert_refuted(&outcome, RefutedCause::Reverted, Code::PaymentFailed);
    let block = world.next_block();
    assert!(matches!(
        world.settlement(0).declared[0].standing,
        DeclaredStanding::Refuted(_)
    ));
    world.until_block(block + 1);
    assert_eq!(world.sweep(0).events, [], "once per hash");
}

#[test]
fn reverted_whatever_transfers_are_claimed_of_it() {
    let mut world = World::watching();
    let block = world.next_block();
    world.chain.revert(tx(1), block);
    world.until_block(block + DEPTH - 1);
    let mut sweep = world.chain.sweep(BASE, block + DEPTH - 1, [tx(1)]);
    let Some(TransactionStatus::Mined(mined)) = sweep.transactions.get_mut(&tx(1)) else {
        panic!()
    };
    mined.transfers = transfers(&[(PAYER, PAYEE, TOTAL)]);
    let outcome = world.observe(0, &sweep);
    assert_refuted(&outcome, RefutedCause::Reverted, Code::PaymentFailed);
}

#[test]
fn wrong_token() {
    let (_, outcome) = outcome_of(|chain, block| chain.mine(tx(1), block, Vec::new()));
    assert_refuted(&outcome, RefutedCause::WrongToken, Code::PaymentFailed);
}

#[test]
fn other_payee_other_payer_and_zero_value() {
    let table = [
        ("to somebody else", transfers(&[(PAYER, OTHER, TOTAL)])),
        ("by somebody else", transfers(&[(OTHER, PAYEE, TOTAL)])),
        ("back to the payer", transfers(&[(PAYEE, PAYER, TOTAL)])),
        (
            "nothing but zero",
            transfers(&[(PAYER, OTHER, TOTAL), (PAYER, PAYEE, 0)]),
        ),
    ];
    for (label, transfers) in table {
        let (_, outcome) = outcome_of(|chain, block| chain.mine(tx(1), block, transfers));
        assert_eq!(outcome.refuted().len(), 1, "{label}");
        assert_refuted(
            &outcome,
            RefutedCause::OtherPayee,
            Code::InvalidPaymentAddress,
        );
    }
}

#[test]
fn short() {
    let table = [
        ("one micro-USDC", transfers(&[(PAYER, PAYEE, TOTAL - 1)])),
        ("no fee", transfers(&[(PAYER, PAYEE, PRICE)])),
        ("only the fee", transfers(&[(PAYER, TREASURY, FEE)])),
        (
            "all to the treasury",
            transfers(&[(PAYER, TREASURY, TOTAL)]),
        ),
        (
            "price short, fee over",
            transfers(&[(PAYER, PAYEE, PRICE - 1), (PAYER, TREASURY, FEE + 1)]),
        ),
    ];
    for (label, transfers) in table {
        let (_, outcome) = outcome_of(|chain, block| chain.mine(tx(1), block, transfers));
        assert_eq!(outcome.refuted().len(), 1, "{label}");
        assert_refuted(&outcome, RefutedCause::Short, Code::InsufficientBalance);
    }
}

#[test]
fn short_waits_for_the_other_declared_transactions() {
    let mut world = World::watching();
    world.pay(0, 2);
    let block = world.mine_next(1, &[(PAYER, PAYEE, PRICE)]);
    world.mine(2, block + 3, &[(PAYER, PAYEE, 1)]);
    world.until_block(block + DEPTH - 1);
    assert!(
        world.sweep(0).refuted().is_empty(),
        "the second may still add to it"
    );
    world.until_block(block + 3 + DEPTH - 1);
    let causes: Vec<_> = world
        .sweep(0)
        .refuted()
        .iter()
        .map(|r| (r.tx_hash, r.cause))
        .collect();
    assert_eq!(
        causes,
        [(tx(1), RefutedCause::Short), (tx(2), RefutedCause::Short)]
    );
}

#[test]
fn ax_018_used_already() {
    let mut world = World::new();
    let (first, second) = (
        world.bring(StateName::Verified),
        world.bring(StateName::Verified),
    );
    world.pay(first, 1);
    world.pay(second, 1);
    let block = world.mine_next(1, &[(PAYER, PAYEE, TOTAL)]);
    world.until_block(block + DEPTH - 1);
    assert_eq!(world.sweep(first).types(), ["seen", "confirmed"]);
    let outcome = world.sweep(second);
    assert_refuted(&outcome, RefutedCause::UsedAlready, Code::PaymentFailed);
    assert_eq!(world.name(second), StateName::Verified);
}

/// A world whose ACCEPT is recorded `ms_into_block` after a block's own time, payment watched; and
/// that block.
fn accepted_at(ms_into_block: u64, sees_heads: bool) -> (World, u64) {
    let mut world = World::new();
    world.registry.sees_heads = sees_heads;
    let block = world.next_block();
    world.until_block(block);
    world.advance_ms(ms_into_block);
    world.bring(StateName::Verified);
    world.pay(0, 1);
    (world, block)
}

fn paid_in(mut world: World, block: u64) -> Outcome {
    world.mine(1, block, &[(PAYER, PAYEE, TOTAL)]);
    let deep = block + DEPTH - 1;
    world.until_block(deep.max(world.next_block()));
    world.sweep(0)
}

#[test]
fn older_than_the_accept_by_the_head_recorded_there() {
    let (world, head) = accepted_at(500, true);
    for (block, is_older) in [(head - 20, true), (head, true), (head + 1, false)] {
        let outcome = paid_in(world.clone(), block);
        let label = format!("block {block}, head at ACCEPT {head}");
        if is_older {
            let refuted = outcome.refuted();
            assert_eq!(refuted.len(), 1, "{label}");
            assert_eq!(refuted[0].cause, RefutedCause::OlderThanAccept, "{label}");
            assert_eq!(refuted[0].code, Code::PaymentFailed, "{label}");
        } else {
            assert_eq!(outcome.types(), ["seen", "confirmed"], "{label}");
        }
    }
}

#[test]
fn older_than_the_accept_by_the_clock_where_no_head_was_known() {
    // The block before is 2 s and `ms_into_block` older than the ACCEPT.
    for (ms_into_block, is_older) in [(0, false), (1, true), (1_999, true)] {
        let (world, block) = accepted_at(ms_into_block, false);
        let outcome = paid_in(world, block - 1);
        let label = format!("ACCEPT 2 s and {ms_into_block} ms after the block");
        assert_eq!(outcome.refuted().len(), usize::from(is_older), "{label}");
        let confirmed = outcome.types().contains(&"confirmed");
        assert_eq!(confirmed, !is_older, "{label}");
    }
}

#[test]
fn the_first_cause_that_holds_is_named() {
    let (world, head) = accepted_at(500, true);
    let mut reverted = world.clone();
    reverted.chain.revert(tx(1), head - 20);
    reverted.advance_ms(2_000);
    let outcome = reverted.sweep(0);
    assert_eq!(
        outcome.refuted()[0].cause,
        RefutedCause::Reverted,
        "a failure is no payment"
    );

    let mut old = world;
    old.chain.mine(tx(1), head - 20, Vec::new());
    old.advance_ms(2_000);
    assert_eq!(
        old.sweep(0).refuted()[0].cause,
        RefutedCause::OlderThanAccept
    );
}

#[test]
fn nothing_is_refuted_once_the_payment_is_covered() {
    let mut world = World::watching();
    world.pay(0, 2);
    let block = world.next_block();
    world.chain.revert(tx(1), block);
    world.mine(2, block, &[(PAYER, PAYEE, TOTAL)]);
    world.until_block(block + DEPTH - 1);
    assert_eq!(world.sweep(0).types(), ["seen", "seen", "confirmed"]);
}

#[test]
fn a_refuted_transaction_that_pays_after_all_still_counts() {
    let (mut world, outcome) = outcome_of(|chain, block| chain.revert(tx(1), block));
    assert_refuted(&outcome, RefutedCause::Reverted, Code::PaymentFailed);
    let block = world.mine_next(1, &[(PAYER, PAYEE, TOTAL)]);
    let outcome = world.deep(0, block);
    assert_eq!(
        outcome.types().last(),
        Some(&"confirmed"),
        "every hash is watched to the end"
    );
}
