//! The clock that is recorded (ledger-contract.md section 1.2).

use super::deal::{Deal, Until};
use super::ledgerbox::Ledgerbox;
use serde_json::json;
use x811_protocol::code::Code;
use x811_protocol::event::{Event, LedgerEvent};
use x811_protocol::time::TimestampMs;

async fn resumed(ledgerbox: &Ledgerbox) -> Vec<u64> {
    let events = ledgerbox.events().await.into_iter();
    events
        .filter_map(|(_, event)| match event {
            Event::Ledger(LedgerEvent::Resumed(resumed)) => Some(resumed.gap_ms),
            _ => None,
        })
        .collect()
}

async fn jump_to(ledgerbox: &Ledgerbox, wall: TimestampMs) {
    ledgerbox.settle().await;
    ledgerbox.clock.jump_wall_to(wall);
    ledgerbox.advance_ms(1_000).await;
}

#[tokio::test]
async fn lc_1_2_a_jump_forward_stops_the_ledger_until_it_is_settled() {
    let ledgerbox = Ledgerbox::open().await;
    let mut deal = Deal::opened(&ledgerbox, Until::Pending).await;
    let world = ledgerbox.ledger().world();
    let deadline = world
        .interaction(deal.id())
        .unwrap()
        .state
        .deadline()
        .unwrap();
    let before_jump = ledgerbox.now();
    jump_to(&ledgerbox, before_jump.saturating_add_ms(3_600_000)).await;

    assert!(!ledgerbox.ledger().readiness().clock_settled);
    let early = ledgerbox.ledger().now();
    assert_eq!(early, before_jump.saturating_add_ms(1_000), "not believed");
    let mut letter = ledgerbox.letter("x811.ext/greeting", &deal.provider, json!({}));
    letter.created = early;
    letter.id = deal.request_at(early);
    let greeting = deal.initiator.seal(&letter);
    let refusal = ledgerbox.refuse(&greeting).await;
    assert_eq!(refusal.code, Code::RateLimitExceeded);
    for _ in 0..9 {
        ledgerbox.advance_ms(1_000).await;
        assert!(!ledgerbox.ledger().readiness().clock_settled);
    }
    assert_eq!(ledgerbox.types(deal.id()).await.len(), 1, "no lapses");

    ledgerbox.advance_ms(1_000).await;
    assert!(ledgerbox.ledger().readiness().clock_settled);
    assert_eq!(ledgerbox.ledger().now(), ledgerbox.now(), "adopted");
    assert_eq!(resumed(&ledgerbox).await, [3_600_000 + 10_000]);
    let world = ledgerbox.ledger().world();
    let moved = world.interaction(deal.id()).unwrap().state.deadline();
    let expected = deadline.saturating_add_ms(3_600_000 + 10_000);
    assert_eq!(moved, Some(expected), "nobody fails because of it");
    let offer = deal.offer(&ledgerbox);
    ledgerbox.accept(&offer).await;
    ledgerbox.assert_log_adds_up().await;
}

#[tokio::test]
async fn lc_1_2_a_jump_that_is_taken_back_only_costs_its_time() {
    let ledgerbox = Ledgerbox::open().await;
    let deal = Deal::opened(&ledgerbox, Until::Pending).await;
    let world = ledgerbox.ledger().world();
    let deadline = world
        .interaction(deal.id())
        .unwrap()
        .state
        .deadline()
        .unwrap();
    let start = ledgerbox.now();
    jump_to(&ledgerbox, start.saturating_add_ms(60_000)).await;
    ledgerbox.advance_ms(4_000).await;
    jump_to(&ledgerbox, start.saturating_add_ms(5_000)).await;
    assert!(ledgerbox.ledger().readiness().clock_settled);
    assert_eq!(ledgerbox.ledger().now(), start.saturating_add_ms(6_000));
    assert_eq!(resumed(&ledgerbox).await, [5_000]);
    let world = ledgerbox.ledger().world();
    let moved = world.interaction(deal.id()).unwrap().state.deadline();
    assert_eq!(moved, Some(deadline.saturating_add_ms(5_000)));
    ledgerbox.assert_log_adds_up().await;
}

#[tokio::test]
async fn lc_1_2_small_steps_are_followed_forward_only() {
    let ledgerbox = Ledgerbox::open().await;
    let start = ledgerbox.now();
    jump_to(&ledgerbox, start.saturating_add_ms(5_000)).await;
    assert!(ledgerbox.ledger().readiness().clock_settled);
    assert_eq!(ledgerbox.ledger().now(), start.saturating_add_ms(6_000));
    jump_to(&ledgerbox, start.saturating_add_ms(2_000)).await;
    assert!(ledgerbox.ledger().readiness().clock_settled);
    assert_eq!(ledgerbox.ledger().now(), start.saturating_add_ms(7_000));
    assert_eq!(resumed(&ledgerbox).await, Vec::<u64>::new());
}

#[tokio::test]
async fn lc_1_2_time_never_goes_back() {
    let mut ledgerbox = Ledgerbox::open().await;
    let deal = Deal::opened(&ledgerbox, Until::Pending).await;
    let start = ledgerbox.now();
    let mut last = ledgerbox.ledger().now();
    jump_to(&ledgerbox, start.saturating_sub_ms(3_600_000)).await;
    for _ in 0..20 {
        assert!(!ledgerbox.ledger().readiness().clock_settled);
        assert!(ledgerbox.ledger().now() >= last);
        last = ledgerbox.ledger().now();
        ledgerbox.advance_ms(1_000).await;
    }
    assert_eq!(ledgerbox.types(deal.id()).await.len(), 1, "no lapses");
    ledgerbox.restart().await;
    assert!(ledgerbox.ledger().now().as_ms() >= start.as_ms());
    let records = ledgerbox.records().await;
    assert!(records.is_sorted_by_key(x811_eventlog::Record::recorded_at_ms));
    // Once the wall clock is right again it goes on.
    let right = ledgerbox.ledger().now();
    jump_to(&ledgerbox, right).await;
    assert!(ledgerbox.ledger().readiness().clock_settled);
    ledgerbox.assert_log_adds_up().await;
}
