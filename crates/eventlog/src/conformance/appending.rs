//! What an append promises: all or nothing, at the expected size, within the limits.

use super::Backend;
use super::join::join;
use super::records::{append, continuing, everything, filling, head};
use crate::chain::{Cause, Head};
use crate::hash::Hash;
use crate::log::{AppendError, EventLog, MAX_BATCH_BYTES};
use crate::record::{Draft, Record};

/// An append returns the head after its last record, and that is the head from then on.
pub async fn append_returns_the_head(backend: &impl Backend) {
    let log = backend.open().await;
    for count in [1, 3] {
        let before = head(&log).await;
        let records = continuing(before, count, "head");
        let after = log
            .append(before.size, &records)
            .await
            .expect("the batch continues the log");
        assert_eq!(
            records.last().map(Head::after),
            Some(after),
            "the head is the last record's"
        );
        assert_eq!(head(&log).await, after, "the head stays as returned");
    }
}

/// An empty batch only compares sizes.
pub async fn empty_batch_writes_nothing(backend: &impl Backend) {
    let log = backend.open().await;
    let before = Head::after(append(&log, 2).await.last().expect("two were appended"));
    let head_returned = log
        .append(2, &[])
        .await
        .expect("an empty batch fits at the size");
    assert_eq!(head_returned, before);
    let conflict = log.append(1, &[]).await;
    assert!(
        matches!(
            conflict,
            Err(AppendError::Conflict {
                expected: 1,
                actual: 2
            })
        ),
        "an empty batch at another size conflicts: {conflict:?}"
    );
    assert_eq!(head(&log).await, before);
}

/// A batch for another size is refused with both sizes, and nothing of it is stored.
pub async fn conflict_changes_nothing(backend: &impl Backend) {
    let log = backend.open().await;
    let stored = append(&log, 3).await;
    let after_two = Head::after(&stored[1]);
    let stale = continuing(after_two, 4, "stale");
    let early = continuing(
        Head {
            size: 9,
            ..after_two
        },
        1,
        "early",
    );
    for (expected_size, records) in [(2, &stale), (9, &early), (0, &stored)] {
        let result = log.append(expected_size, records).await;
        let Err(AppendError::Conflict { expected, actual }) = result else {
            panic!("an append at {expected_size} of 3 conflicts: {result:?}");
        };
        assert_eq!((expected, actual), (expected_size, 3));
        assert_eq!(everything(&log).await, stored, "a conflict changes nothing");
    }
}

/// Of appends at the same size exactly one is stored; the others conflict.
pub async fn concurrent_appends_have_one_winner(backend: &impl Backend) {
    let log = backend.open().await;
    let mut expected = append(&log, 1).await;
    for round in 0..8 {
        let head = head(&log).await;
        let [one, other, third] =
            ["one", "other", "third"].map(|mark| continuing(head, 1 + round % 3, mark));
        let (a, (b, c)) = join(
            log.append(head.size, &one),
            join(log.append(head.size, &other), log.append(head.size, &third)),
        )
        .await;
        let mut winners = Vec::new();
        for (result, records) in [(a, one), (b, other), (c, third)] {
            match result {
                Ok(after) => {
                    assert_eq!(records.last().map(Head::after), Some(after));
                    winners.push(records);
                }
                Err(AppendError::Conflict { expected, actual }) => {
                    assert_eq!((expected, actual), (head.size, head.size + 1 + round % 3));
                }
                Err(error) => panic!("the losers conflict: {error:?}"),
            }
        }
        assert_eq!(winners.len(), 1, "exactly one append wins in round {round}");
        expected.extend(winners.into_iter().flatten());
        assert_eq!(
            everything(&log).await,
            expected,
            "only the winner is stored"
        );
    }
}

/// A batch of more than [`MAX_BATCH_BYTES`] is refused whole; one of just as many is stored.
pub async fn batch_over_the_limit_is_refused(backend: &impl Backend) {
    let log = backend.open().await;
    let result = log
        .append(0, &filling(Head::EMPTY, MAX_BATCH_BYTES + 1))
        .await;
    let Err(AppendError::TooLarge { bytes, limit }) = result else {
        panic!("a batch over the limit is refused: {result:?}");
    };
    assert_eq!((bytes, limit), (MAX_BATCH_BYTES + 1, MAX_BATCH_BYTES));
    assert_eq!(
        head(&log).await,
        Head::EMPTY,
        "a refused batch changes nothing"
    );

    let records = filling(Head::EMPTY, MAX_BATCH_BYTES);
    log.append(0, &records)
        .await
        .expect("a batch of the limit is stored");
    assert_eq!(everything(&log).await, records);
}

/// A batch with a gap, a repetition, a broken link or time running back is refused whole.
pub async fn non_contiguous_batch_is_refused(backend: &impl Backend) {
    let log = backend.open().await;
    let stored = append(&log, 2).await;
    let end = head(&log).await;
    let next = continuing(end, 3, "next");
    let elsewhere = Hash::of_leaf(b"elsewhere");
    let unlinked = at(2, elsewhere, end.recorded_at_ms);
    let earlier = at(3, next[0].hash(), end.recorded_at_ms);
    let misfits: [(Vec<Record>, u64, Cause); 5] = [
        (
            vec![next[0].clone(), next[2].clone()],
            3,
            Cause::Missing { last: 3 },
        ),
        (next[1..].to_vec(), 2, Cause::Missing { last: 2 }),
        (
            vec![next[0].clone(), next[0].clone()],
            3,
            Cause::Reordered { expected: 3 },
        ),
        (
            vec![unlinked],
            2,
            Cause::LinkBroken {
                expected: end.hash,
                found: elsewhere,
            },
        ),
        (
            vec![next[0].clone(), earlier],
            3,
            Cause::TimeRanBack {
                before_ms: next[0].recorded_at_ms(),
                found_ms: end.recorded_at_ms,
            },
        ),
    ];
    for (records, expected_position, expected_cause) in misfits {
        let result = log.append(2, &records).await;
        let Err(AppendError::NotContiguous { position, cause }) = result else {
            panic!("a batch that does not continue the log is refused: {result:?}");
        };
        assert_eq!((position, cause), (expected_position, expected_cause));
        assert_eq!(
            everything(&log).await,
            stored,
            "a refused batch changes nothing"
        );
    }
    log.append(2, &next)
        .await
        .expect("the log goes on after refusals");
}

fn at(position: u64, prev: Hash, recorded_at_ms: u64) -> Record {
    let draft = Draft {
        recorded_at_ms,
        stream: "conformance".to_owned(),
        stream_seq: position,
        event: serde_json::json!({ "type": "misfit" }),
    };
    Record::seal(position, prev, draft).expect("a small event with a type makes a leaf")
}
