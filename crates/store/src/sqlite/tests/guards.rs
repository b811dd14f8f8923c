//! Who may write, and what nobody may change.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use tempfile::TempDir;
use x811_eventlog::{AppendError, EventLog, Head};
use x811_ledger::port::{Commit, LedgerStore, ReadModel};
use x811_protocol::time::TimestampMs;

use super::sample::{self, body, claim, digest, envelope_id, stranger};
use crate::{OpenError, ReadRows, SqliteStore};

/// Promise 8: a second writer is kept out, and told how to mend it.
#[tokio::test]
async fn a_second_owner_is_refused() {
    let directory = TempDir::new().unwrap();
    let first = SqliteStore::open(directory.path()).await.unwrap();
    let error = SqliteStore::open(directory.path()).await.unwrap_err();
    assert!(matches!(error, OpenError::Owned { .. }), "{error:?}");
    let message = error.to_string();
    for part in [
        "another process owns",
        &directory.path().display().to_string(),
        "stop it",
    ] {
        assert!(message.contains(part), "{message}");
    }
    drop(first);
    SqliteStore::open(directory.path()).await.unwrap();
}

/// Promise 8: a writer that lost the directory without noticing writes nothing more.
#[tokio::test]
async fn a_writer_of_an_old_epoch_is_fenced() {
    let directory = TempDir::new().unwrap();
    let store = SqliteStore::open(directory.path()).await.unwrap();
    let head = store.commit(sample::commit(Head::EMPTY, 1)).await.unwrap();
    let mut other = stranger(&directory.path().join("ledger.db")).await;
    sqlx::query("UPDATE writer SET epoch = epoch + 1")
        .execute(&mut other)
        .await
        .unwrap();

    let at = TimestampMs::new(1);
    let refusals = [
        store.commit(sample::commit(head, 1)).await.unwrap_err(),
        store.log().append(1, &[]).await.unwrap_err(),
        store.tick(at).await.unwrap_err(),
        store.purge_nonces(at).await.unwrap_err(),
    ];
    for refusal in refusals {
        assert!(
            matches!(
                refusal,
                AppendError::Fenced {
                    epoch: 1,
                    current_epoch: 2
                }
            ),
            "{refusal:?}"
        );
    }
    assert_eq!(store.log().head().await.unwrap(), head);
    assert_eq!(store.last_tick().await.unwrap(), None);
}

#[tokio::test]
async fn every_open_raises_the_epoch() {
    let directory = TempDir::new().unwrap();
    for epoch in 1..=3_i64 {
        let store = SqliteStore::open(directory.path()).await.unwrap();
        store.close().await;
        let mut other = stranger(&directory.path().join("ledger.db")).await;
        let stored: i64 = sqlx::query_scalar("SELECT epoch FROM writer")
            .fetch_one(&mut other)
            .await
            .unwrap();
        assert_eq!(stored, epoch);
    }
}

/// Also for a connection that does not come from this program.
#[tokio::test]
async fn append_only_tables_refuse_every_way_of_changing_them() {
    let directory = TempDir::new().unwrap();
    let store = SqliteStore::open(directory.path()).await.unwrap();
    let commit = Commit {
        bodies: vec![body(0, b"{}")],
        envelope_ids: vec![(envelope_id(0), 0)],
        idempotency: vec![(digest(0), 0)],
        claims: vec![(claim(0, 0), 0)],
        ..sample::commit(Head::EMPTY, 1)
    };
    store.commit(commit).await.unwrap();
    let mut other = stranger(&directory.path().join("ledger.db")).await;
    sqlx::query("INSERT INTO idempotency SELECT tag, position FROM new_idempotency")
        .execute(&mut other)
        .await
        .unwrap();
    let statements = [
        "UPDATE records SET leaf = x'00'",
        "DELETE FROM records",
        "INSERT OR REPLACE INTO records SELECT position, x'00' FROM records",
        "REPLACE INTO records SELECT position, x'00' FROM records",
        "INSERT INTO records SELECT position, x'00' FROM records WHERE true
         ON CONFLICT DO UPDATE SET leaf = excluded.leaf",
        "INSERT INTO records VALUES (7, x'00')",
        "UPDATE OR REPLACE bodies SET bytes = x'00'",
        "DELETE FROM bodies",
        "INSERT OR REPLACE INTO bodies SELECT position, digest, x'00' FROM bodies",
        "UPDATE envelope_ids SET position = 9",
        "DELETE FROM envelope_ids",
        "INSERT OR REPLACE INTO envelope_ids SELECT id, 9 FROM envelope_ids",
        "UPDATE idempotency SET position = 9",
        "DELETE FROM idempotency",
        "INSERT OR REPLACE INTO idempotency SELECT tag, 9 FROM idempotency",
        "UPDATE new_idempotency SET position = 9",
        "DELETE FROM new_idempotency",
        "INSERT OR REPLACE INTO new_idempotency SELECT position, zeroblob(32) FROM new_idempotency",
        "INSERT INTO new_idempotency SELECT position + 1, tag FROM idempotency",
        "UPDATE claims SET position = 9",
        "DELETE FROM claims",
        "INSERT OR REPLACE INTO claims SELECT chain_id, tx_hash, ordinal, 9 FROM claims",
    ];
    for statement in statements {
        let error = sqlx::query(statement)
            .execute(&mut other)
            .await
            .unwrap_err();
        let message = error.to_string();
        assert!(
            message.contains("are append-only"),
            "{statement}: {message}"
        );
    }
}

#[tokio::test]
async fn directory_and_files_are_private() {
    let parent = TempDir::new().unwrap();
    let directory = parent.path().join("new/ledger");
    let store = SqliteStore::open(&directory).await.unwrap();
    let read_model = ReadRows::open(&directory).await.unwrap();
    store.commit(sample::commit(Head::EMPTY, 1)).await.unwrap();
    read_model.apply(0, 1, &[]).await.unwrap();

    assert_eq!(mode(&directory), 0o700);
    let files = [
        "LOCK",
        "ledger.db",
        "ledger.db-shm",
        "ledger.db-wal",
        "read.db",
        "read.db-shm",
        "read.db-wal",
    ];
    let mut found: Vec<_> = std::fs::read_dir(&directory)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    found.sort();
    assert_eq!(found, files);
    for file in files {
        assert_eq!(mode(&directory.join(file)), 0o600, "{file}");
    }
}

fn mode(path: &Path) -> u32 {
    path.metadata().unwrap().permissions().mode() & 0o777
}

#[tokio::test]
async fn tables_of_a_newer_version_are_left_alone() {
    let directory = TempDir::new().unwrap();
    let store = SqliteStore::open(directory.path()).await.unwrap();
    store.close().await;
    let mut other = stranger(&directory.path().join("ledger.db")).await;
    sqlx::query(
        "INSERT INTO _sqlx_migrations (version, description, success, checksum, execution_time)
         VALUES (9999, 'later', true, x'00', 0)",
    )
    .execute(&mut other)
    .await
    .unwrap();

    let error = SqliteStore::open(directory.path()).await.unwrap_err();
    assert!(matches!(error, OpenError::Migration { .. }), "{error:?}");
    let error = SqliteStore::open_read_only(directory.path())
        .await
        .unwrap_err();
    assert!(
        matches!(error, OpenError::Schema { found: 9999, .. }),
        "{error:?}"
    );
    assert!(
        error
            .to_string()
            .contains("use the version of x811 that wrote it")
    );
}
