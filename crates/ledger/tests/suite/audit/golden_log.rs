//! The golden log with every event that a ledger of today writes into its first thousand records:
//! for whoever reads events and states without this code.

use std::collections::BTreeSet;

use super::bundles::signed;
use super::every_event::every_event;
use super::golden::is_golden;
use super::scene::{audit, exported_under, found};

/// Needs a log of another age or length, or a block: new rules, a thousand records, a draw among rounds.
const NEVER_HERE: [&str; 3] = ["cycle_drawn", "rules_changed", "state_root"];

async fn every_event_exported() -> (Vec<u8>, BTreeSet<&'static str>) {
    let ledgerbox = every_event().await;
    let types = ledgerbox.events().await.into_iter();
    let types = types.map(|(_, event)| event.type_name()).collect();
    let signed = signed(&ledgerbox, ledgerbox.records().await.len()).await;
    (exported_under(&ledgerbox, Some(&signed)).await, types)
}

/// `X811_VECTORS=write cargo nextest run -p x811-ledger --test suite golden` writes it anew.
#[tokio::test]
async fn golden_log_of_every_event_is_what_is_written() {
    let (log, types) = every_event_exported().await;
    assert_eq!(types.len() + NEVER_HERE.len(), 40, "{types:?}");
    assert_eq!(found(&audit(&log)), []);
    assert!(is_golden("bundle/log-every-event.x811", &log));
}
