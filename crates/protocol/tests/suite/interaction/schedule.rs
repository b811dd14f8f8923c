//! The timetable: T0 + 30 s, then looks 5, 15, 60 and 300 s apart, four failures and out (AE-98,
//! AE-104, AE-105, AX-7, AX-8, design.md section 7, ledger-contract.md section 5).

use x811_protocol::code::Code;
use x811_protocol::event::{Event, FindingStatus, Looked, SettlementEvent, Window};
use x811_protocol::interaction::{Schedule, StateName};
use x811_protocol::time::TimestampMs;

use super::chain::{BLOCK_S, Chain, DEPTH, OTHER, PAYEE, PAYER, transfers, tx};
use super::messages::TOTAL;
use super::world::{Outcome, World};

/// The look that comes next: its number and when it is due.
pub(crate) fn next_look(world: &World) -> (u64, TimestampMs) {
    match world.settlement(0).schedule {
        Schedule::Look { number, due } => (number, due),
        Schedule::Confirmation { .. } => panic!("the confirmation window is open"),
    }
}

/// Sweeps every half second until the next look is answered; the answer and what else was recorded.
pub(crate) fn answer_look(world: &mut World) -> (Looked, Outcome) {
    let (number, due) = next_look(world);
    let limit = due.max(world.now).saturating_add_ms(BLOCK_S * 1_000 + 500);
    while world.now <= limit {
        let outcome = world.sweep(0);
        let looked = outcome.events.iter().find_map(|event| match event {
            Event::Settlement(SettlementEvent::Looked(looked)) => Some(looked.clone()),
            _ => None,
        });
        if let Some(looked) = looked {
            assert!(
                world.now >= due,
                "look {number} was answered before it was due"
            );
            assert_eq!((looked.look, looked.due_at_ms), (number, due));
            assert!(
                looked.head.timestamp_s * 1_000 >= due.as_ms(),
                "an old head answered"
            );
            return (looked, outcome);
        }
        world.advance_ms(500);
    }
    panic!("look {number} was not answered");
}

/// Lets time pass until just before the next look is due.
pub(crate) fn until_look(world: &mut World) {
    let (_, due) = next_look(world);
    world.now = world.now.max(due.saturating_sub_ms(1));
}

#[test]
fn ae_104_thirty_seconds_then_looks_5_15_60_and_300_seconds_apart() {
    let mut world = World::watching();
    let t0 = world.now;
    world.now = t0.saturating_add_ms(30_000);
    assert_eq!(world.sweep(0).events, [], "AX-34: at the limit");
    world.advance_ms(1);
    let outcome = world.sweep(0);
    assert_eq!(outcome.types(), ["lapsed"]);
    assert_eq!(
        outcome.lapses,
        [Code::PaymentConfirmationTimeout],
        "X811-5030"
    );
    assert_eq!(
        world.name(0),
        StateName::Verified,
        "AE-104: it does not end the interaction"
    );

    let mut answered = world.now;
    for (number, wait_ms) in (1..).zip([5_000, 15_000, 60_000, 300_000]) {
        let due = answered.saturating_add_ms(wait_ms);
        assert_eq!(
            next_look(&world),
            (number, due),
            "after the answer to the one before"
        );
        until_look(&mut world);
        let (looked, _) = answer_look(&mut world);
        let status: Vec<_> = looked.finding.iter().map(|f| (f.status, f.depth)).collect();
        assert_eq!(status, [(FindingStatus::NotFound, None)]);
        answered = world.now;
    }
    assert_eq!(
        world.name(0),
        StateName::Disputed,
        "AE-105: after four failed attempts"
    );
    assert_eq!(
        world.closing_code(0),
        Some(Code::PaymentConfirmationTimeout)
    );
    let least_ms = 30_000 + 5_000 + 15_000 + 60_000 + 300_000;
    let took_ms = answered.since(t0);
    assert!((least_ms..least_ms + 9_000).contains(&took_ms), "{took_ms}");
    assert_eq!(world.replayed(), [Some(world.state(0).clone())]);
}

#[test]
fn ae_104_confirmation_may_come_before_the_window_ends() {
    let mut world = World::at(StateName::Verified);
    let t0 = world.now;
    world.complete(0, 1);
    assert!(world.now.since(t0) < 30_000);
    assert!(
        !world
            .events(0)
            .iter()
            .any(|event| matches!(event, Event::Lapsed(_)))
    );
}

#[test]
fn ae_104_confirmation_may_come_between_looks() {
    let mut world = World::looking();
    let block = world.mine_next(1, &[(PAYER, PAYEE, TOTAL)]);
    world.until_block(block + DEPTH - 1);
    let (number, due) = next_look(&world);
    assert_eq!(number, 1);
    assert!(
        world.now > due,
        "the look was due, but a confirmation is more"
    );
    assert_eq!(world.sweep(0).types(), ["seen", "confirmed"]);
}

#[test]
fn ae_104_x811_5030_is_told_even_when_the_transfer_is_seen() {
    let mut world = World::watching();
    world.advance_ms(20_000);
    let block = world.mine_next(1, &[(PAYER, PAYEE, TOTAL)]);
    world.until_block(block + 3);
    assert_eq!(world.sweep(0).types(), ["seen"]);
    world.until_block(block + 7);
    let outcome = world.sweep(0);
    assert_eq!(outcome.types(), ["lapsed"]);
    let Event::Lapsed(lapsed) = &outcome.events[0] else {
        panic!()
    };
    assert_eq!(lapsed.window, Window::Confirmation.into());
    world.until_block(block + DEPTH - 1);
    assert_eq!(world.sweep(0).types(), ["confirmed"]);
}

#[test]
fn depth_twelve_confirms_and_eleven_does_not() {
    let mut world = World::watching();
    let block = world.mine_next(1, &[(PAYER, PAYEE, TOTAL)]);
    world.until_block(block);
    assert_eq!(world.sweep(0).types(), ["seen"], "depth 1");
    world.until_block(block + 10);
    assert_eq!(world.sweep(0).events, [], "depth 11");
    world.until_block(block + 11);
    let outcome = world.sweep(0);
    assert_eq!(outcome.types(), ["confirmed"], "depth 12");
    let Event::Settlement(SettlementEvent::Confirmed(confirmed)) = &outcome.events[0] else {
        panic!()
    };
    assert_eq!(confirmed.evidence[0].depth, 12);
}

#[test]
fn only_a_fresh_head_answers_a_look() {
    let reached = {
        let mut world = World::looking();
        let (_, due) = next_look(&world);
        world.now = due.saturating_add_ms(9_000);
        world
    };
    let (_, due) = next_look(&reached);
    let first_after_due = (due.as_ms() / 1_000).div_ceil(BLOCK_S) * BLOCK_S + BLOCK_S;
    let head = Chain::head_number(TimestampMs::new(first_after_due * 1_000));
    let head_at = TimestampMs::new(Chain::block(head).timestamp_s * 1_000);
    let answered_by = |number: u64, now: TimestampMs| {
        let mut world = reached.clone();
        world.now = now;
        !world.sweep_at(0, number).events.is_empty()
    };
    let fresh = head_at.saturating_add_ms(9_999);
    assert!(answered_by(head, fresh), "younger than 10 s");
    assert!(
        !answered_by(head, fresh.saturating_add_ms(1)),
        "10 s old: stale"
    );
    assert!(
        !answered_by(head - 2, due.saturating_add_ms(2)),
        "fresh, but older than due"
    );
}

#[test]
fn a_head_of_the_due_second_answers_and_one_second_older_does_not() {
    let mut world = World::watching();
    // The window lapses so that the look is due on a block's own timestamp.
    world.now = TimestampMs::new(Chain::block(world.next_block() + 20).timestamp_s * 1_000 + 1_000);
    world.tick(0);
    let (_, due) = next_look(&world);
    assert_eq!(due.as_ms() % (BLOCK_S * 1_000), 0);
    let head = Chain::head_number(due);
    world.now = due;
    assert_eq!(world.clone().sweep_at(0, head - 1).events, []);
    assert_eq!(world.sweep_at(0, head).types(), ["looked"]);
}

#[test]
fn nothing_is_answered_before_it_is_due_even_by_a_head_of_the_future() {
    let mut world = World::looking();
    let (_, due) = next_look(&world);
    world.now = due.saturating_sub_ms(1);
    let ahead = Chain::head_number(due) + 2;
    assert_eq!(world.sweep_at(0, ahead).events, []);
    world.now = due;
    assert_eq!(world.sweep_at(0, ahead).types(), ["looked"]);
}

#[test]
fn a_look_that_finds_the_transfer_not_deep_enough_keeps_its_number() {
    let mut world = World::looking();
    until_look(&mut world);
    let block = world.mine_next(1, &[(PAYER, PAYEE, TOTAL)]);
    world.until_block(block + 2);
    let (looked, outcome) = answer_look(&mut world);
    assert_eq!(outcome.types(), ["seen", "looked"]);
    assert_eq!(
        (looked.finding[0].status, looked.finding[0].depth),
        (FindingStatus::Seen, Some(3))
    );
    assert_eq!(world.settlement(0).failures, 0, "pending is not negative");
    let due = world.now.saturating_add_ms(60_000);
    assert_eq!(
        next_look(&world),
        (1, due),
        "it keeps its number and is due again in 60 s"
    );

    world.chain.reorganise_away(tx(1));
    until_look(&mut world);
    let (looked, _) = answer_look(&mut world);
    assert_eq!(looked.look, 1);
    assert_eq!(world.settlement(0).failures, 1);
    assert_eq!(next_look(&world), (2, world.now.saturating_add_ms(15_000)));
}

#[test]
fn a_transaction_declared_after_the_sweep_began_leaves_the_look_open() {
    let mut world = World::looking();
    until_look(&mut world);
    world.advance_ms(4_000);
    let head = Chain::head_number(world.now);
    let begun = world.chain.sweep(super::world::BASE, head, [tx(1)]);
    world.pay(0, 2);
    assert_eq!(
        world.observe(0, &begun).events,
        [],
        "nobody asked for the second one"
    );
    assert_eq!(world.sweep(0).types(), ["looked"]);
}

#[test]
fn a_look_at_another_network_answers_nothing() {
    let mut world = World::looking();
    until_look(&mut world);
    world.advance_ms(4_000);
    world.chain.mine(
        tx(1),
        world.next_block() - DEPTH,
        transfers(&[(PAYER, PAYEE, TOTAL)]),
    );
    let head = Chain::head_number(world.now);
    let other = world.chain.sweep(super::world::SEPOLIA, head, [tx(1)]);
    assert_eq!(world.observe(0, &other).events, []);
}

#[test]
fn a_look_before_any_payment_or_after_the_end_causes_nothing() {
    for state in StateName::ALL {
        let mut world = World::at(state);
        let head = Chain::head_number(world.now);
        let sweep = world
            .chain
            .sweep(super::world::BASE, head, [tx(1), tx(100)]);
        assert_eq!(world.observe(0, &sweep).events, [], "{state}");
    }
}

#[test]
fn ae_105_negative_looks_and_refutations_share_one_counter() {
    let mut world = World::watching();
    let block = world.mine_next(1, &[(PAYER, PAYEE, TOTAL - 1)]);
    world.until_block(block + DEPTH - 1);
    assert_eq!(world.sweep(0).types(), ["seen", "refuted"]);
    assert_eq!(world.settlement(0).failures, 1);
    world.advance_ms(30_001);
    world.tick(0);
    for number in 1..=3 {
        until_look(&mut world);
        let (looked, _) = answer_look(&mut world);
        assert_eq!(looked.look, number, "the timetable does not move");
        assert_eq!(looked.finding[0].status, FindingStatus::Refuted);
    }
    assert_eq!(world.name(0), StateName::Disputed);
    assert_eq!(
        world.closing_code(0),
        Some(Code::InsufficientBalance),
        "code of the last cause"
    );
}

#[test]
fn ae_105_four_refutations_dispute_at_once() {
    let mut world = World::watching();
    for number in 2..=5 {
        world.pay(0, number);
    }
    let block = world.next_block();
    for number in 1..=3 {
        world.chain.revert(tx(number), block);
    }
    world.mine(4, block, &[(PAYER, OTHER, TOTAL)]);
    world.chain.revert(tx(5), block);
    let outcome = world.deep(0, block);
    let refuted = outcome
        .types()
        .iter()
        .filter(|name| **name == "refuted")
        .count();
    assert_eq!(refuted, 4, "no event follows the dispute");
    assert_eq!(outcome.types().last(), Some(&"refuted"));
    assert_eq!(world.name(0), StateName::Disputed);
    assert_eq!(
        world.closing_code(0),
        Some(Code::InvalidPaymentAddress),
        "code of the last cause"
    );
}

#[test]
fn ae_105_a_refutation_and_the_look_of_the_same_sweep_both_count() {
    let mut world = World::looking();
    let block = world.next_block() - DEPTH - 1;
    world.chain.revert(tx(1), block);
    until_look(&mut world);
    world.advance_ms(4_000);
    assert_eq!(world.sweep(0).types(), ["seen", "refuted", "looked"]);
    assert_eq!(world.settlement(0).failures, 2);
}
