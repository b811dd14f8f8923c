//! Downtime and blindness: nobody fails because the ledger was away or could not see
//! (ledger-contract.md sections 1.4 and 5, design.md section 7).

use x811_protocol::code::Code;
use x811_protocol::envelope::CoreType;
use x811_protocol::interaction::{Interaction, Schedule, StateName};
use x811_protocol::machine::Machine;
use x811_protocol::time::TimestampMs;

use super::chain::{DEPTH, PAYEE, PAYER};
use super::messages::TOTAL;
use super::schedule::{answer_look, next_look, until_look};
use super::world::{BASE, SEPOLIA, World};

/// End of the open window.
fn deadline(world: &World) -> TimestampMs {
    Interaction::deadline(world.state(0)).unwrap()
}

/// A history and its name.
type Reached = (&'static str, fn() -> World);

fn histories() -> [Reached; 5] {
    [
        ("pending", || World::at(StateName::Pending)),
        ("accepted", || World::at(StateName::Accepted)),
        ("delivered", || World::at(StateName::Delivered)),
        ("verified", || World::at(StateName::Verified)),
        ("watching", World::watching),
    ]
}

fn assert_replays(world: &World) {
    let live: Vec<_> = world
        .streams
        .iter()
        .map(|stream| stream.state.clone())
        .collect();
    assert_eq!(world.replayed(), live, "replay and live state differ");
}

#[test]
fn downtime_moves_every_ledger_window_by_the_gap() {
    for (label, reached) in histories() {
        let mut world = reached();
        let before = deadline(&world);
        world.be_down_for(7_000_000);
        let after = before.saturating_add_ms(7_000_000);
        assert_eq!(deadline(&world), after, "{label}");
        world.now = after;
        assert_eq!(
            world.tick(0).events,
            [],
            "{label}: nobody fails because we were down"
        );
        world.advance_ms(1);
        assert_eq!(world.tick(0).types(), ["lapsed"], "{label}");
        assert_replays(&world);
    }
}

#[test]
fn downtime_moves_the_ledger_s_part_of_an_offer_never_the_signed_part() {
    // The ledger's window binds: created 100 s ahead, so created + 300 s is 400 s from now.
    let mut world = World::at(StateName::Pending);
    let mut offer = world.draft(0, CoreType::Offer);
    offer.created_ms = Some(world.now.saturating_add_ms(100_000));
    world.send_ok(0, &offer);
    let received = world.now;
    world.be_down_for(60_000);
    assert_eq!(
        deadline(&world),
        received.saturating_add_ms(360_000),
        "moved by the gap"
    );
    world.be_down_for(60_000);
    assert_eq!(
        deadline(&world),
        received.saturating_add_ms(400_000),
        "up to what was signed"
    );
    assert_replays(&world);

    // What was signed binds: created + expiry.
    let mut world = World::at(StateName::Offered);
    let before = deadline(&world);
    world.be_down_for(400_000);
    assert_eq!(deadline(&world), before);
    let accept = world.draft(0, CoreType::Accept);
    assert_eq!(world.send(0, &accept).code(), Some(Code::OfferExpired));
    assert_replays(&world);
}

#[test]
fn downtime_leaves_finished_interactions_alone() {
    for state in StateName::ALL.into_iter().filter(|name| name.is_terminal()) {
        let mut world = World::at(state);
        let shown = |world: &World| {
            let state = world.state(0);
            let watched = state
                .aftermath()
                .map(|(_, watched)| watched.declared.clone());
            (state.name(), state.opener(), state.closing_code(), watched)
        };
        let (before, until) = (shown(&world), until(&world));
        world.be_down_for(1_000);
        assert_eq!(shown(&world), before, "{state}");
        let after = until.map(|until| until.saturating_add_ms(1_000));
        assert_eq!(self::until(&world), after, "{state}");
    }
}

fn until(world: &World) -> Option<TimestampMs> {
    let (_, aftermath) = world.state(0).aftermath()?;
    Some(aftermath.until)
}

#[test]
fn lc_5_what_is_late_is_counted_in_settlement_time() {
    let mut world = World::at(StateName::Completed);
    let before = until(&world).unwrap();
    world.go_blind(BASE);
    world.advance_ms(7_000);
    world.be_down_for(500);
    world.go_sighted(BASE);
    let expected = before.saturating_add_ms(7_500);
    assert_eq!(until(&world), Some(expected), "neither down nor blind");
    assert_replays(&world);
}

#[test]
fn blindness_stops_the_confirmation_window() {
    let mut world = World::watching();
    let before = deadline(&world);
    world.advance_ms(10_000);
    world.go_blind(BASE);
    assert_eq!(
        Interaction::deadline(world.state(0)),
        None,
        "its clock stands still"
    );
    world.advance_ms(10_000_000);
    assert_eq!(world.tick(0).events, []);
    world.go_sighted(BASE);
    assert_eq!(deadline(&world), before.saturating_add_ms(10_000_000));
    assert_replays(&world);
}

#[test]
fn blindness_stops_the_looks() {
    let mut world = World::looking();
    let (number, due) = next_look(&world);
    world.advance_ms(1_000);
    world.go_blind(BASE);
    world.advance_ms(10_000_000);
    assert_eq!(world.sweep(0).events, [], "a look while blind is no answer");
    world.go_sighted(BASE);
    assert_eq!(
        next_look(&world),
        (number, due.saturating_add_ms(10_000_000))
    );
    until_look(&mut world);
    answer_look(&mut world);
    assert_replays(&world);
}

#[test]
fn blindness_leaves_the_payment_window_and_other_networks_alone() {
    let mut world = World::at(StateName::Verified);
    let before = deadline(&world);
    world.go_blind(BASE);
    world.advance_ms(50_000);
    world.go_sighted(BASE);
    assert_eq!(deadline(&world), before, "the payment window runs on");

    let mut world = World::watching();
    let before = deadline(&world);
    world.go_blind(SEPOLIA);
    world.advance_ms(5_000);
    assert_eq!(deadline(&world), before);
    world.go_sighted(SEPOLIA);
    assert_eq!(deadline(&world), before);
}

#[test]
fn a_payment_on_a_blind_network_begins_with_its_clock_stopped() {
    let mut world = World::at(StateName::Verified);
    world.advance_ms(5_000);
    world.go_blind(BASE);
    world.advance_ms(5_000);
    world.pay(0, 1);
    let t0 = world.now;
    assert_eq!(Interaction::deadline(world.state(0)), None);
    world.advance_ms(100_000);
    let payment = world.draft_payment(0, 2, None);
    world.send_ok(0, &payment);
    assert_eq!(
        world.settlement(0).paused_since,
        Some(t0),
        "a further PAYMENT restarts nothing"
    );
    world.advance_ms(100_000);
    world.go_sighted(BASE);
    assert_eq!(deadline(&world), t0.saturating_add_ms(230_000));
    assert_replays(&world);
}

#[test]
fn a_payment_can_be_confirmed_while_the_clock_stands_still() {
    let mut world = World::watching();
    let block = world.mine_next(1, &[(PAYER, PAYEE, TOTAL)]);
    world.go_blind(BASE);
    world.until_block(block + DEPTH - 1);
    assert_eq!(world.sweep(0).types(), ["seen", "confirmed"]);
}

#[test]
fn down_while_blind_is_counted_once() {
    for (label, blind_first) in [("down inside blind", true), ("down before blind", false)] {
        let mut world = World::watching();
        let before = deadline(&world);
        world.advance_ms(1_000);
        if blind_first {
            world.go_blind(BASE);
            world.advance_ms(20_000);
            world.be_down_for(50_000);
        } else {
            world.be_down_for(50_000);
            world.go_blind(BASE);
            world.advance_ms(20_000);
        }
        world.advance_ms(30_000);
        world.go_sighted(BASE);
        assert_eq!(
            deadline(&world),
            before.saturating_add_ms(100_000),
            "{label}"
        );
        assert_replays(&world);
    }
}

#[test]
fn twice_blind_and_twice_down_add_up() {
    let mut world = World::looking();
    let (_, due) = next_look(&world);
    for _ in 0..2 {
        world.go_blind(BASE);
        world.advance_ms(3_000);
        world.be_down_for(4_000);
        world.advance_ms(2_000);
        world.go_sighted(BASE);
        world.be_down_for(1_000);
    }
    assert_eq!(next_look(&world).1, due.saturating_add_ms(20_000));
    assert_replays(&world);
}

#[test]
fn a_window_that_passed_before_the_blindness_lapses_after_it() {
    let mut world = World::watching();
    world.advance_ms(30_500);
    world.go_blind(BASE);
    assert_eq!(world.tick(0).events, []);
    world.advance_ms(5_000);
    world.go_sighted(BASE);
    assert_eq!(world.tick(0).types(), ["lapsed"]);
    let Schedule::Look { number: 1, due } = world.settlement(0).schedule else {
        panic!()
    };
    assert_eq!(due, world.now.saturating_add_ms(5_000));
}
