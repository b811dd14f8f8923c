//! Several interactions and the same transfers: one transfer pays one interaction, for ever (AX-18).

use x811_protocol::code::Code;
use x811_protocol::event::{Event, RefutedCause, SettlementEvent};
use x811_protocol::interaction::{State, StateName};

use super::chain::{DEPTH, PAYEE, PAYER, TREASURY, transfers, tx};
use super::messages::{FEE, PRICE, TOTAL};
use super::schedule::{answer_look, until_look};
use super::world::World;

/// That many interactions that all declare transaction 1.
fn rivals(count: usize) -> World {
    let mut world = World::new();
    let numbers: Vec<_> = (0..count)
        .map(|_| world.bring(StateName::Verified))
        .collect();
    for number in numbers {
        world.pay(number, 1);
    }
    world
}

fn ordinals(world: &World, number: usize) -> Vec<u64> {
    match world.state(number) {
        State::Completed { completion, .. } => completion
            .claims
            .iter()
            .map(|claim| claim.ordinal)
            .collect(),
        state => panic!("interaction {number} is {}", state.name()),
    }
}

#[test]
fn four_transfers_settle_four_interactions_in_any_order_and_no_fifth() {
    for order in [[0, 1, 2, 3], [3, 2, 1, 0], [2, 0, 3, 1], [1, 3, 0, 2]] {
        let mut world = rivals(5);
        let block = world.mine_next(1, &[(PAYER, PAYEE, TOTAL); 4]);
        world.until_block(block + DEPTH - 1);
        for (ordinal, number) in order.into_iter().enumerate() {
            world.sweep(number);
            assert_eq!(ordinals(&world, number), [ordinal as u64]);
        }
        let outcome = world.sweep(4);
        let Some(Event::Settlement(SettlementEvent::Refuted(refuted))) = outcome.events.last()
        else {
            panic!()
        };
        assert_eq!(
            (refuted.cause, refuted.code),
            (RefutedCause::UsedAlready, Code::PaymentFailed)
        );
        assert_eq!(world.name(4), StateName::Verified);
    }
}

#[test]
fn of_two_racing_for_one_transfer_one_wins() {
    for winner in [0, 1] {
        let mut world = rivals(2);
        let block = world.mine_next(1, &[(PAYER, PAYEE, TOTAL)]);
        world.deep(winner, block);
        world.sweep(1 - winner);
        assert_eq!(world.name(winner), StateName::Completed);
        assert_eq!(world.name(1 - winner), StateName::Verified);
        assert_eq!(world.settlement(1 - winner).failures, 1);
    }
}

#[test]
fn the_rest_of_a_transaction_is_left_to_others() {
    let mut world = rivals(2);
    let block = world.next_block();
    let (a, b, t) = (PAYER, PAYEE, TREASURY);
    let rows = [(a, b, PRICE), (a, b, TOTAL), (a, t, FEE), (a, b, 3)];
    world.chain.mine(tx(1), block, transfers(&rows));
    world.deep(0, block);
    world.sweep(1);
    assert_eq!(ordinals(&world, 0), [1], "the whole");
    assert_eq!(ordinals(&world, 1), [0, 2], "price and fee");
}

#[test]
fn what_is_left_when_part_is_claimed_is_short_not_used_already() {
    let mut world = rivals(2);
    let block = world.next_block();
    let rows = [(PAYER, PAYEE, TOTAL), (PAYER, PAYEE, TOTAL - 1)];
    world.chain.mine(tx(1), block, transfers(&rows));
    world.deep(0, block);
    let outcome = world.sweep(1);
    let Some(Event::Settlement(SettlementEvent::Refuted(refuted))) = outcome.events.last() else {
        panic!()
    };
    assert_eq!(refuted.cause, RefutedCause::Short);
}

#[test]
fn the_loser_can_still_pay_by_another_transaction() {
    let mut world = rivals(2);
    let block = world.mine_next(1, &[(PAYER, PAYEE, TOTAL)]);
    world.deep(0, block);
    world.sweep(1);
    world.complete(1, 2);
    assert_eq!(world.name(1), StateName::Completed);
    let receipts = [0, 1].map(|number| match world.events(number).last() {
        Some(Event::Settlement(SettlementEvent::Confirmed(confirmed))) => {
            (confirmed.provider_seq, confirmed.provider_prev)
        }
        _ => panic!(),
    });
    assert_eq!(receipts[0], (0, None));
    assert_eq!(receipts[1].0, 1);
    assert!(receipts[1].1.is_some());
}

#[test]
fn a_disputed_loser_names_the_last_cause() {
    let mut world = rivals(1);
    let second = world.bring(StateName::Verified);
    world.pay(second, 2);
    world.mine(2, world.next_block(), &[(PAYER, PAYEE, TOTAL)]);
    let block = world.next_block();
    world.deep(second, block);
    world.pay(0, 2);
    world.advance_ms(30_001);
    world.tick(0);
    for _ in 1..=3 {
        until_look(&mut world);
        answer_look(&mut world);
    }
    assert_eq!(world.name(0), StateName::Disputed);
    assert_eq!(
        world.closing_code(0),
        Some(Code::PaymentFailed),
        "used already"
    );
}
