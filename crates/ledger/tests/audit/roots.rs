//! Roots of all states: a log holds one at every thousandth place, and whoever replays it comes to
//! the same.

use crate::deal::{Deal, Until};
use crate::ledgerbox::Ledgerbox;
use crate::scene::{Parts, audit, causes_at, exported, found};
use serde_json::json;
use std::sync::Arc;
use x811_eventlog::Record;
use x811_ledger::audit::{Cause, FactCounts};
use x811_ledger::export::{Item, Reader};
use x811_ledger::memory::{MemoryReadModel, MemoryStore};
use x811_ledger::port::{Commit, LedgerStore as _};
use x811_ledger::snapshot::MemorySnapshots;
use x811_ledger::stream::Stream;
use x811_ledger::world::World;
use x811_protocol::digest::Digest;
use x811_protocol::event::Event;

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

/// Puts another log in the place of the ledger's, and starts it there.
async fn start_on(ledgerbox: &mut Ledgerbox, export: &[u8]) {
    ledgerbox.crash().await;
    ledgerbox.store = Arc::new(MemoryStore::new());
    ledgerbox.rows = Arc::new(MemoryReadModel::new());
    ledgerbox.snapshots = Arc::new(MemorySnapshots::new());
    let records: Vec<Record> = Reader::new(export)
        .filter_map(|item| match item.unwrap() {
            Item::Record(line) => Some(Record::parse(line.leaf).unwrap()),
            Item::Header(_)
            | Item::Checkpoint(_)
            | Item::Keys(_)
            | Item::End(_)
            | Item::Trailer { .. } => None,
        })
        .collect();
    for records in records.chunks(100) {
        let commit = Commit {
            expected_size: records[0].position(),
            records: records.to_vec(),
            ..Commit::default()
        };
        ledgerbox.store.commit(commit).await.unwrap();
    }
    ledgerbox.start().await.unwrap();
}

/// Computed from the worlds alone, by another writer of RFC 8785.
fn root_by_hand(world: &World, stream: &Stream, before: Digest) -> Digest {
    let state = match stream {
        Stream::Ledger => json!({
            "parameters": world.parameters().map(|(position, _)| position),
            "rules_version": world.rules_version(),
        }),
        Stream::Network(name) => {
            json!({ "blind_since_ms": world.sight(name).and_then(|sight| sight.blind_since) })
        }
        Stream::Agent(did) | Stream::Mail(did) => {
            serde_json::to_value(&**world.agent(*did).unwrap()).unwrap()
        }
        Stream::Interaction(id) => serde_json::to_value(&world.latest(*id).unwrap().state).unwrap(),
        Stream::Roots => return before,
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
                (record.position(), 1)
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

    // Another form of states cannot be computed again, and that is said. What follows rests on it.
    let mut parts = Parts::of(bytes);
    *parts.records[first].member("/schema") = json!(2);
    let report = audit(&parts.clone().rehashed());
    assert_eq!(found(&report), []);
    let taken = FactCounts {
        proven: 1,
        asserted: 1,
        broken: 0,
    };
    assert_eq!(report.state_roots, taken);
    *parts.records[first].member("/root") = json!("ab".repeat(32));
    let report = audit(&parts.rehashed());
    let second = first + EVERY;
    let differs = (second as u64, "event", Cause::StateDiffers);
    assert_eq!(found(&report), [differs]);

    // Left out, all of them.
    let mut parts = Parts::of(bytes);
    parts
        .records
        .retain(|kept| kept.event_type() != "state_root");
    let report = audit(&parts.rehashed());
    assert_eq!(causes_at(&report, first as u64), [Cause::ReDecisionDiffers]);
}

/// What a newer version of the ledger wrote stays in the log; the older one takes it and goes on.
#[tokio::test]
async fn rec_4_after_a_root_of_another_schema_roots_are_recorded_again() {
    let mut ledgerbox = Ledgerbox::open().await;
    write(&ledgerbox, EVERY).await;
    let mut parts = Parts::of(&exported(&ledgerbox).await);
    let foreign = EVERY - 1;
    *parts.records[foreign].member("/schema") = json!(2);
    *parts.records[foreign].member("/root") = json!("ab".repeat(32));

    start_on(&mut ledgerbox, &parts.rehashed()).await;
    write(&ledgerbox, EVERY / 2).await;
    ledgerbox.restart().await;
    write(&ledgerbox, EVERY / 2).await;
    let report = audit(&exported(&ledgerbox).await);
    assert_eq!(found(&report), []);
    let taken = FactCounts {
        proven: 1,
        asserted: 1,
        broken: 0,
    };
    assert_eq!(report.state_roots, taken, "of {} records", report.records);
}
