//! Rows for readers that were changed by hand are named.

use serde_json::json;
use x811_audit::{Cause, Report};
use x811_ledger::port::ReadModel;
use x811_ledger::store_audit::audit_store;
use x811_protocol::stream::Subject;
use x811_protocol::time::TimestampMs;
use x811_world::row::{DeliveryRow, RowChange, StreamRow, SubjectRow};

use super::bundles::audited;
use super::deal::{Deal, Until};
use super::ledgerbox::Ledgerbox;
use super::member_rows::with_an_offer;
use super::scene::{found, settled_and_disputed};

/// What a hand does to a row.
type Change = fn(&mut SubjectRow);

async fn audit(ledgerbox: &Ledgerbox) -> Report {
    audited(ledgerbox).await
}

async fn write(ledgerbox: &Ledgerbox, change: RowChange) {
    let size = ledgerbox.rows.applied_size().await.unwrap();
    ledgerbox.rows.apply(size, size, &[change]).await.unwrap();
}

#[tokio::test]
async fn a_changed_row_is_named_with_its_field() {
    let ledgerbox = settled_and_disputed().await;
    Deal::opened(&ledgerbox, Until::Pending).await;
    let table: [(&str, Change); 8] = [
        ("read_model.state", |row| {
            row.state = "completed!".to_owned()
        }),
        ("read_model.deadline_at_ms", |row| {
            row.deadline_at_ms = Some(TimestampMs::new(7));
        }),
        ("read_model.opened_at_ms", |row| {
            row.opened_at_ms = TimestampMs::new(7)
        }),
        ("read_model.updated_at_ms", |row| {
            row.updated_at_ms = TimestampMs::new(7)
        }),
        ("read_model.last_position", |row| row.last_position += 1),
        ("read_model.initiator", |row| {
            row.members[0] = row.members[1]
        }),
        ("read_model.provider", |row| row.members[1] = row.members[0]),
        ("read_model.detail.code", |row| {
            row.detail["code"] = json!("X811-1001")
        }),
    ];
    let rows = ledgerbox.rows.rows().subjects;
    assert_eq!(rows.len(), 3);
    for row in rows.values() {
        for (field, change) in table {
            let mut changed = row.clone();
            change(&mut changed);
            write(&ledgerbox, changed.into()).await;
            let report = audit(&ledgerbox).await;
            let expected = [(row.last_position, field, Cause::ReadModelDiffers)];
            assert_eq!(found(&report), expected, "{}", row.state);
            let id = row.subject.id();
            assert!(report.findings[0].sentence.contains(&id));
        }
        write(&ledgerbox, row.clone().into()).await;
    }
    assert!(audit(&ledgerbox).await.is_clean());
}

#[tokio::test]
async fn a_changed_row_of_a_negotiation_is_named_with_its_field() {
    let ledgerbox = with_an_offer().await;
    let table: [(&str, Change); 5] = [
        ("read_model.members", |row| row.members.reverse()),
        ("read_model.state", |row| row.state = "agreed".to_owned()),
        ("read_model.deadline_at_ms", |row| row.deadline_at_ms = None),
        ("read_model.last_position", |row| row.last_position += 1),
        ("read_model.detail.turn", |row| {
            row.detail["turn"] = json!(9)
        }),
    ];
    let rows = ledgerbox.rows.rows().subjects;
    let is_contract = |row: &&SubjectRow| row.subject.contract().is_some();
    let row = rows.values().find(is_contract).unwrap();
    for (field, change) in table {
        let mut changed = row.clone();
        change(&mut changed);
        write(&ledgerbox, changed.into()).await;
        let report = audit(&ledgerbox).await;
        let expected = [(row.last_position, field, Cause::ReadModelDiffers)];
        assert_eq!(found(&report), expected);
        assert!(report.findings[0].sentence.starts_with("contract neg-"));
    }
    let mut left = ledgerbox.rows.rows();
    left.subjects.remove(&row.subject);
    ledgerbox.rows.set_rows(left);
    let report = audit(&ledgerbox).await;
    let expected = [(row.last_position, "read_model.row", Cause::ReadModelDiffers)];
    assert_eq!(found(&report), expected);
}

#[tokio::test]
async fn a_row_too_many_and_a_delivery_too_many_are_named() {
    let ledgerbox = settled_and_disputed().await;
    let rows = ledgerbox.rows.rows();
    let mut stranger = rows.subjects.values().next().unwrap().clone();
    let letter = ledgerbox.letter("x811/request", &ledgerbox.identity, json!({}));
    stranger.subject = Subject::Interaction(letter.id.into());
    let last_position = stranger.last_position;
    write(&ledgerbox, stranger.into()).await;
    let report = audit(&ledgerbox).await;
    assert_eq!(
        found(&report),
        [(last_position, "read_model.row", Cause::ReadModelDiffers)]
    );

    let delivery = *rows.deliveries.values().next().unwrap();
    let forged = DeliveryRow {
        position: delivery.position + 1,
        ..delivery
    };
    write(&ledgerbox, RowChange::Delivery(forged)).await;
    let fields: Vec<String> = audit(&ledgerbox)
        .await
        .findings
        .into_iter()
        .map(|finding| finding.field)
        .collect();
    for field in ["read_model.deliveries", "read_model.deliveries.envelope_id"] {
        assert!(fields.contains(&field.to_owned()), "{fields:?}");
    }
}

#[tokio::test]
async fn a_stream_listed_otherwise_is_named() {
    let ledgerbox = settled_and_disputed().await;
    let forged = RowChange::StreamRecord(StreamRow {
        stream: "ledger".to_owned(),
        stream_seq: 1,
        position: 0,
    });
    write(&ledgerbox, forged).await;
    let report = audit(&ledgerbox).await;
    assert_eq!(
        found(&report),
        [(0, "read_model.stream_records", Cause::ReadModelDiffers)]
    );
}

/// Rows that lag behind the log, as after a kill, are no fault of theirs.
#[tokio::test]
async fn rows_that_lag_are_counted_and_not_blamed() {
    let ledgerbox = settled_and_disputed().await;
    let size = ledgerbox.rows.applied_size().await.unwrap();
    for applied in [0, 5, size / 2, size - 1] {
        let rows = x811_ledger::memory::MemoryReadModel::new();
        rebuild(&ledgerbox, &rows, applied).await;
        let report = audit_store(&*ledgerbox.store, Some(&rows), None)
            .await
            .unwrap();
        assert_eq!(found(&report), [], "{applied}");
        let check = report.read_model.unwrap();
        assert_eq!(
            (check.applied_size, check.lag_records),
            (applied, size - applied)
        );
    }
}

/// Rows as they were after so many records.
async fn rebuild(ledgerbox: &Ledgerbox, rows: &x811_ledger::memory::MemoryReadModel, applied: u64) {
    let mut world = x811_world::World::empty();
    let mut changes = Vec::new();
    for (record, event) in ledgerbox.events().await.into_iter().take(applied as usize) {
        let touched = world.apply(&record, &event).unwrap();
        changes.extend(x811_world::projection::changes(
            &world, &record, &event, &touched,
        ));
    }
    rows.apply(0, applied, &changes).await.unwrap();
}

/// Somebody cuts the log off and mends the tree: the rows remember more.
#[tokio::test]
async fn promise_4_a_log_shorter_than_its_rows_is_named() {
    let ledgerbox = settled_and_disputed().await;
    let store = x811_ledger::memory::MemoryStore::new();
    let mut records = ledgerbox.records().await;
    records.pop();
    let size = records.len() as u64;
    let mut tree = x811_eventlog::Frontier::new();
    records.iter().for_each(|record| tree.push(record.hash()));
    let commit = x811_ledger::port::Commit {
        records,
        frontier: tree.to_bytes(),
        ..x811_ledger::port::Commit::default()
    };
    x811_ledger::port::LedgerStore::commit(&store, commit)
        .await
        .unwrap();
    let report = audit_store(&store, Some(&*ledgerbox.rows), None)
        .await
        .unwrap();
    assert_eq!(
        found(&report),
        [(size, "read_model.applied_size", Cause::Missing)]
    );
}
