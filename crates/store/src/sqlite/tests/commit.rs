//! A commit is durable whole or not at all, and everything in it is read back.

use tempfile::TempDir;
use x811_eventlog::{AppendError, EventLog, Head};
use x811_ledger::port::{Commit, LedgerStore, NonceOutcome, SpentNonce};
use x811_protocol::code::Code;
use x811_protocol::evm::TxHash;
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
