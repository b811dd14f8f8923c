//! What "acknowledged" rests on, with three real nodes (stores.md section 3): a commit that returned
//! proves nothing, and a naive build fails each of these.

use std::time::Duration;

use sqlx::Connection as _;
use x811_eventlog::{AppendError, Draft, EventLog as _, Head, Record};
use x811_ledger::port::{Commit, LedgerStore as _};

use super::cluster::Node;
use super::url;
use crate::{PostgresError, PostgresStore, Quorum, StoreUrl};

/// A primary that waits for one of two standbys.
struct Three {
    primary: Node,
    s2: Node,
    s3: Node,
    url: StoreUrl,
}

const NAMES: &str = "ALTER SYSTEM SET synchronous_standby_names = 'ANY 1 (s2, s3)'";
const NO_NAMES: &str = "ALTER SYSTEM SET synchronous_standby_names = ''";
const RELOAD: &str = "SELECT pg_reload_conf()";

async fn three() -> Three {
    let primary = Node::start(&["wal_level=replica", "max_wal_senders=6"]).await;
    let (s2, s3) = (primary.standby("s2").await, primary.standby("s3").await);
    let url = url(&primary).await;
    primary.run_sql(NAMES).await;
    primary.run_sql(RELOAD).await;
    let three = Three {
        primary,
        s2,
        s3,
        url,
    };
    three
        .wait_until(
            "synchronous_standby_names has changed",
            "SELECT current_setting('synchronous_standby_names') <> ''",
        )
        .await;
    three
}

/// The ledger's schema on some node.
fn at(node: &Node) -> StoreUrl {
    node.address_of("ledger0").parse().unwrap()
}

fn quorum() -> Option<Quorum> {
    Quorum::of(1, vec!["s2".to_owned(), "s3".to_owned()])
}

impl Three {
    async fn open(&self) -> PostgresStore {
        PostgresStore::open(&self.url, quorum()).await.unwrap()
    }

    /// Asks the primary until it says yes.
    async fn wait_until(&self, what: &str, question: &'static str) {
        for _ in 0..1_000 {
            let mut stranger = self.primary.stranger().await;
            let yes: bool = sqlx::query_scalar(question)
                .fetch_one(&mut stranger)
                .await
                .unwrap();
            if yes {
                return;
            }
            let _ = stranger.close().await;
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        panic!("{what}: never");
    }

    /// Until a commit waits for standbys.
    async fn wait_for_a_waiting_commit(&self) {
        self.wait_until(
            "a commit waits for standbys",
            "SELECT EXISTS (SELECT FROM pg_stat_activity WHERE wait_event = 'SyncRep')",
        )
        .await;
    }
}

fn next(head: Head) -> Commit {
    let draft = Draft {
        recorded_at_ms: head.recorded_at_ms + 1,
        stream: "s".to_owned(),
        stream_seq: head.size,
        event: serde_json::json!({ "type": "t" }),
    };
    let record = Record::seal(head.size, head.hash, draft).unwrap();
    Commit {
        expected_size: head.size,
        records: vec![record],
        frontier: vec![1],
        ..Commit::default()
    }
}

/// Who gains: whoever ends a query that hangs. PostgreSQL then calls the commit done, with a warning.
#[tokio::test]
async fn a_wait_for_standbys_that_was_cancelled_acknowledges_nothing() {
    let three = three().await;
    let store = std::sync::Arc::new(three.open().await);
    let head = store.commit(next(Head::EMPTY)).await.unwrap();
    three.s2.signal("STOP");
    three.s3.signal("STOP");
    let committing = tokio::spawn({
        let store = store.clone();
        async move { store.commit(next(head)).await }
    });
    three.wait_for_a_waiting_commit().await;
    three
        .primary
        .run_sql("SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE wait_event = 'SyncRep'")
        .await;
    let error = committing.await.unwrap().unwrap_err();
    assert!(
        matches!(error, AppendError::OutcomeUnknown { .. }),
        "{error:?}"
    );
    // The primary shows it, no standby has it: nobody may be told of it.
    let error = store.log().head().await.unwrap_err();
    assert!(error.to_string().contains("of the standbys"), "{error}");
    three.s2.signal("CONT");
    three.s3.signal("CONT");
    assert_eq!(store.log().head().await.unwrap().size, 2);
    assert_eq!(
        store
            .commit(next(store.log().head().await.unwrap()))
            .await
            .unwrap()
            .size,
        3
    );
}

/// Who gains: an operator in a hurry, who lets commits through and puts the names back. The commit
/// then returns without a warning.
#[tokio::test]
async fn names_emptied_and_put_back_acknowledge_nothing() {
    let three = three().await;
    let store = std::sync::Arc::new(three.open().await);
    let head = store.commit(next(Head::EMPTY)).await.unwrap();
    three.s2.signal("STOP");
    three.s3.signal("STOP");
    let committing = tokio::spawn({
        let store = store.clone();
        async move { store.commit(next(head)).await }
    });
    three.wait_for_a_waiting_commit().await;
    three.primary.run_sql(NO_NAMES).await;
    three.primary.run_sql(RELOAD).await;
    three
        .wait_until(
            "the commit went on",
            "SELECT NOT EXISTS (SELECT FROM pg_stat_activity WHERE wait_event = 'SyncRep')",
        )
        .await;
    three.primary.run_sql(NAMES).await;
    three.primary.run_sql(RELOAD).await;
    let error = committing.await.unwrap().unwrap_err();
    assert!(
        matches!(error, AppendError::OutcomeUnknown { .. }),
        "{error:?}"
    );
    three.s3.signal("CONT");
    assert_eq!(store.log().head().await.unwrap().size, 2);
    three.s2.signal("CONT");
}

/// The standby that lagged has nothing of what the other one confirmed: it must not be promoted, and
/// the one with the highest flushed position has every acknowledged record.
#[tokio::test]
async fn the_standby_that_is_ahead_has_all_that_was_acknowledged_and_the_lagging_one_has_not() {
    let Three {
        mut primary,
        s2,
        mut s3,
        url,
    } = three().await;
    let store = PostgresStore::open(&url, quorum()).await.unwrap();
    let mut head = store.commit(next(Head::EMPTY)).await.unwrap();
    s3.kill();
    for _ in 0..20 {
        head = store.commit(next(head)).await.unwrap();
    }
    primary.kill();
    // An acknowledgement that nobody gave.
    let error = store.commit(next(head)).await.unwrap_err();
    assert!(
        matches!(
            error,
            AppendError::OutcomeUnknown { .. } | AppendError::Backend(_)
        ),
        "{error:?}"
    );
    s3.run(&[]).await;
    let mut flushed = Vec::new();
    for standby in [&s2, &s3] {
        let lsn: String = sqlx::query_scalar("SELECT pg_last_wal_receive_lsn()::text")
            .fetch_one(&mut standby.stranger().await)
            .await
            .unwrap();
        flushed.push(lsn);
    }
    let is_s2_ahead: bool = sqlx::query_scalar("SELECT $1::pg_lsn > $2::pg_lsn")
        .bind(&flushed[0])
        .bind(&flushed[1])
        .fetch_one(&mut s2.stranger().await)
        .await
        .unwrap();
    assert!(is_s2_ahead, "{flushed:?}");
    let standby = PostgresStore::open(&at(&s2), None).await;
    assert!(
        matches!(standby, Err(PostgresError::Standby)),
        "{standby:?}"
    );
    s2.promote().await;
    let promoted = PostgresStore::open(&at(&s2), None).await.unwrap();
    assert_eq!(promoted.log().head().await.unwrap(), head);
    let lagging = PostgresStore::open_read_only(&at(&s3)).await.unwrap();
    assert!(lagging.log().head().await.unwrap().size < head.size);
}

/// Names that do not wait for these standbys are no quorum.
#[tokio::test]
async fn a_quorum_that_the_database_does_not_know_is_refused() {
    let node = Node::start(&[]).await;
    let url = url(&node).await;
    let error = PostgresStore::open(&url, quorum()).await.unwrap_err();
    assert!(matches!(error, PostgresError::Names { .. }), "{error:?}");
    assert!(error.to_string().contains("ANY 1 (s2, s3)"), "{error}");
}
