//! Back-pressure: what cannot be taken is refused at once, and nothing queues up without bound.

use super::deal::{Deal, Until};
use super::ledgerbox::Ledgerbox;
use serde_json::json;
use x811_protocol::code::Code;
use x811_protocol::event::{Event, LedgerEvent};

/// Commits that the rows may lag behind.
const ROWS_LAG_COMMITS: u64 = 256;

#[tokio::test]
async fn lc_1_rows_that_are_stuck_are_seen_and_refuse_instead_of_blocking() {
    let ledgerbox = Ledgerbox::open().await;
    let mut deal = Deal::opened(&ledgerbox, Until::Pending).await;
    ledgerbox.settle().await;
    assert_eq!(ledgerbox.ledger().rows_lag(), 0);
    ledgerbox.rows.set_stuck(true);
    let mail = || {
        let (from, to) = (&deal.provider, &deal.initiator);
        ledgerbox.seal(from, "x811.ext/a", to, json!({}))
    };
    // One more, because the projector has taken the first from the queue.
    for _ in 0..=ROWS_LAG_COMMITS {
        ledgerbox.accept(&mail()).await;
    }
    assert!(!ledgerbox.ledger().readiness().rows_stuck);
    let over = mail();
    let refusal = ledgerbox.refuse(&over).await;
    assert_eq!(refusal.code, Code::RateLimitExceeded);
    assert_eq!(refusal.retry_after_ms, Some(1_000));
    assert!(ledgerbox.ledger().readiness().rows_stuck);
    assert_eq!(ledgerbox.ledger().rows_lag(), ROWS_LAG_COMMITS + 1);
    // A minute passes in which nobody can be in time: it counts as downtime.
    for _ in 0..60 {
        ledgerbox.advance_ms(1_000).await;
    }
    ledgerbox.rows.set_stuck(false);
    for _ in 0..12 {
        ledgerbox.advance_ms(500).await;
    }
    assert!(!ledgerbox.ledger().readiness().rows_stuck);
    ledgerbox.accept(&over).await;
    let offer = deal.offer(&ledgerbox);
    ledgerbox.accept(&offer).await;
    let resumed = ledgerbox.events().await.into_iter();
    let gap_ms: u64 = resumed
        .filter_map(|(_, event)| match event {
            Event::Ledger(LedgerEvent::Resumed(resumed)) => Some(resumed.gap_ms),
            _ => None,
        })
        .sum();
    assert!(gap_ms >= 60_000, "{gap_ms}");
    ledgerbox.assert_log_adds_up().await;
    assert_eq!(ledgerbox.ledger().rows_lag(), 0);
}
