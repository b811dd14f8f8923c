//! A wall clock that is set forward or back while the ledger is down: nobody can tell the new time
//! from time that passed, and still nobody fails because of it, and the log's time never goes back
//! (ledger-contract.md sections 1.2 and 1.4).

use super::deal::{Deal, Until};
use super::ledgerbox::Ledgerbox;
use proptest::prelude::*;
use serde_json::json;
use x811_eventlog::Record;
use x811_ledger::port::LedgerStore as _;
use x811_protocol::code::Code;
use x811_protocol::event::{Event, LedgerEvent};
use x811_protocol::time::TimestampMs;

const HOUR_MS: u64 = 3_600_000;

/// States whose window is the ledger's; of an offer the party signed the end.
const LEDGER_WINDOWS: [Until; 4] = [
    Until::Pending,
    Until::Accepted,
    Until::Delivered,
    Until::Verified,
];

fn deadline(ledgerbox: &Ledgerbox, deal: &Deal) -> TimestampMs {
    let world = ledgerbox.ledger().world();
    world
        .interaction(deal.id())
        .unwrap()
        .state
        .deadline()
        .unwrap()
}

async fn gaps_ms(ledgerbox: &Ledgerbox) -> Vec<u64> {
    let events = ledgerbox.events().await.into_iter();
    events
        .filter_map(|(_, event)| match event {
            Event::Ledger(LedgerEvent::Resumed(resumed)) => Some(resumed.gap_ms),
            _ => None,
        })
        .collect()
}

async fn assert_time_never_went_back(ledgerbox: &Ledgerbox) {
    let records = ledgerbox.records().await;
    assert!(records.is_sorted_by_key(Record::recorded_at_ms));
}

/// The process dies just after a tick; the wall clock stands at `wall` when it starts again.
async fn be_down_until(ledgerbox: &mut Ledgerbox, wall: TimestampMs) {
    ledgerbox.crash().await;
    ledgerbox.clock.advance_ms(5_000);
    ledgerbox.clock.jump_wall_to(wall);
    ledgerbox.start().await.unwrap();
}

#[tokio::test]
async fn lc_1_4_a_clock_set_forward_while_down_is_downtime_and_fails_nobody() {
    for until in LEDGER_WINDOWS {
        let mut ledgerbox = Ledgerbox::open().await;
        let mut deal = Deal::opened(&ledgerbox, until).await;
        ledgerbox.advance_ms(1_000).await;
        let (before, last_up) = (deadline(&ledgerbox, &deal), ledgerbox.now());
        be_down_until(&mut ledgerbox, last_up.saturating_add_ms(HOUR_MS)).await;
        assert!(ledgerbox.ledger().readiness().clock_settled);
        assert_eq!(gaps_ms(&ledgerbox).await, [HOUR_MS], "{until:?}");
        let moved = deadline(&ledgerbox, &deal);
        assert_eq!(moved, before.saturating_add_ms(HOUR_MS), "{until:?}");
        // What was in time before is in time now.
        let due = match until {
            Until::Pending => deal.offer(&ledgerbox),
            Until::Offered | Until::Accepted => deal.result(&ledgerbox),
            Until::Delivered => deal.verify(&ledgerbox),
            Until::Verified => deal.payment(&ledgerbox, 1),
        };
        ledgerbox.accept(&due).await;
        assert_time_never_went_back(&ledgerbox).await;
        ledgerbox.assert_log_adds_up().await;
    }
}

#[tokio::test]
async fn lc_1_4_a_clock_set_back_while_down_never_shortens_a_window() {
    for until in LEDGER_WINDOWS {
        for back_ms in [1, 4_999, 6_000, HOUR_MS, u64::MAX] {
            let mut ledgerbox = Ledgerbox::open().await;
            let deal = Deal::opened(&ledgerbox, until).await;
            ledgerbox.advance_ms(3_000).await;
            let (before, last_up) = (deadline(&ledgerbox, &deal), ledgerbox.now());
            be_down_until(&mut ledgerbox, last_up.saturating_sub_ms(back_ms)).await;
            assert_eq!(gaps_ms(&ledgerbox).await, [0], "{until:?} {back_ms}");
            assert_eq!(deadline(&ledgerbox, &deal), before, "{until:?} {back_ms}");
            let now = ledgerbox.ledger().now();
            assert!(now >= last_up, "{now:?} is before the last tick");
            assert_time_never_went_back(&ledgerbox).await;
            ledgerbox.assert_log_adds_up().await;
        }
    }
}

/// While the clock is behind what was recorded nothing is taken and nothing lapses; once it is
/// right, the time away is downtime as if the clock had been right all the while.
#[tokio::test]
async fn lc_1_4_a_clock_set_back_while_down_and_righted_costs_nobody_their_window() {
    let mut ledgerbox = Ledgerbox::open().await;
    let mut deal = Deal::opened(&ledgerbox, Until::Pending).await;
    ledgerbox.advance_ms(1_000).await;
    let (before, last_up) = (deadline(&ledgerbox, &deal), ledgerbox.now());
    be_down_until(&mut ledgerbox, last_up.saturating_sub_ms(HOUR_MS)).await;
    // Longer than any window.
    for _ in 0..90 {
        ledgerbox.advance_ms(1_000).await;
        assert!(!ledgerbox.ledger().readiness().clock_settled);
        assert_eq!(ledgerbox.ledger().now(), last_up, "it stands still");
    }
    let mut letter = ledgerbox.letter("x811.ext/greeting", &deal.provider, json!({}));
    letter.created = last_up;
    letter.id = deal.request_at(last_up);
    let refusal = ledgerbox.refuse(&deal.initiator.seal(&letter)).await;
    assert_eq!(refusal.code, Code::RateLimitExceeded);
    assert_eq!(ledgerbox.state(deal.id()), "pending", "no lapse");

    let righted = last_up.saturating_add_ms(5_000 + 90_000);
    ledgerbox.clock.jump_wall_to(righted);
    for _ in 0..11 {
        ledgerbox.advance_ms(1_000).await;
    }
    assert!(ledgerbox.ledger().readiness().clock_settled);
    assert_eq!(ledgerbox.ledger().now(), ledgerbox.now());
    let away_ms: u64 = gaps_ms(&ledgerbox).await.iter().sum();
    let moved = deadline(&ledgerbox, &deal);
    assert_eq!(moved, before.saturating_add_ms(away_ms));
    assert!(away_ms >= 95_000, "{away_ms} ms");
    let offer = deal.offer(&ledgerbox);
    ledgerbox.accept(&offer).await;
    assert_time_never_went_back(&ledgerbox).await;
    ledgerbox.assert_log_adds_up().await;
}

/// A nonce whose refusal was answered after the last record stays spent when time is set back.
#[tokio::test]
async fn lc_3_a_clock_set_back_while_down_frees_no_nonce() {
    let mut ledgerbox = Ledgerbox::open().await;
    let mut deal = Deal::opened(&ledgerbox, Until::Pending).await;
    ledgerbox.advance_ms(20_000).await;
    let early = deal.accept(&ledgerbox);
    assert_eq!(
        ledgerbox.code(&early).await,
        Code::InvalidStateTransition,
        "there is no offer yet"
    );
    ledgerbox.advance_ms(1_000).await;
    let last_up = ledgerbox.now();
    be_down_until(&mut ledgerbox, last_up.saturating_sub_ms(4_000)).await;
    assert_eq!(ledgerbox.code(&early).await, Code::NonceReplay);
}

#[derive(Debug, Clone, Copy)]
enum Step {
    Live { ms: u64 },
    Down { ms: u64 },
    DownAndForward { ms: u64 },
    DownAndBack { ms: u64 },
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        (1..4_000_u64).prop_map(|ms| Step::Live { ms }),
        (0..100_000_u64).prop_map(|ms| Step::Down { ms }),
        (0..10_000_000_u64).prop_map(|ms| Step::DownAndForward { ms }),
        (0..10_000_000_u64).prop_map(|ms| Step::DownAndBack { ms }),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// Whatever the clock does between lives: time never goes back, windows move by exactly what
    /// the log says, and never towards their end.
    #[test]
    fn lc_1_4_random_jumps_while_down_move_windows_by_the_recorded_gaps(
        steps in proptest::collection::vec(step(), 1..8),
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(async {
            let mut ledgerbox = Ledgerbox::open().await;
            let deal = Deal::opened(&ledgerbox, Until::Pending).await;
            let opened = deadline(&ledgerbox, &deal);
            for step in steps {
                let is_open = ledgerbox.ledger().world().interaction(deal.id()).is_some();
                if !is_open {
                    // It was up for longer than the window.
                    break;
                }
                let last_tick = ledgerbox.store.last_tick().await.unwrap().unwrap();
                let before = deadline(&ledgerbox, &deal);
                let known: u64 = gaps_ms(&ledgerbox).await.iter().sum();
                match step {
                    Step::Live { ms } => ledgerbox.advance_ms(ms).await,
                    Step::Down { ms } | Step::DownAndForward { ms } | Step::DownAndBack { ms } => {
                        ledgerbox.crash().await;
                        let wall = ledgerbox.now();
                        match step {
                            Step::DownAndForward { .. } => {
                                ledgerbox.clock.jump_wall_to(wall.saturating_add_ms(ms));
                            }
                            Step::DownAndBack { .. } => {
                                ledgerbox.clock.jump_wall_to(wall.saturating_sub_ms(ms));
                            }
                            Step::Live { .. } | Step::Down { .. } => ledgerbox.clock.advance_ms(ms),
                        }
                        ledgerbox.start().await.unwrap();
                    }
                }
                let gaps: u64 = gaps_ms(&ledgerbox).await.iter().sum();
                let now = ledgerbox.ledger().now();
                assert!(now >= last_tick);
                if let Some(live) = ledgerbox.ledger().world().interaction(deal.id()) {
                    let after = live.state.deadline().unwrap();
                    assert_eq!(after.since(before), gaps - known);
                    assert!(after >= before);
                    assert_eq!(after.since(opened), gaps);
                }
                assert_time_never_went_back(&ledgerbox).await;
            }
            ledgerbox.assert_log_adds_up().await;
        });
    }
}
