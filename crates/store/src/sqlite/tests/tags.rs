//! Idempotency tags are found and refused for ever, wherever they wait.

use std::collections::HashMap;

use sqlx::sqlite::SqliteConnection;
use tempfile::TempDir;
use x811_eventlog::{AppendError, EventLog as _, Head};
use x811_ledger::port::{Commit, LedgerStore};
use x811_protocol::digest::Digest;
use x811_protocol::time::TimestampMs;

use super::sample::{self, Left, digest, stranger};
use crate::{SqliteStore, StoreError, UniqueKey};

/// So many wait in these tests.
const KEPT: usize = 40;

async fn open(directory: &TempDir) -> SqliteStore {
    SqliteStore::keeping(directory.path(), KEPT).await.unwrap()
}

/// As many records, and a tag for each.
fn commit(head: Head, count: u64) -> Commit {
    let tags = (head.size..head.size + count).map(|position| (digest(position), position));
    Commit {
        idempotency: tags.collect(),
        ..sample::commit(head, count)
    }
}

async fn rows(connection: &mut SqliteConnection, table: &'static str) -> usize {
    let rows: i64 = sqlx::query_scalar(table)
        .fetch_one(connection)
        .await
        .unwrap();
    usize::try_from(rows).unwrap()
}

const NEW: &str = "SELECT count(*) FROM new_idempotency";
const FILED: &str = "SELECT count(*) FROM idempotency";

/// Every tag below `size` is found where it is, and no other.
async fn all_are_found(store: &SqliteStore, size: u64) {
    let asked: Vec<Digest> = (0..size + 9).map(digest).collect();
    let expected: HashMap<Digest, u64> = (0..size).map(|n| (digest(n), n)).collect();
    assert_eq!(store.idempotency(&asked).await.unwrap(), expected);
    let counts = store.index_counts(size).await.unwrap();
    assert_eq!(counts.idempotency, size);
}

async fn is_taken(store: &SqliteStore, head: Head, tags: Vec<Digest>) {
    let tags = tags.into_iter().map(|tag| (tag, head.size)).collect();
    let taken = Commit {
        idempotency: tags,
        ..sample::commit(head, 1)
    };
    let AppendError::Backend(source) = store.commit(taken).await.unwrap_err() else {
        panic!("a taken tag is no other error");
    };
    let error = source.downcast_ref().unwrap();
    let key = UniqueKey::IdempotencyTag;
    assert!(matches!(error, StoreError::Duplicate { key: k, .. } if *k == key));
}

#[tokio::test]
async fn lc_3_a_tag_is_found_and_taken_before_and_after_it_is_filed() {
    let directory = TempDir::new().unwrap();
    let beside = async || SqliteStore::open_read_only(directory.path()).await.unwrap();
    let mut store = open(&directory).await;
    let early_reader = beside().await;
    let mut head = Head::EMPTY;
    for turn in 0..60 {
        head = store.commit(commit(head, 1 + turn % 13)).await.unwrap();
        all_are_found(&store, head.size).await;
        if turn % 7 == 0 {
            all_are_found(&early_reader, head.size).await;
            all_are_found(&beside().await, head.size).await;
            for tag in [0, head.size / 2, head.size - 1].map(digest) {
                is_taken(&store, head, vec![tag]).await;
            }
            is_taken(&store, head, vec![digest(head.size), digest(head.size)]).await;
        }
        if turn % 11 == 10 {
            store.close().await;
            store = open(&directory).await;
            all_are_found(&store, head.size).await;
        }
    }
    let mut other = stranger(&directory.path().join("ledger.db")).await;
    let (new, filed) = (rows(&mut other, NEW).await, rows(&mut other, FILED).await);
    let all = usize::try_from(head.size).unwrap();
    assert!(filed >= all - KEPT - 13 && filed < all, "{filed} of {all}");
    assert!(new < all / 2, "those that are filed leave: {new} of {all}");
}

/// However short each run of the ledger is, what was filed leaves.
#[tokio::test]
async fn starts_that_follow_each_other_do_not_keep_filed_tags() {
    let directory = TempDir::new().unwrap();
    let mut head = Head::EMPTY;
    for _ in 0..80 {
        let store = open(&directory).await;
        for _ in 0..2 {
            head = store.commit(commit(head, 4)).await.unwrap();
        }
        all_are_found(&store, head.size).await;
        store.close().await;
    }
    let mut other = stranger(&directory.path().join("ledger.db")).await;
    let new = rows(&mut other, NEW).await;
    assert!(new <= 4 * KEPT, "{new} of {}", head.size);
}

/// Nobody knows what became of the commit; the next one does not need to.
#[tokio::test]
async fn tags_of_a_commit_that_was_given_up_are_known() {
    let directory = TempDir::new().unwrap();
    let store = open(&directory).await;
    let mut head = store.commit(commit(Head::EMPTY, 100)).await.unwrap();
    let (mut held, mut undone) = (0, 0);
    // What becomes of it is up to a thread of the database: eight rounds, and more until both have happened.
    for (round, left) in [Left::Asked, Left::Answered]
        .repeat(100)
        .into_iter()
        .enumerate()
    {
        if round >= 8 && held > 0 && undone > 0 {
            break;
        }
        for polls in 1.. {
            let next = commit(head, 5);
            let end = Head::after(next.records.last().unwrap());
            let is_done = sample::give_up(store.log().commit(&next), polls, left).await;
            // Takes the lock of the file, so it comes after whatever became of that commit.
            store.tick(TimestampMs::new(polls as u64)).await.unwrap();
            let stored = store.log().head().await.unwrap();
            if stored == end {
                held += usize::from(!is_done);
                head = end;
                is_taken(&store, head, vec![digest(head.size - 1)]).await;
            } else {
                undone += 1;
            }
            all_are_found(&store, head.size).await;
            if is_done {
                break;
            }
        }
    }
    assert!(held > 0, "none of {undone} given up was durable");
    assert!(undone > 0, "all {held} given up were durable");
}
