//! A page at a time on many threads, or an item at a time on one: the report is the same. And what
//! both rest on: a record that is refused leaves the world as it was.

use std::sync::{Arc, Mutex};

use serde_json::json;
use x811_audit::export::Reader;
use x811_audit::{ExportAudit, Options, Report, audit_export_in_pages};
use x811_eventlog::{Draft, Record};
use x811_ledger::store_audit::audit_store;
use x811_protocol::event::Event;
use x811_world::World;

use super::scene::{Kept, Parts, exported, settled_and_disputed};

/// Item by item, on this thread.
fn one_by_one(bytes: &[u8]) -> Report {
    let mut audit = ExportAudit::new(None);
    for item in Reader::new(bytes) {
        audit.take(item).unwrap();
    }
    audit.finish()
}

/// Faults of every kind, spread over the whole log.
fn faulty(parts: &Parts) -> Vec<(&'static str, Vec<u8>)> {
    let everywhere = |change: &dyn Fn(usize, &mut Kept)| {
        let mut parts = parts.clone();
        let records = parts.records.iter_mut().enumerate();
        records.for_each(|(index, kept)| change(index, kept));
        parts
    };
    let facts = everywhere(&|_, kept| {
        if kept.message_type() == "x811/verify" {
            *kept.member("/facts/result_hash") = json!("a".repeat(64));
        } else if kept.message_type() == "x811.registry/register" {
            *kept.member("/capabilities") = json!(["more"]);
        }
    });
    let unreadable = everywhere(&|index, kept| {
        if index % 5 == 4 {
            *kept.member("/type") = json!("nobody_knows");
        }
    });
    let bodies = everywhere(&|index, kept| {
        if let Some(body) = kept.body.as_mut().filter(|_| index % 3 == 0) {
            body.reverse();
        }
    });
    let bytes = everywhere(&|index, kept| {
        if index % 4 == 1 {
            let middle = kept.leaf.len() / 2;
            kept.leaf[middle] ^= 1;
        }
    });
    let mut missing = parts.clone();
    missing.records.retain(|kept| kept.draft.stream_seq != 2);
    let mut order = parts.clone();
    order.records.chunks_mut(4).for_each(|four| four.reverse());
    let mut twice = parts.clone();
    twice.records = twice
        .records
        .iter()
        .flat_map(|kept| [kept.clone(), kept.clone()])
        .collect();
    // A page holds batches of signatures then, with one bad one in each.
    let mut signatures = parts.clone();
    signatures.records = (0..8).flat_map(|_| parts.records.clone()).collect();
    let count = signatures.records.len();
    for index in [count / 3, count * 2 / 3] {
        let is_signed = |kept: &&mut Kept| kept.draft.event.get("envelope").is_some();
        let signed = signatures.records[index..].iter_mut().find(is_signed);
        *signed.unwrap().member("/envelope/digest") = json!("b".repeat(64));
    }
    let cut = parts.joined();
    vec![
        ("facts", facts.rehashed()),
        ("unreadable", unreadable.rehashed()),
        ("bodies", bodies.joined()),
        ("bytes", bytes.joined()),
        ("missing", missing.joined()),
        ("missing, rehashed", missing.rehashed()),
        ("order", order.joined()),
        ("twice", twice.joined()),
        ("signatures", signatures.rehashed()),
        ("cut", cut[..cut.len() * 2 / 3].to_vec()),
    ]
}

#[tokio::test]
async fn promise_4_a_report_depends_on_neither_page_size_nor_threads() {
    let ledgerbox = settled_and_disputed().await;
    let parts = Parts::of(&exported(&ledgerbox).await);
    for (name, bytes) in faulty(&parts) {
        let expected = one_by_one(&bytes);
        let positions = expected.findings.iter().map(|finding| finding.position);
        let positions: std::collections::BTreeSet<u64> = positions.collect();
        assert!(name == "cut" || positions.len() > 1, "{name}");
        for threads in [1, 2, 5] {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads);
            pool.build().unwrap().install(|| {
                for page_items in [1, 2, 3, 7, 10_000] {
                    let report = audit_export_in_pages(&bytes[..], None, page_items).unwrap();
                    assert_eq!(report, expected, "{name}: {threads} {page_items}");
                }
            });
        }
    }
}

/// What is wrong with an event is told of its members, wherever its text stands.
#[tokio::test]
async fn an_unreadable_event_is_told_without_its_column() {
    let ledgerbox = settled_and_disputed().await;
    let mut parts = Parts::of(&exported(&ledgerbox).await);
    let last = parts.records.len() - 1;
    *parts.records[last].member("/type") = json!("nobody_knows");
    let report = one_by_one(&parts.rehashed());
    let finding = &report.findings[0];
    assert_eq!(
        (finding.position, finding.field.as_str()),
        (last as u64, "event")
    );
    assert!(
        finding.sentence.contains("`nobody_knows`"),
        "{}",
        finding.sentence
    );
    assert!(!finding.sentence.contains("column"), "{}", finding.sentence);
}

/// `record` as it would follow the world, if the rules allowed it.
fn sealed_behind(world: &World, record: &Record) -> Record {
    let stream = record.stream().parse().unwrap();
    let draft = Draft {
        recorded_at_ms: record.recorded_at_ms(),
        stream: record.stream().to_owned(),
        stream_seq: world
            .next_seq(&stream)
            .unwrap_or_else(|| record.stream_seq()),
        event: record.event().clone(),
    };
    Record::seal(world.head().size, world.head().hash, draft).unwrap()
}

#[tokio::test]
async fn lc_1_a_refused_record_leaves_the_world_as_it_was() {
    let ledgerbox = settled_and_disputed().await;
    let parts = Parts::of(&exported(&ledgerbox).await);
    let read = |kept: &Kept| {
        let record = Record::parse(kept.leaf.clone()).unwrap();
        let event = Event::from_json(record.event_json()).unwrap();
        (record, event)
    };
    let log: Vec<(Record, Event)> = parts.records.iter().map(read).collect();
    let (mut world, mut refused) = (World::empty(), 0);
    for (next, event) in &log {
        for (other, event) in &log {
            let before = format!("{world:?}");
            let mut tried = world.clone();
            if tried.apply(&sealed_behind(&world, other), event).is_err() {
                refused += 1;
                assert_eq!(format!("{tried:?}"), before, "{other:?}");
            }
        }
        world.apply(next, event).unwrap();
    }
    assert!(refused > log.len(), "{refused}");
}

#[tokio::test]
async fn who_waits_is_told_how_far_it_is() {
    let ledgerbox = settled_and_disputed().await;
    let told = Arc::new(Mutex::new(Vec::new()));
    let heard = told.clone();
    let options = Options {
        on_progress: Some(Arc::new(move |done, total| {
            heard.lock().unwrap().push((done, total));
        })),
        ..Options::default()
    };
    let report = audit_store(&*ledgerbox.store, Some(&*ledgerbox.rows), options).await;
    let records = report.unwrap().records;
    let told = told.lock().unwrap().clone();
    assert!(told.is_sorted(), "{told:?}");
    assert!(told.iter().all(|(_, total)| *total == records), "{told:?}");
    assert_eq!(told.last(), Some(&(records, records)));
}
