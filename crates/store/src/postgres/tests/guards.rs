//! What the database itself refuses, whoever asks; and who may write.

use sqlx::postgres::PgConnectOptions;
use sqlx::{AssertSqlSafe, ConnectOptions as _, PgConnection};
use x811_eventlog::Head;
use x811_ledger::checkpoint::{CheckpointStore as _, CheckpointStoreError};
use x811_ledger::port::{Commit, LedgerStore as _};

use super::cluster::Node;
use super::url;
use crate::sqlite::tests::sample;
use crate::{OpenError, PostgresError, PostgresStore};

async fn refused(stranger: &mut PgConnection, statement: &str) -> String {
    let done = sqlx::raw_sql(AssertSqlSafe(statement.to_owned()))
        .execute(stranger)
        .await;
    let error = done.expect_err(statement);
    error.to_string()
}

/// Who gains: an operator who would have a payment unsaid. What they hold: the database, as the owner
/// of the tables.
#[tokio::test]
async fn a_stranger_with_a_shell_changes_nothing_of_the_log() {
    let node = Node::start(&[]).await;
    let url = url(&node).await;
    let store = PostgresStore::open(&url, None).await.unwrap();
    let commit = Commit {
        bodies: vec![sample::body(0, b"{}")],
        ..sample::commit(Head::EMPTY, 1)
    };
    store.commit(commit).await.unwrap();
    let mut stranger = node.stranger().await;
    sqlx::raw_sql("SET search_path = ledger0")
        .execute(&mut stranger)
        .await
        .unwrap();
    for statement in [
        "UPDATE records SET leaf = ''",
        "DELETE FROM records",
        "TRUNCATE records",
        "INSERT INTO records VALUES (2, '')",
        "INSERT INTO records VALUES (0, '') ON CONFLICT (position) DO UPDATE SET leaf = ''",
        "UPDATE bodies SET bytes = 'other'",
        "UPDATE bodies SET bytes = decode('0000', 'hex')",
        "DELETE FROM bodies",
        "TRUNCATE bodies",
        "INSERT INTO erased VALUES (0, 0)",
    ] {
        let said = refused(&mut stranger, statement).await;
        assert!(said.contains("append-only"), "{statement}: {said}");
    }
}

/// The lease keeps a second process out for as long as the first one lives.
#[tokio::test]
async fn a_second_process_is_kept_out_while_the_first_one_lives() {
    let node = Node::start(&[]).await;
    let url = url(&node).await;
    let first = PostgresStore::open(&url, None).await.unwrap();
    let second = PostgresStore::open(&url, None).await.unwrap_err();
    assert!(matches!(second, PostgresError::Held { .. }), "{second:?}");
    first
        .tick(x811_protocol::time::TimestampMs::new(1))
        .await
        .unwrap();
    first.close().await;
    // Let go of: nobody waits for the lease to run out.
    PostgresStore::open(&url, None).await.unwrap();
}

/// A writer that died while its commit waited left a session that works on: it is ended, and whoever
/// takes over sees that it has ended.
#[tokio::test]
async fn what_the_writer_before_has_under_way_is_ended_before_anybody_takes_over() {
    let node = Node::start(&[]).await;
    let url = url(&node).await;
    let _slept = PostgresStore::open(&url, None).await.unwrap();
    let mut stranger = node.stranger().await;
    let holder = sqlx::query_scalar("SELECT holder FROM ledger0.writer");
    let holder: String = holder.fetch_one(&mut stranger).await.unwrap();
    let name = super::super::open::session_name(&holder);
    let session: PgConnectOptions = node.address().parse().unwrap();
    let mut session = session.application_name(&name).connect().await.unwrap();
    let working = tokio::spawn(async move {
        let work = sqlx::query("SELECT pg_sleep(600)");
        work.execute(&mut session).await.map(drop)
    });
    let is_working = "SELECT EXISTS (SELECT FROM pg_stat_activity WHERE wait_event = 'PgSleep')";
    while !sqlx::query_scalar::<_, bool>(is_working)
        .fetch_one(&mut stranger)
        .await
        .unwrap()
    {}
    PostgresStore::open_over(&url).await.unwrap();
    let ended = working.await.unwrap().unwrap_err();
    assert!(ended.to_string().contains("terminating"), "{ended}");
}

/// A primary that dies while a process looks at the tables is no reason to stand by no longer.
#[tokio::test]
async fn stores_2_a_connection_that_is_lost_while_the_tables_are_looked_at_may_come_back() {
    let node = Node::start(&[]).await;
    let url = url(&node).await;
    PostgresStore::open(&url, None).await.unwrap().close().await;
    let mut stranger = node.stranger().await;
    sqlx::raw_sql("BEGIN; LOCK TABLE ledger0._sqlx_migrations IN ACCESS EXCLUSIVE MODE")
        .execute(&mut stranger)
        .await
        .unwrap();
    let opening = tokio::spawn(async move { PostgresStore::open(&url, None).await.map(drop) });
    let ended = "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity
                 WHERE wait_event_type = 'Lock' AND application_name LIKE 'x811 %'";
    while sqlx::query_scalar::<_, i64>(ended)
        .fetch_one(&mut stranger)
        .await
        .unwrap()
        == 0
    {
        sqlx::query("SELECT pg_stat_clear_snapshot()")
            .execute(&mut stranger)
            .await
            .unwrap();
    }
    let lost = OpenError::from(opening.await.unwrap().unwrap_err());
    assert!(lost.may_pass(), "{lost:?}");
}

/// Tables that are not this program's do not become so by asking again.
#[tokio::test]
async fn stores_2_tables_of_another_version_stay_refused() {
    let node = Node::start(&[]).await;
    let url = url(&node).await;
    PostgresStore::open(&url, None).await.unwrap().close().await;
    let mut stranger = node.stranger().await;
    sqlx::raw_sql("UPDATE ledger0._sqlx_migrations SET checksum = 'other'")
        .execute(&mut stranger)
        .await
        .unwrap();
    let refused = PostgresStore::open(&url, None).await.unwrap_err();
    assert!(
        matches!(refused, PostgresError::Migration(_)),
        "{refused:?}"
    );
    assert!(!OpenError::from(refused).may_pass());
}

#[tokio::test]
async fn an_empty_database_has_no_ledger_to_read() {
    let node = Node::start(&[]).await;
    let url = url(&node).await;
    let error = PostgresStore::open_read_only(&url).await.unwrap_err();
    assert!(matches!(error, PostgresError::NoLedger), "{error:?}");
    PostgresStore::open(&url, None).await.unwrap().close().await;
    let reading = PostgresStore::open_read_only(&url).await.unwrap();
    let error = reading.commit(Commit::default()).await.unwrap_err();
    assert!(error.to_string().contains("read-only"), "{error}");
}

/// Who gains: nobody; a writer that slept would stop the one that took over, and have the place of the
/// last checkpoint say that the log is shorter than it is.
#[tokio::test]
async fn a_writer_that_was_replaced_stores_no_checkpoint() {
    let node = Node::start(&[]).await;
    let url = url(&node).await;
    let slept = PostgresStore::open(&url, None).await.unwrap();
    let (slept, first) = (slept.checkpoint(), || "first".to_owned());
    slept.compare_and_swap(None, first()).await.unwrap();
    let second = PostgresStore::open_over(&url).await.unwrap();
    for previous in [None, Some(first())] {
        let swapped = slept.compare_and_swap(previous, "late".to_owned()).await;
        let error = swapped.unwrap_err();
        assert!(matches!(error, CheckpointStoreError::Fenced), "{error:?}");
    }
    let second = second.checkpoint();
    let swapped = second.compare_and_swap(None, "none".to_owned()).await;
    let error = swapped.unwrap_err();
    assert!(matches!(error, CheckpointStoreError::Conflict), "{error:?}");
    assert_eq!(second.load().await.unwrap(), Some(first()));
    let swapped = second.compare_and_swap(Some(first()), "second".to_owned());
    swapped.await.unwrap();
    let reading = PostgresStore::open_read_only(&url).await.unwrap();
    let swapped = reading.checkpoint().compare_and_swap(None, first()).await;
    swapped.unwrap_err();
}
