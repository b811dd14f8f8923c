//! Rows follow the log by position and are read back as they were.

use serde_json::json;
use tempfile::TempDir;
use x811_eventlog::AppendError;
use x811_ledger::port::ReadModel;
use x811_ledger::row::{DeliveryRow, InteractionRow, RowChange, StreamRow};
use x811_protocol::id::InteractionId;
use x811_protocol::money::MicroUsdc;
use x811_protocol::time::TimestampMs;

use super::sample::{did, envelope_id};
use crate::{SqliteReadModel, StoreError};

async fn empty() -> (TempDir, SqliteReadModel) {
    let directory = TempDir::new().unwrap();
    let read_model = SqliteReadModel::open(directory.path()).await.unwrap();
    (directory, read_model)
}

fn interaction(n: u64, state: &str) -> InteractionRow {
    InteractionRow {
        id: InteractionId::from(envelope_id(n)),
        initiator: did(1),
        provider: did(2),
        state: state.to_owned(),
        total: None,
        deadline_at_ms: None,
        opened_at_ms: TimestampMs::new(1_000 + n),
        updated_at_ms: TimestampMs::new(2_000 + n),
        last_position: n,
        detail: json!({ "n": n, "text": "é \u{0}'\"" }),
    }
}

fn delivery(recipient: u8, position: u64) -> DeliveryRow {
    DeliveryRow {
        recipient: did(recipient),
        position,
        envelope_id: envelope_id(position),
    }
}

fn stream_record(stream: &str, stream_seq: u64, position: u64) -> RowChange {
    RowChange::StreamRecord(StreamRow {
        stream: stream.to_owned(),
        stream_seq,
        position,
    })
}

fn changed(row: InteractionRow) -> RowChange {
    row.into()
}

#[tokio::test]
async fn rows_are_read_back_as_they_were() {
    let (_directory, read_model) = empty().await;
    assert_eq!(read_model.applied_size().await.unwrap(), 0);
    let full = InteractionRow {
        total: Some(MicroUsdc::MAX),
        deadline_at_ms: Some(TimestampMs::MAX),
        ..interaction(2, "offered")
    };
    let bare = interaction(1, "pending");
    let changes = vec![
        changed(interaction(2, "pending")),
        changed(full.clone()),
        changed(bare.clone()),
    ];
    read_model.apply(0, 3, &changes).await.unwrap();

    assert_eq!(read_model.applied_size().await.unwrap(), 3);
    for row in [&full, &bare] {
        let read = read_model.interaction(row.id).await.unwrap();
        assert_eq!(read.as_ref(), Some(row));
    }
    let absent = InteractionId::from(envelope_id(9));
    assert_eq!(read_model.interaction(absent).await.unwrap(), None);

    let later = interaction(1, "rejected");
    read_model
        .apply(3, 4, &[changed(later.clone())])
        .await
        .unwrap();
    let read = read_model.interaction(later.id).await.unwrap();
    assert_eq!(read, Some(later), "the later row replaces the earlier one");
}

#[tokio::test]
async fn interactions_come_in_order_of_id_by_pages() {
    let (_directory, read_model) = empty().await;
    let rows: Vec<_> = (0..5).map(|n| interaction(n, "pending")).collect();
    let changes: Vec<_> = rows.iter().rev().cloned().map(changed).collect();
    read_model.apply(0, 5, &changes).await.unwrap();
    assert_eq!(read_model.interactions(None, 9).await.unwrap(), rows);
    assert_eq!(read_model.interactions(None, 0).await.unwrap(), []);
    let page = read_model.interactions(Some(rows[1].id), 2).await.unwrap();
    assert_eq!(page, rows[2..4]);
    let rest = read_model.interactions(Some(rows[4].id), 2).await.unwrap();
    assert_eq!(rest, []);
}

/// Promise 7: a mailbox holds what was sent to its owner, and nothing else.
#[tokio::test]
async fn deliveries_come_by_recipient_in_order_of_position() {
    let (_directory, read_model) = empty().await;
    let changes = [(1, 4), (2, 1), (1, 0), (1, 9)]
        .map(|(recipient, position)| RowChange::Delivery(delivery(recipient, position)));
    read_model.apply(0, 10, &changes).await.unwrap();
    let all = read_model.deliveries(did(1), 0, 9).await.unwrap();
    assert_eq!(all, [delivery(1, 0), delivery(1, 4), delivery(1, 9)]);
    let page = read_model.deliveries(did(1), 1, 1).await.unwrap();
    assert_eq!(page, [delivery(1, 4)]);
    assert_eq!(
        read_model.deliveries(did(2), 0, 9).await.unwrap(),
        [delivery(2, 1)]
    );
    for (recipient, from_position) in [(1, 10), (1, u64::MAX), (3, 0)] {
        let none = read_model
            .deliveries(did(recipient), from_position, 9)
            .await;
        assert_eq!(none.unwrap(), []);
    }
}

#[tokio::test]
async fn stream_positions_come_in_order_of_the_stream() {
    let (_directory, read_model) = empty().await;
    let changes = vec![
        stream_record("a", 0, 2),
        stream_record("b", 0, 3),
        stream_record("a", 1, 4),
        stream_record("a", 2, 7),
    ];
    read_model.apply(0, 8, &changes).await.unwrap();
    let cases: [(&str, u64, usize, &[u64]); 6] = [
        ("a", 0, 9, &[2, 4, 7]),
        ("a", 1, 1, &[4]),
        ("a", 3, 9, &[]),
        ("a", u64::MAX, 9, &[]),
        ("b", 0, 9, &[3]),
        ("c", 0, 9, &[]),
    ];
    for (stream, from_seq, limit, expected) in cases {
        let positions = read_model.stream_positions(stream, from_seq, limit).await;
        assert_eq!(positions.unwrap(), expected, "{stream} from {from_seq}");
    }
}

/// Positions by stream, from pages of `limit` records.
async fn listed(rows: &impl ReadModel, limit: usize) -> Vec<(String, Vec<u64>)> {
    let (mut listed, mut after) = (Vec::<(String, Vec<u64>)>::new(), None);
    loop {
        let page = rows.stretches(after.clone(), limit).await.unwrap();
        let records: usize = page.iter().map(|stretch| stretch.positions.len()).sum();
        assert!(records <= limit);
        let Some(last) = page.last() else {
            return listed;
        };
        after = Some((last.stream.clone(), last.last_seq));
        for stretch in page {
            match listed
                .last_mut()
                .filter(|(name, _)| *name == stretch.stream)
            {
                Some((_, positions)) => positions.extend(stretch.positions),
                None => listed.push((stretch.stream, stretch.positions)),
            }
        }
    }
}

#[tokio::test]
async fn stretches_list_every_stream_whatever_the_page() {
    let (_directory, read_model) = empty().await;
    let in_memory = x811_ledger::memory::MemoryReadModel::new();
    let places = [
        ("b", 0, 3),
        ("a", 0, 2),
        ("é", 0, 5),
        ("a", 1, 4),
        ("a", 2, 17),
        ("a", 10, 6),
    ];
    let changes: Vec<RowChange> = places
        .into_iter()
        .map(|(stream, seq, position)| stream_record(stream, seq, position))
        .collect();
    read_model.apply(0, 18, &changes).await.unwrap();
    in_memory.apply(0, 18, &changes).await.unwrap();
    let expected: Vec<(String, Vec<u64>)> = vec![
        ("a".to_owned(), vec![2, 4, 17, 6]),
        ("b".to_owned(), vec![3]),
        ("é".to_owned(), vec![5]),
    ];
    for limit in [1, 2, 3, 9] {
        assert_eq!(listed(&read_model, limit).await, expected, "{limit}");
        assert_eq!(listed(&in_memory, limit).await, expected, "{limit}");
    }
}

#[tokio::test]
async fn changes_out_of_order_or_twice_are_refused_whole() {
    let (_directory, read_model) = empty().await;
    read_model.apply(0, 4, &[]).await.unwrap();
    for (old_size, new_size) in [(0, 4), (3, 5), (5, 6), (4, 3)] {
        let changes = vec![changed(interaction(1, "pending"))];
        let error = read_model
            .apply(old_size, new_size, &changes)
            .await
            .unwrap_err();
        let AppendError::Backend(source) = &error else {
            panic!("{error:?}");
        };
        assert!(
            matches!(
                source.downcast_ref(),
                Some(StoreError::NotNext {
                    applied_size: 4,
                    ..
                })
            ),
            "{source:?}"
        );
    }
    // The second delivery is the first one again: the interaction does not stay either.
    let changes = vec![
        changed(interaction(1, "pending")),
        RowChange::Delivery(delivery(1, 4)),
        RowChange::Delivery(delivery(1, 4)),
    ];
    read_model.apply(4, 5, &changes).await.unwrap_err();
    assert_eq!(read_model.applied_size().await.unwrap(), 4);
    assert_eq!(read_model.interactions(None, 9).await.unwrap(), []);
}

#[tokio::test]
async fn rows_survive_reopening_and_can_be_thrown_away() {
    let (directory, read_model) = empty().await;
    let row = interaction(1, "pending");
    read_model
        .apply(0, 2, &[changed(row.clone())])
        .await
        .unwrap();
    read_model.close().await;

    let read_model = SqliteReadModel::open(directory.path()).await.unwrap();
    assert_eq!(read_model.applied_size().await.unwrap(), 2);
    let beside = SqliteReadModel::open_read_only(directory.path())
        .await
        .unwrap();
    assert_eq!(beside.interaction(row.id).await.unwrap(), Some(row));
    beside.close().await;
    read_model.close().await;

    SqliteReadModel::remove(directory.path()).unwrap();
    SqliteReadModel::remove(directory.path()).unwrap();
    let read_model = SqliteReadModel::open(directory.path()).await.unwrap();
    assert_eq!(read_model.applied_size().await.unwrap(), 0);
    assert_eq!(read_model.interactions(None, 9).await.unwrap(), []);
}
