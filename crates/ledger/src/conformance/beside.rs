//! What lies beside the log: nonces, the tick, counts, and what was erased.

use super::sample::{self, body, full, nonce, sealed};
use super::{Places, StorePlace};
use crate::port::{Commit, Erased, IndexCounts, LedgerStore, NonceOutcome};
use serde_json::json;
use std::collections::HashMap;
use x811_eventlog::{AppendError, Head};
use x811_protocol::code::Code;
use x811_protocol::time::TimestampMs;

/// A commit of nonces alone is one like every other: only at the size that the log has.
pub async fn nonces_alone_need_the_right_size<P: StorePlace>(places: &impl Places<Place = P>) {
    let place = places.open().await;
    let store = place.store();
    let head = store.commit(sample::commit(Head::EMPTY, 3)).await.unwrap();
    let alone = |expected_size| Commit {
        expected_size,
        nonces: vec![nonce(7, NonceOutcome::Refused(Code::TimestampInvalid))],
        ..Commit::default()
    };
    for size in [0, 2, 4] {
        let error = store.commit(alone(size)).await.unwrap_err();
        let is_conflict = matches!(error, AppendError::Conflict { actual: 3, .. });
        assert!(is_conflict, "{size}: {error:?}");
    }
    assert_eq!(store.commit(alone(3)).await.unwrap(), head);
    let stored = store.spent_nonces(TimestampMs::new(0)).await.unwrap();
    assert_eq!(stored, alone(3).nonces);
    let tree = store.frontier().await.unwrap().map(|(size, _)| size);
    assert_eq!(tree, Some(3), "the tree stays");
}

/// Only nonces that are older than the window go.
pub async fn purging_forgets_what_is_older_and_nothing_else<P: StorePlace>(
    places: &impl Places<Place = P>,
) {
    let place = places.open().await;
    let store = place.store();
    let nonces: Vec<_> = (1..=5)
        .map(|n| nonce(n * 10, NonceOutcome::Repeated { position: n }))
        .collect();
    let commit = Commit {
        nonces: nonces.clone(),
        ..Commit::default()
    };
    store.commit(commit).await.unwrap();
    for (before_ms, left) in [(10, 5), (11, 4), (30, 3), (50, 1), (51, 0), (60, 0)] {
        let before = TimestampMs::new(before_ms);
        store.purge_nonces(before).await.unwrap();
        let stored = store.spent_nonces(TimestampMs::new(0)).await.unwrap();
        assert_eq!(stored, nonces[5 - left..], "before {before_ms}");
    }
}

/// There is one tick.
pub async fn the_last_tick_is_the_one_that_counts<P: StorePlace>(places: &impl Places<Place = P>) {
    let place = places.open().await;
    let store = place.store();
    assert_eq!(store.last_tick().await.unwrap(), None);
    for at_ms in [5, 1_005] {
        let at = TimestampMs::new(at_ms);
        store.tick(at).await.unwrap();
        assert_eq!(store.last_tick().await.unwrap(), Some(at));
    }
}

/// Counts are of entries whose position lies below the size that is asked for.
pub async fn counts_are_of_what_lies_below<P: StorePlace>(places: &impl Places<Place = P>) {
    let place = places.open().await;
    let store = place.store();
    store.commit(full()).await.unwrap();
    for (size, each, claims) in [(0, 0, 0), (1, 1, 0), (2, 2, 3), (u64::MAX >> 1, 2, 3)] {
        let due = IndexCounts {
            bodies: each,
            envelope_ids: each,
            idempotency: each,
            claims,
        };
        assert_eq!(store.index_counts(size).await.unwrap(), due, "{size}");
    }
}

/// What a record says was erased is not served any more, in no way; nothing else goes, and nothing is
/// erased twice.
pub async fn erased_bodies_are_gone_and_nothing_else<P: StorePlace>(
    places: &impl Places<Place = P>,
) {
    let place = places.open().await;
    let store = place.store();
    let filled = Commit {
        bodies: (0..4).map(|at| body(at, b"{\"text\":1}")).collect(),
        ..sample::commit(Head::EMPTY, 4)
    };
    let head = store.commit(filled).await.unwrap();
    let erasing = |head: Head| Commit {
        expected_size: head.size,
        records: vec![sealed(
            head,
            "ledger",
            json!({ "type": "bodies_erased", "positions": [1, 3] }),
        )],
        erased: [1, 3]
            .map(|position| Erased {
                position,
                record: head.size,
            })
            .to_vec(),
        ..Commit::default()
    };
    let head = store.commit(erasing(head)).await.unwrap();
    let all: Vec<u64> = (0..5).collect();
    let bodies = store.bodies(&all).await.unwrap();
    let mut left: Vec<u64> = bodies.into_keys().collect();
    left.sort_unstable();
    assert_eq!(left, [0, 2]);
    assert_eq!(store.body_part(1, 0, 9).await.unwrap(), None);
    assert_eq!(store.body_part(2, 0, 2).await.unwrap().unwrap(), b"{\"");
    let (_, bodies) = store.records_with_bodies(&all).await.unwrap();
    assert_eq!(bodies.len(), 2);
    let erased = store.erased(&all).await.unwrap();
    assert_eq!(erased, HashMap::from([(1, 4), (3, 4)]));
    let Some(place) = places.reopen(place).await else {
        return;
    };
    let store = place.store();
    assert_eq!(store.erased(&all).await.unwrap(), erased);
    assert_eq!(store.bodies(&all).await.unwrap().len(), 2);
    store.commit(erasing(head)).await.unwrap_err();
}
