//! A commit is durable whole or not at all, and everything in it is read back.

use std::collections::HashMap;

use tempfile::TempDir;
use x811_eventlog::{AppendError, EventLog, Head};
use x811_ledger::port::{Commit, LedgerStore, NonceOutcome, SpentNonce};
use x811_protocol::code::Code;
use x811_protocol::evm::{ChainId, TxHash};
use x811_protocol::time::TimestampMs;

use super::sample::{self, BASE_SEPOLIA, Left, body, claim, digest, envelope_id};
use crate::{SqliteStore, StoreError, UniqueKey};

async fn empty() -> (TempDir, SqliteStore) {
    let directory = TempDir::new().unwrap();
    let store = SqliteStore::open(directory.path()).await.unwrap();
    (directory, store)
}

fn nonce(n: u64, outcome: NonceOutcome) -> SpentNonce {
    SpentNonce {
        tag: digest(n),
        at_ms: TimestampMs::new(n),
        outcome,
    }
}

/// Two records and one of everything beside them.
fn full() -> Commit {
    Commit {
        bodies: vec![body(0, b"{}"), body(1, &[0xff; 70_000])],
        nonces: vec![
            nonce(1, NonceOutcome::Refused(Code::InvalidStateTransition)),
            nonce(2, NonceOutcome::Repeated { position: 1 }),
        ],
        envelope_ids: vec![(envelope_id(1), 0), (envelope_id(2), 1)],
        idempotency: vec![(digest(1), 0), (digest(2), 1)],
        claims: vec![(claim(1, 0), 1), (claim(1, 2), 1), (claim(2, 0), 1)],
        ..sample::commit(Head::EMPTY, 2)
    }
}

#[tokio::test]
async fn commit_reads_back_bodies_indexes_nonces_and_frontier() {
    let (_directory, store) = empty().await;
    assert_eq!(store.frontier().await.unwrap(), None);
    let commit = full();
    let head = store.commit(commit.clone()).await.unwrap();

    assert_eq!(head, Head::after(&commit.records[1]));
    assert_eq!(store.log().read(0, 9).await.unwrap(), commit.records);
    let tree = store.frontier().await.unwrap();
    assert_eq!(tree, Some((2, commit.frontier)));

    let [first, second] = [commit.bodies[0].clone(), commit.bodies[1].clone()];
    let bodies = store.bodies(&[1, 0, 5]).await.unwrap();
    assert_eq!(bodies, HashMap::from([(0, first), (1, second)]));
    let tags = [digest(2), digest(1), digest(9)];
    let requests = store.idempotency(&tags).await.unwrap();
    assert_eq!(requests, commit.idempotency.into_iter().collect());
    let ids = [envelope_id(9), envelope_id(2), envelope_id(1)];
    let positions = store.envelope_positions(&ids).await.unwrap();
    assert_eq!(positions, commit.envelope_ids.into_iter().collect());
    let since_two = store.spent_nonces(TimestampMs::new(2)).await.unwrap();
    assert_eq!(since_two, commit.nonces[1..]);
    let all = store.spent_nonces(TimestampMs::new(0)).await.unwrap();
    assert_eq!(all, commit.nonces);

    let transactions = [1, 3].map(|n| TxHash::from_bytes([n; 32]));
    let claims = store.claims(BASE_SEPOLIA, &transactions).await.unwrap();
    assert_eq!(claims, commit.claims[..2]);
    let elsewhere = store.claims(ChainId::new(1), &transactions).await.unwrap();
    assert_eq!(elsewhere, []);
}

#[tokio::test]
async fn records_come_in_the_order_in_which_they_are_asked_for() {
    let (_directory, store) = empty().await;
    let commit = sample::commit(Head::EMPTY, 5);
    store.commit(commit.clone()).await.unwrap();
    let found = store.records(&[4, 9, 0, u64::MAX, 2]).await.unwrap();
    let expected = [4, 0, 2].map(|at: usize| commit.records[at].clone());
    assert_eq!(found, expected);
    assert_eq!(store.records(&[]).await.unwrap(), []);
}

#[tokio::test]
async fn asking_for_nothing_finds_nothing() {
    let (_directory, store) = empty().await;
    store.commit(full()).await.unwrap();
    assert!(store.bodies(&[]).await.unwrap().is_empty());
    assert!(store.idempotency(&[]).await.unwrap().is_empty());
    assert!(store.envelope_positions(&[]).await.unwrap().is_empty());
    assert_eq!(store.claims(BASE_SEPOLIA, &[]).await.unwrap(), []);
}

/// Promise 5: no transfer pays twice. Whatever unique key is taken, nothing of the commit stays.
#[tokio::test]
async fn a_taken_key_is_named_and_leaves_nothing() {
    let (_directory, store) = empty().await;
    let head = store.commit(full()).await.unwrap();
    let cases = [
        (
            UniqueKey::Claim,
            Commit {
                claims: vec![(claim(3, 0), 2), (claim(1, 2), 2)],
                ..sample::commit(head, 1)
            },
        ),
        (
            UniqueKey::IdempotencyTag,
            Commit {
                idempotency: vec![(digest(2), 2)],
                ..sample::commit(head, 1)
            },
        ),
        (
            UniqueKey::EnvelopeId,
            Commit {
                envelope_ids: vec![(envelope_id(3), 2), (envelope_id(3), 2)],
                ..sample::commit(head, 1)
            },
        ),
        (
            UniqueKey::Body,
            Commit {
                bodies: vec![body(1, b"another")],
                ..sample::commit(head, 1)
            },
        ),
    ];
    for (taken, commit) in cases {
        let commit = Commit {
            nonces: vec![nonce(3, NonceOutcome::Refused(Code::NonceReplay))],
            ..commit
        };
        let error = store.commit(commit).await.unwrap_err();
        let AppendError::Backend(source) = &error else {
            panic!("{taken}: {error:?}");
        };
        let source = source.downcast_ref::<StoreError>();
        let Some(StoreError::Duplicate { key, .. }) = source else {
            panic!("{taken}: {source:?}");
        };
        assert_eq!(*key, taken);
        assert_eq!(store.log().head().await.unwrap(), head, "{taken}");
        let tree_size = store.frontier().await.unwrap().map(|(size, _)| size);
        assert_eq!(tree_size, Some(2), "{taken}");
    }
    let three = TxHash::from_bytes([3; 32]);
    assert_eq!(store.claims(BASE_SEPOLIA, &[three]).await.unwrap(), []);
    let nonces = store.spent_nonces(TimestampMs::new(0)).await.unwrap();
    assert_eq!(nonces, full().nonces);

    store.commit(sample::commit(head, 1)).await.unwrap();
}

#[tokio::test]
async fn nonces_alone_are_committed_at_the_right_size_only() {
    let (_directory, store) = empty().await;
    let head = store.commit(sample::commit(Head::EMPTY, 3)).await.unwrap();
    let alone = |expected_size| Commit {
        expected_size,
        nonces: vec![nonce(7, NonceOutcome::Refused(Code::TimestampInvalid))],
        ..Commit::default()
    };
    let conflict = store.commit(alone(2)).await.unwrap_err();
    assert!(
        matches!(
            conflict,
            AppendError::Conflict {
                expected: 2,
                actual: 3
            }
        ),
        "{conflict:?}"
    );
    assert_eq!(store.commit(alone(3)).await.unwrap(), head);
    let stored = store.spent_nonces(TimestampMs::new(0)).await.unwrap();
    assert_eq!(stored, alone(3).nonces);
    let tree_size = store.frontier().await.unwrap().map(|(size, _)| size);
    assert_eq!(tree_size, Some(3), "the tree stays");
}

#[tokio::test]
async fn purge_forgets_what_is_older_and_nothing_else() {
    let (_directory, store) = empty().await;
    let nonces: Vec<_> = (1..=5)
        .map(|n| nonce(n * 10, NonceOutcome::Repeated { position: n }))
        .collect();
    let commit = Commit {
        nonces: nonces.clone(),
        ..Commit::default()
    };
    store.commit(commit).await.unwrap();
    for (before_ms, left) in [(10, 5), (11, 4), (30, 3), (50, 1), (51, 0), (60, 0)] {
        store
            .purge_nonces(TimestampMs::new(before_ms))
            .await
            .unwrap();
        let stored = store.spent_nonces(TimestampMs::new(0)).await.unwrap();
        assert_eq!(stored, nonces[5 - left..], "before {before_ms}");
    }
}

#[tokio::test]
async fn last_tick_is_the_last_one() {
    let (_directory, store) = empty().await;
    assert_eq!(store.last_tick().await.unwrap(), None);
    for at_ms in [5, 1_005] {
        store.tick(TimestampMs::new(at_ms)).await.unwrap();
        let last = store.last_tick().await.unwrap();
        assert_eq!(last, Some(TimestampMs::new(at_ms)));
    }
}

#[tokio::test]
async fn reopening_gives_the_same_head_frontier_and_tick() {
    let (directory, store) = empty().await;
    let commit = full();
    let head = store.commit(commit.clone()).await.unwrap();
    store.tick(TimestampMs::new(9)).await.unwrap();
    drop(store);

    let store = SqliteStore::open(directory.path()).await.unwrap();
    assert_eq!(store.log().head().await.unwrap(), head);
    let tree = store.frontier().await.unwrap();
    assert_eq!(tree, Some((2, commit.frontier)));
    assert_eq!(store.last_tick().await.unwrap(), Some(TimestampMs::new(9)));
    assert_eq!(store.log().follow(1).await.unwrap(), 2);
    store.close().await;
    SqliteStore::open(directory.path()).await.unwrap();
}

/// More rows than one statement holds, in every table.
#[tokio::test]
async fn a_large_commit_is_split_into_statements_but_stays_one_commit() {
    const COUNT: u64 = 5_000;
    const NONCES: u64 = 20_000;
    let (_directory, store) = empty().await;
    let commit = Commit {
        bodies: (0..COUNT)
            .map(|n| body(n, &(n + 1).to_be_bytes()))
            .collect(),
        nonces: (0..NONCES)
            .map(|n| nonce(n, NonceOutcome::Repeated { position: n }))
            .collect(),
        envelope_ids: (0..COUNT).map(|n| (envelope_id(n), n)).collect(),
        idempotency: (0..COUNT).map(|n| (digest(n), n)).collect(),
        claims: (0..COUNT * 2).map(|n| (claim(1, n), 0)).collect(),
        ..sample::commit(Head::EMPTY, COUNT)
    };
    let head = store.commit(commit.clone()).await.unwrap();
    assert_eq!(head.size, COUNT);

    let mut read = Vec::new();
    while read.len() < commit.records.len() {
        let page = store.log().read(read.len() as u64, usize::MAX).await;
        read.extend(page.unwrap());
    }
    assert_eq!(read, commit.records);
    let positions: Vec<_> = (0..COUNT).collect();
    let bodies = store.bodies(&positions).await.unwrap();
    assert_eq!(bodies.len(), commit.bodies.len());
    let tags: Vec<_> = positions.iter().map(|n| digest(*n)).collect();
    let tags = store.idempotency(&tags).await.unwrap();
    assert_eq!(tags, commit.idempotency.into_iter().collect());
    let ids: Vec<_> = positions.iter().map(|n| envelope_id(*n)).collect();
    let ids = store.envelope_positions(&ids).await.unwrap();
    assert_eq!(ids, commit.envelope_ids.into_iter().collect());
    let nonces = store.spent_nonces(TimestampMs::new(0)).await.unwrap();
    assert_eq!(nonces, commit.nonces);
    let one = TxHash::from_bytes([1; 32]);
    let claims = store.claims(BASE_SEPOLIA, &[one]).await.unwrap();
    assert_eq!(claims, commit.claims);
}

/// A full disk is told as such, changes nothing, and the store goes on when there is room.
#[tokio::test]
async fn a_full_disk_is_named_and_leaves_nothing() {
    let (_directory, store) = empty().await;
    let head = store.commit(full()).await.unwrap();
    limit_pages(&store, "PRAGMA max_page_count = 1").await;
    let large = Commit {
        bodies: vec![body(2, &[0; 100_000])],
        ..sample::commit(head, 1)
    };
    let error = store.commit(large.clone()).await.unwrap_err();
    let AppendError::Backend(source) = &error else {
        panic!("{error:?}");
    };
    assert!(
        source.to_string().contains("the disk is full"),
        "{source:?}"
    );
    assert_eq!(store.log().head().await.unwrap(), head);

    limit_pages(&store, "PRAGMA max_page_count = 1000000").await;
    let head = store.commit(large).await.unwrap();
    assert_eq!(head.size, 3);
}

async fn limit_pages(store: &SqliteStore, pragma: &'static str) {
    let mut turn = store.log().begin().await.unwrap();
    sqlx::query(pragma)
        .execute(turn.connection())
        .await
        .unwrap();
    turn.commit(0).await.unwrap();
}

/// When COMMIT itself fails, nobody may be answered before the log has been read again. The store
/// goes on with a new connection.
#[tokio::test]
async fn a_failed_commit_has_an_unknown_outcome() {
    let (_directory, store) = empty().await;
    let head = store.commit(full()).await.unwrap();
    let mut turn = store.log().begin().await.unwrap();
    turn.connection()
        .lock_handle()
        .await
        .unwrap()
        .set_commit_hook(|| false);
    turn.roll_back().await;

    let error = store.commit(sample::commit(head, 1)).await.unwrap_err();
    assert!(
        matches!(
            error,
            AppendError::OutcomeUnknown {
                expected_size: 2,
                ..
            }
        ),
        "{error:?}"
    );
    assert_eq!(store.log().head().await.unwrap(), head);
    store.commit(sample::commit(head, 1)).await.unwrap();
}

/// A commit whose caller went away leaves the store usable.
#[tokio::test]
async fn a_dropped_commit_does_not_block_the_next() {
    let (_directory, store) = empty().await;
    for left in [Left::Asked, Left::Answered] {
        for polls in 1.. {
            let head = store.log().head().await.unwrap();
            let next = sample::commit(head, 1);
            let is_done = sample::give_up(store.log().commit(&next), polls, left).await;
            one_more(&store).await;
            let next = sample::commit(store.log().head().await.unwrap(), 1);
            // On a thread of its own, which goes on until it is told.
            sample::give_up(store.commit(next), 1, Left::Asked).await;
            one_more(&store).await;
            if is_done {
                break;
            }
        }
    }
}

async fn one_more(store: &SqliteStore) {
    loop {
        let head = store.log().head().await.unwrap();
        match store.commit(sample::commit(head, 1)).await {
            Ok(_) => break,
            // The dropped one was stored after the head was read.
            Err(AppendError::Conflict { .. }) => {}
            Err(error) => panic!("{error:?}"),
        }
    }
}
