//! An auditor reads what is there, beside a running ledger or after a killed one.

use std::fs;
use std::path::Path;

use tempfile::TempDir;
use x811_eventlog::{AppendError, EventLog, Head};
use x811_ledger::port::{Commit, LedgerStore, ReadModel};
use x811_protocol::time::TimestampMs;

use super::sample::{self, body, stranger};
use crate::{OpenError, ReadRows, SqliteStore, StoreError};

#[tokio::test]
async fn a_running_ledger_is_read_up_to_its_last_commit() {
    let directory = TempDir::new().unwrap();
    let owner = SqliteStore::open(directory.path()).await.unwrap();
    let head = owner.commit(sample::commit(Head::EMPTY, 2)).await.unwrap();

    let auditor = SqliteStore::open_read_only(directory.path()).await.unwrap();
    assert_eq!(auditor.log().head().await.unwrap(), head);
    let head = owner.commit(sample::commit(head, 1)).await.unwrap();
    assert_eq!(auditor.log().head().await.unwrap(), head);
    assert_eq!(auditor.log().follow(2).await.unwrap(), 3);
    assert_eq!(auditor.log().read(0, 9).await.unwrap().len(), 3);
    drop(auditor);
    owner.commit(sample::commit(head, 1)).await.unwrap();
}

#[tokio::test]
async fn nothing_can_be_written() {
    let directory = TempDir::new().unwrap();
    drop(SqliteStore::open(directory.path()).await.unwrap());
    drop(ReadRows::open(directory.path()).await.unwrap());
    let store = SqliteStore::open_read_only(directory.path()).await.unwrap();
    let read_model = ReadRows::open_read_only(directory.path()).await.unwrap();
    let at = TimestampMs::new(1);
    let refusals = [
        store.commit(Commit::default()).await.unwrap_err(),
        store.log().append(0, &[]).await.unwrap_err(),
        store.tick(at).await.unwrap_err(),
        store.purge_nonces(at).await.unwrap_err(),
        read_model.apply(0, 0, &[]).await.unwrap_err(),
    ];
    for refusal in refusals {
        let AppendError::Backend(source) = &refusal else {
            panic!("{refusal:?}");
        };
        let source = source.downcast_ref::<StoreError>();
        assert!(matches!(source, Some(StoreError::ReadOnly)), "{refusal:?}");
    }
}

/// What a killed writer leaves: newest commits in the WAL only, and an index or none.
#[tokio::test]
async fn the_wal_of_a_killed_writer_is_read_and_kept() {
    let directory = TempDir::new().unwrap();
    let owner = SqliteStore::open(directory.path()).await.unwrap();
    let commit = Commit {
        bodies: vec![body(2, b"{}")],
        ..sample::commit(Head::EMPTY, 3)
    };
    let head = owner.commit(commit).await.unwrap();

    for left_behind in [
        &["ledger.db", "ledger.db-wal"][..],
        &["ledger.db", "ledger.db-wal", "ledger.db-shm"],
    ] {
        let killed = TempDir::new().unwrap();
        for file in left_behind {
            fs::copy(directory.path().join(file), killed.path().join(file)).unwrap();
        }
        let before = contents(killed.path());
        assert!(!before[1].is_empty(), "the WAL holds the commits");
        let auditor = SqliteStore::open_read_only(killed.path()).await.unwrap();
        assert_eq!(auditor.log().head().await.unwrap(), head);
        assert_eq!(auditor.log().read(0, 9).await.unwrap().len(), 3);
        assert_eq!(auditor.bodies(&[2]).await.unwrap().len(), 1);
        auditor.close().await;
        assert_eq!(contents(killed.path()), before, "nothing is written");

        let heir = SqliteStore::open(killed.path()).await.unwrap();
        assert_eq!(heir.log().head().await.unwrap(), head);
        heir.commit(sample::commit(head, 1)).await.unwrap();
    }
}

fn contents(directory: &Path) -> [Vec<u8>; 2] {
    ["ledger.db", "ledger.db-wal"].map(|file| fs::read(directory.join(file)).unwrap())
}

#[tokio::test]
async fn a_directory_without_a_ledger_is_named_and_stays_as_it_is() {
    let directory = TempDir::new().unwrap();
    let nowhere = directory.path().join("nowhere");
    for path in [directory.path(), &nowhere] {
        let error = SqliteStore::open_read_only(path).await.unwrap_err();
        assert!(matches!(error, OpenError::NoLedger { .. }), "{error:?}");
        let error = ReadRows::open_read_only(path).await.unwrap_err();
        assert!(matches!(error, OpenError::NoLedger { .. }), "{error:?}");
    }
    assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 0);

    fs::write(directory.path().join("ledger.db"), "").unwrap();
    let error = SqliteStore::open_read_only(directory.path())
        .await
        .unwrap_err();
    assert!(matches!(error, OpenError::NoLedger { .. }), "{error:?}");

    fs::write(directory.path().join("ledger.db"), "no database at all").unwrap();
    let error = SqliteStore::open_read_only(directory.path())
        .await
        .unwrap_err();
    let OpenError::Database { source, .. } = &error else {
        panic!("{error:?}");
    };
    assert!(matches!(source, StoreError::Damaged(_)), "{source:?}");
}

/// Promise 4: a leaf that was changed in the file is found when it is read.
#[tokio::test]
async fn a_damaged_leaf_is_named_by_its_position() {
    let directory = TempDir::new().unwrap();
    let store = SqliteStore::open(directory.path()).await.unwrap();
    store.commit(sample::commit(Head::EMPTY, 4)).await.unwrap();
    let mut other = stranger(&directory.path().join("ledger.db")).await;
    for (position, damage) in [
        (
            2,
            "UPDATE records SET leaf = (SELECT leaf FROM records WHERE position = 3)
             WHERE position = 2",
        ),
        (2, "UPDATE records SET leaf = x'7b7d' WHERE position = 2"),
        (
            0,
            "UPDATE records SET leaf = (SELECT leaf FROM records WHERE position = 0)
             WHERE position = 1",
        ),
        (1, "DELETE FROM records WHERE position = 1"),
    ] {
        sqlx::query("DROP TRIGGER IF EXISTS records_never_updated")
            .execute(&mut other)
            .await
            .unwrap();
        sqlx::query("DROP TRIGGER IF EXISTS records_never_deleted")
            .execute(&mut other)
            .await
            .unwrap();
        sqlx::query(damage).execute(&mut other).await.unwrap();
        let error = store.log().read(0, 9).await.unwrap_err();
        let x811_eventlog::ReadError::Damaged(found) = error else {
            panic!("{error:?}");
        };
        assert_eq!(found.position, position, "{found}");
    }
}
