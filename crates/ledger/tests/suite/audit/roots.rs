//! Roots of all states: a log holds one at every thousandth place, and whoever replays it comes to
//! the same.

use super::deal::{Deal, Until};
use super::ledgerbox::Ledgerbox;
use super::scene::{Parts, audit, causes_at, exported, found};
use super::states::state_of;
use serde_json::json;
use x811_audit::{Cause, FactCounts};
use x811_protocol::digest::Digest;
use x811_protocol::event::Event;
use x811_protocol::rules::Rules;
use x811_protocol::stream::Stream;
use x811_world::World;

const EVERY: usize = 1_000;

/// A log with two roots: a deal, mail, and another deal.
async fn long() -> Ledgerbox {
    let ledgerbox = Ledgerbox::open().await;
    write(&ledgerbox, 2 * EVERY).await;
    Deal::opened(&ledgerbox, Until::Offered).await;
    ledgerbox
}

/// A deal, and letters.
async fn write(ledgerbox: &Ledgerbox, letters: usize) {
    let deal = Deal::opened(ledgerbox, Until::Verified).await;
    let (from, to) = (deal.initiator.clone(), deal.provider.clone());
    for number in 0..letters {
        let payload = json!({ "number": number });
        let letter = ledgerbox.seal(&from, "x811.test/hello", &to, payload);
        ledgerbox.accept(&letter).await;
        ledgerbox.advance_ms(100).await;
    }
}

/// Computed from the worlds alone, by another writer of RFC 8785.
fn root_by_hand(world: &World, stream: &Stream, before: Digest) -> Digest {
    let Some(state) = state_of(world, stream) else {
        return before;
    };
    let state = Digest::of(&serde_jcs::to_vec(&state).unwrap());
    let name = stream.to_string();
    Digest::of_parts(&[before.as_bytes(), name.as_bytes(), state.as_bytes()])
}

#[tokio::test]
async fn rec_4_every_thousandth_record_is_the_root_of_all_states() {
    let ledgerbox = long().await;
    let (mut world, mut root) = (World::empty(), Digest::from_bytes([0; 32]));
    let mut roots = 0;
    for (record, event) in ledgerbox.events().await {
        let is_due = (record.position() + 1).is_multiple_of(EVERY as u64);
        if let Event::StateRoot(recorded) = &event {
            assert_eq!(recorded.root, root);
            assert_eq!(
                (recorded.position + 1, recorded.schema),
                (record.position(), Rules::LATEST.schema())
            );
            roots += 1;
        }
        assert_eq!(is_due, matches!(event, Event::StateRoot(_)));
        world.apply(&record, &event).unwrap();
        root = root_by_hand(&world, &record.stream().parse().unwrap(), root);
    }
    assert_eq!(roots, 2);

    let bytes = exported(&ledgerbox).await;
    let report = audit(&bytes);
    assert_eq!(found(&report), []);
    let proven = FactCounts {
        proven: 2,
        ..FactCounts::default()
    };
    assert_eq!(report.state_roots, proven);
    roots_are_checked(&bytes);
}

fn roots_are_checked(bytes: &[u8]) {
    let first = EVERY - 1;
    let mut parts = Parts::of(bytes);
    *parts.records[first].member("/root") = json!("ab".repeat(32));
    let report = audit(&parts.rehashed());
    assert_eq!(causes_at(&report, first as u64), [Cause::StateDiffers]);
    assert_eq!(report.state_roots.broken, 1);

    let mut parts = Parts::of(bytes);
    *parts.records[first].member("/position") = json!(first);
    let report = audit(&parts.rehashed());
    assert_eq!(causes_at(&report, first as u64), [Cause::StateDiffers]);

    // Every version of the rules has its own form of states.
    for schema in [1, 3] {
        let mut parts = Parts::of(bytes);
        *parts.records[first].member("/schema") = json!(schema);
        let report = audit(&parts.rehashed());
        assert_eq!(causes_at(&report, first as u64), [Cause::StateDiffers]);
    }

    // Left out, all of them.
    let mut parts = Parts::of(bytes);
    parts
        .records
        .retain(|kept| kept.event_type() != "state_root");
    let report = audit(&parts.rehashed());
    assert_eq!(causes_at(&report, first as u64), [Cause::ReDecisionDiffers]);
}
