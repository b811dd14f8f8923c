//! Rows follow the log by position and are read back as they were.

use super::sample::{did, envelope_id};
use super::{Places, RowsPlace};
use crate::port::ReadModel;
use serde_json::json;
use x811_protocol::id::{ContractId, InteractionId};
use x811_protocol::stream::Subject;
use x811_protocol::time::TimestampMs;
use x811_world::row::{DeliveryRow, MemberRow, RowChange, StreamRow, SubjectRow};

fn interaction(n: u64, state: &str) -> SubjectRow {
    SubjectRow {
        subject: interaction_id(n),
        state: state.to_owned(),
        members: vec![did(1), did(2)],
        deadline_at_ms: None,
        opened_at_ms: TimestampMs::new(1_000 + n),
        updated_at_ms: TimestampMs::new(2_000 + n),
        last_position: n,
        detail: json!({ "n": n, "text": "é \u{0}'\"" }),
    }
}

fn interaction_id(n: u64) -> Subject {
    Subject::Interaction(InteractionId::from(envelope_id(n)))
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

/// A row is read back with every value it had; a later one replaces it.
pub async fn rows_are_read_back_as_they_were<P: RowsPlace>(places: &impl Places<Place = P>) {
    let place = places.open().await;
    let rows = place.rows();
    assert_eq!(rows.applied_size().await.unwrap(), 0);
    let full = SubjectRow {
        deadline_at_ms: Some(TimestampMs::MAX),
        ..interaction(2, "offered")
    };
    let bare = interaction(1, "pending");
    let changes = [interaction(2, "pending"), full.clone(), bare.clone()].map(RowChange::from);
    rows.apply(0, 3, &changes).await.unwrap();
    assert_eq!(rows.applied_size().await.unwrap(), 3);
    for row in [&full, &bare] {
        let read = rows.subject(row.subject).await.unwrap();
        assert_eq!(read.as_ref(), Some(row));
    }
    let absent = interaction_id(9);
    assert_eq!(rows.subject(absent).await.unwrap(), None);
    let later = interaction(1, "rejected");
    let changes = [later.clone().into()];
    rows.apply(3, 4, &changes).await.unwrap();
    assert_eq!(rows.subject(later.subject).await.unwrap(), Some(later));
}

/// Pages of one kind are in order of id, begin after the subject that is named, and have no other kind.
pub async fn subjects_come_in_order_of_id<P: RowsPlace>(places: &impl Places<Place = P>) {
    let place = places.open().await;
    let rows = place.rows();
    let all: Vec<_> = (0..5).map(|n| interaction(n, "pending")).collect();
    let mut changes: Vec<_> = all.iter().rev().cloned().map(RowChange::from).collect();
    changes.push(RowChange::Subject(Box::new(subject(3, &[1]))));
    rows.apply(0, 5, &changes).await.unwrap();
    for (after, limit, due) in [
        (None, 9, &all[..]),
        (None, 0, &[]),
        (Some(all[1].subject), 2, &all[2..4]),
        (Some(all[4].subject), 2, &[]),
    ] {
        let page = rows
            .subjects("interaction", None, after, limit)
            .await
            .unwrap();
        assert_eq!(page, due, "after {after:?}");
    }
}

/// A mailbox holds what was sent to its owner, in order, and nothing else.
pub async fn deliveries_come_by_recipient_in_order<P: RowsPlace>(places: &impl Places<Place = P>) {
    let place = places.open().await;
    let rows = place.rows();
    let changes = [(1, 4), (2, 1), (1, 0), (1, 9)]
        .map(|(recipient, position)| RowChange::Delivery(delivery(recipient, position)));
    rows.apply(0, 10, &changes).await.unwrap();
    for (recipient, from, limit, due) in [
        (1, 0, 9, &[0, 4, 9][..]),
        (1, 1, 1, &[4]),
        (2, 0, 9, &[1]),
        (1, 10, 9, &[]),
        (1, u64::MAX, 9, &[]),
        (3, 0, 9, &[]),
    ] {
        let found = rows.deliveries(did(recipient), from, limit).await.unwrap();
        let due: Vec<_> = due.iter().map(|at| delivery(recipient, *at)).collect();
        assert_eq!(found, due, "{recipient} from {from}");
    }
}

/// Every stream is listed once, in order of name and place, whatever the page; and by itself too.
pub async fn streams_are_listed_whatever_the_page<P: RowsPlace>(places: &impl Places<Place = P>) {
    let place = places.open().await;
    let rows = place.rows();
    let changes = [
        ("b", 0, 3),
        ("a", 0, 2),
        ("é", 0, 5),
        ("a", 1, 4),
        ("a", 2, 17),
        ("a", 10, 6),
    ]
    .map(|(stream, seq, position)| stream_record(stream, seq, position));
    rows.apply(0, 18, &changes).await.unwrap();
    let due = [
        ("a".to_owned(), vec![2, 4, 17, 6]),
        ("b".to_owned(), vec![3]),
        ("é".to_owned(), vec![5]),
    ];
    for limit in [1, 2, 3, 9] {
        assert_eq!(listed(rows, limit).await, due, "{limit}");
    }
    for (stream, from, limit, due) in [
        ("a", 0, 9, &[2, 4, 17, 6][..]),
        ("a", 1, 1, &[4]),
        ("a", 11, 9, &[]),
        ("a", u64::MAX, 9, &[]),
        ("c", 0, 9, &[]),
    ] {
        let positions = rows.stream_positions(stream, from, limit).await;
        assert_eq!(positions.unwrap(), due, "{stream} from {from}");
    }
}

/// Positions by stream, from pages of `limit` records.
async fn listed(rows: &impl ReadModel, limit: usize) -> Vec<(String, Vec<u64>)> {
    let (mut listed, mut after) = (Vec::<(String, Vec<u64>)>::new(), None);
    loop {
        let page = rows.stretches(after, limit).await.unwrap();
        let records: usize = page.iter().map(|stretch| stretch.positions.len()).sum();
        assert!(records <= limit);
        let Some(last) = page.last() else {
            return listed;
        };
        after = Some((last.stream.clone(), last.last_seq));
        for stretch in page {
            let last = listed.last_mut();
            match last.filter(|(name, _)| *name == stretch.stream) {
                Some((_, positions)) => positions.extend(stretch.positions),
                None => listed.push((stretch.stream, stretch.positions)),
            }
        }
    }
}

fn subject(n: u64, members: &[u8]) -> SubjectRow<String> {
    SubjectRow {
        subject: Subject::Contract(ContractId::from(envelope_id(n))),
        state: "offered".to_owned(),
        members: members.iter().copied().map(did).collect(),
        deadline_at_ms: None,
        opened_at_ms: TimestampMs::new(1_000),
        updated_at_ms: TimestampMs::new(2_000),
        last_position: n,
        detail: "{}".to_owned(),
    }
}

/// The index from members to subjects is listed in order, whatever the page; an entry stays where a
/// later row of its subject has other members.
pub async fn members_are_listed_whatever_the_page<P: RowsPlace>(places: &impl Places<Place = P>) {
    let place = places.open().await;
    let rows = place.rows();
    let subjects = [
        subject(3, &[1, 2]),
        subject(2, &[2, 3]),
        subject(3, &[1, 4]),
    ];
    let mut due: Vec<MemberRow> = Vec::new();
    for (row, size) in subjects.into_iter().zip(0..) {
        due.extend(MemberRow::of(row.subject, &row.members));
        let change = RowChange::Subject(Box::new(row));
        rows.apply(size, size + 1, &[change]).await.unwrap();
    }
    due.sort_unstable();
    due.dedup();
    for limit in [1, 2, 9] {
        let mut listed: Vec<MemberRow> = Vec::new();
        loop {
            let page = rows.subject_members(listed.last(), limit).await.unwrap();
            assert!(page.len() <= limit);
            if page.is_empty() {
                break;
            }
            listed.extend(page);
        }
        assert_eq!(listed, due, "{limit}");
    }
}

/// A batch that does not begin where the rows end changes nothing.
pub async fn changes_out_of_order_are_refused_whole<P: RowsPlace>(places: &impl Places<Place = P>) {
    let place = places.open().await;
    let rows = place.rows();
    rows.apply(0, 4, &[]).await.unwrap();
    for (old_size, new_size) in [(0, 4), (3, 5), (5, 6)] {
        let changes = [interaction(1, "pending").into()];
        let refused = rows.apply(old_size, new_size, &changes).await;
        refused.expect_err("a gap or a repetition is refused");
    }
    assert_eq!(rows.applied_size().await.unwrap(), 4);
    assert_eq!(
        rows.subjects("interaction", None, None, 9).await.unwrap(),
        []
    );
}

/// Rows that were closed are there when they are opened again.
pub async fn rows_survive_reopening<P: RowsPlace>(places: &impl Places<Place = P>) {
    let place = places.open().await;
    let row = interaction(1, "pending");
    let changes = [row.clone().into()];
    place.rows().apply(0, 2, &changes).await.unwrap();
    let Some(place) = places.reopen(place).await else {
        return;
    };
    assert_eq!(place.rows().applied_size().await.unwrap(), 2);
    let read = place.rows().subject(row.subject).await.unwrap();
    assert_eq!(read, Some(row));
}
