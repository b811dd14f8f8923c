//! Erased bodies are nowhere in the files, and nothing else can be erased (record.md section 4).

use serde_json::json;
use std::path::Path;
use tempfile::TempDir;
use x811_eventlog::{AppendError, Draft, Head, Record};
use x811_ledger::port::{Commit, Erased, LedgerStore as _};

use super::sample::{self, body, stranger};
use crate::SqliteStore;

/// A record at the end of `head` that says the bodies at `positions` are erased.
fn erasing(head: Head, positions: &[u64]) -> Commit {
    let draft = Draft {
        recorded_at_ms: head.recorded_at_ms + 1,
        stream: "ledger".to_owned(),
        stream_seq: head.size,
        event: json!({ "type": "bodies_erased", "positions": positions }),
    };
    let erased = positions.iter().map(|position| Erased {
        position: *position,
        record: head.size,
    });
    Commit {
        expected_size: head.size,
        records: vec![Record::seal(head.size, head.hash, draft).unwrap()],
        erased: erased.collect(),
        ..Commit::default()
    }
}

/// A body of some length that says its position over and over.
fn text(position: u64) -> Vec<u8> {
    let times = [40, 120, 200, 900, 3_000][usize::try_from(position % 5).unwrap()];
    format!("{{BODY{position:06}}}").repeat(times).into_bytes()
}

async fn filled(directory: &Path, bodies: u64) -> (SqliteStore, Head) {
    let store = SqliteStore::open(directory).await.unwrap();
    let mut head = Head::EMPTY;
    while head.size < bodies {
        let mut commit = sample::commit(head, 20);
        commit.bodies = (head.size..head.size + 20)
            .map(|position| body(position, &text(position)))
            .collect();
        head = store.commit(commit).await.unwrap();
    }
    (store, head)
}

/// Which of these bodies show in any file of the directory.
fn found_in_files(directory: &Path, positions: &[u64]) -> Vec<u64> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(directory).unwrap() {
        files.push(std::fs::read(entry.unwrap().path()).unwrap());
    }
    let shows = |position: u64| {
        let start = format!("BODY{position:06}").into_bytes();
        let has = |file: &Vec<u8>| file.windows(start.len()).any(|part| part == start);
        files.iter().any(has)
    };
    positions.iter().copied().filter(|p| shows(*p)).collect()
}

#[tokio::test]
async fn rec_4_erased_bodies_are_in_no_file_while_the_store_is_open() {
    let directory = TempDir::new().unwrap();
    let (store, mut head) = filled(directory.path(), 100).await;
    // Now and then many neighbours, so that pages would be packed anew if rows went away.
    let erased: Vec<u64> = (0..100).filter(|n| n * n % 7 < 4).collect();
    let kept: Vec<u64> = (0..100).filter(|n| n * n % 7 >= 4).collect();
    assert_eq!(found_in_files(directory.path(), &[3, 4]), [3, 4]);
    for positions in erased.chunks(9) {
        head = store.commit(erasing(head, positions)).await.unwrap();
        let log = directory.path().join("ledger.db-wal");
        assert_eq!(std::fs::metadata(log).unwrap().len(), 0);
        assert!(found_in_files(directory.path(), &positions[..1]).is_empty());
    }
    assert!(found_in_files(directory.path(), &erased).is_empty());
    assert_eq!(store.bodies(&erased).await.unwrap().len(), 0);
    let bodies = store.bodies(&kept).await.unwrap();
    assert_eq!(bodies.len(), kept.len());
    assert!(bodies.iter().all(|(at, body)| *body.bytes == *text(*at)));
    let by = store.erased(&[erased[0], kept[0]]).await.unwrap();
    assert_eq!(by.into_iter().collect::<Vec<_>>(), [(0, 100)]);

    let copy = TempDir::new().unwrap();
    store.copy_to(&copy.path().join("copy")).await.unwrap();
    assert!(found_in_files(&copy.path().join("copy"), &erased).is_empty());
    store.close().await;
    let store = SqliteStore::open(directory.path()).await.unwrap();
    assert_eq!(store.bodies(&erased).await.unwrap().len(), 0);
}

/// A commit that names what its record does not is refused whole.
#[tokio::test]
async fn rec_4_only_what_the_record_says_is_erased() {
    let directory = TempDir::new().unwrap();
    let (store, head) = filled(directory.path(), 20).await;
    let mut commit = erasing(head, &[3]);
    commit.erased[0].position = 4;
    let error = store.commit(commit).await.unwrap_err();
    assert!(matches!(error, AppendError::Backend(_)), "{error:?}");
    let head = store.commit(erasing(head, &[3])).await.unwrap();
    store.commit(erasing(head, &[3])).await.unwrap_err();
    assert_eq!(store.bodies(&[3, 4]).await.unwrap().len(), 1);
}

/// Whoever has a shell on the file erases nothing that the log does not say.
#[tokio::test]
async fn rec_4_a_stranger_erases_nothing() {
    let directory = TempDir::new().unwrap();
    let (store, head) = filled(directory.path(), 20).await;
    store.commit(erasing(head, &[3])).await.unwrap();
    let mut other = stranger(&directory.path().join("ledger.db")).await;
    for statement in [
        "DELETE FROM bodies WHERE position = 3",
        "DELETE FROM bodies WHERE position = 4",
        "UPDATE bodies SET bytes = zeroblob(length(bytes)) WHERE position = 4",
        "UPDATE bodies SET bytes = x'00' WHERE position = 3",
        "UPDATE bodies SET position = 99 WHERE position = 3",
        "INSERT OR REPLACE INTO bodies (position, digest, bytes) VALUES (3, zeroblob(32), x'01')",
        "INSERT INTO erased (position, record) VALUES (4, 20)",
        "INSERT INTO erased (position, record) VALUES (4, 4)",
        "INSERT OR REPLACE INTO erased (position, record) VALUES (3, 20)",
        "UPDATE erased SET position = 4",
        "DELETE FROM erased",
    ] {
        let done = sqlx::query(statement).execute(&mut other).await;
        assert!(done.is_err(), "{statement}");
    }
    assert_eq!(store.bodies(&[3, 4]).await.unwrap().len(), 1);
}

/// Somebody who reads meanwhile is not disturbed; when they are done, the next commit clears up.
#[tokio::test]
async fn rec_4_a_reader_in_the_way_only_delays_it() {
    let directory = TempDir::new().unwrap();
    let (store, head) = filled(directory.path(), 20).await;
    let mut reader = stranger(&directory.path().join("ledger.db")).await;
    for statement in ["BEGIN", "SELECT count(*) FROM bodies"] {
        sqlx::query(statement).execute(&mut reader).await.unwrap();
    }
    let head = store.commit(erasing(head, &[3])).await.unwrap();
    assert_eq!(store.bodies(&[3]).await.unwrap().len(), 0);
    assert_eq!(found_in_files(directory.path(), &[3]), [3]);
    sqlx::query("COMMIT").execute(&mut reader).await.unwrap();
    store.commit(sample::commit(head, 1)).await.unwrap();
    assert!(found_in_files(directory.path(), &[3]).is_empty());
}
