//! Rows follow the log by position and are read back as they were.

use serde_json::json;
use tempfile::TempDir;
use x811_eventlog::AppendError;
use x811_ledger::port::ReadModel;
use x811_protocol::id::InteractionId;
use x811_protocol::stream::Subject;
use x811_protocol::time::TimestampMs;
use x811_world::row::{DeliveryRow, RowChange, SubjectRow};

use super::sample::{did, envelope_id};
use crate::{ReadRows, StoreError};

async fn empty() -> (TempDir, ReadRows) {
    let directory = TempDir::new().unwrap();
    let read_model = ReadRows::open(directory.path()).await.unwrap();
    (directory, read_model)
}

fn interaction(n: u64, state: &str) -> SubjectRow {
    SubjectRow {
        subject: Subject::Interaction(InteractionId::from(envelope_id(n))),
        state: state.to_owned(),
        members: vec![did(1), did(2)],
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

fn changed(row: SubjectRow) -> RowChange {
    row.into()
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
    assert_eq!(
        read_model
            .subjects("interaction", None, None, 9)
            .await
            .unwrap(),
        []
    );
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

    let read_model = ReadRows::open(directory.path()).await.unwrap();
    assert_eq!(read_model.applied_size().await.unwrap(), 2);
    let beside = ReadRows::open_read_only(directory.path()).await.unwrap();
    assert_eq!(beside.subject(row.subject).await.unwrap(), Some(row));
    beside.close().await;
    read_model.close().await;

    ReadRows::remove(directory.path()).unwrap();
    ReadRows::remove(directory.path()).unwrap();
    let read_model = ReadRows::open(directory.path()).await.unwrap();
    assert_eq!(read_model.applied_size().await.unwrap(), 0);
    assert_eq!(
        read_model
            .subjects("interaction", None, None, 9)
            .await
            .unwrap(),
        []
    );
}
