//! What "acknowledged" rests on, with three real nodes (stores.md section 3): a commit that returned
//! proves nothing, and a naive build fails each of these.

use std::sync::Arc;
use std::time::Duration;

use sqlx::Connection as _;
use tokio::task::JoinHandle;
use x811_eventlog::{AppendError, EventLog as _, Head};
use x811_ledger::port::{Commit, LedgerStore as _};

use super::cluster::Node;
use super::url;
use crate::sqlite::tests::sample;
use crate::{PostgresError, PostgresStore, Quorum, StoreUrl};

/// A commit that is under way.
type Committing = JoinHandle<Result<Head, AppendError>>;

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
    three_with("wal_writer_delay=200ms").await
}

/// The same, with a setting of the primary.
async fn three_with(setting: &str) -> Three {
    let settings = ["wal_level=replica", "max_wal_senders=6", setting];
    let primary = Node::start(&settings).await;
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

    /// Commits behind `head`, and meanwhile stops both standbys; gives the task once its commit waits
    /// for them.
    async fn waiting_commit(&self, store: &Arc<PostgresStore>, head: Head) -> Committing {
        self.s2.signal("STOP");
        self.s3.signal("STOP");
        let store = store.clone();
        let committing = tokio::spawn(async move { store.commit(next(head)).await });
        self.wait_for_a_waiting_commit().await;
        committing
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
    sample::commit(head, 1)
}

/// Who gains: whoever ends a query that hangs. PostgreSQL then calls the commit done, with a warning.
#[tokio::test]
async fn a_wait_for_standbys_that_was_cancelled_acknowledges_nothing() {
    let three = three().await;
    let store = Arc::new(three.open().await);
    let head = store.commit(next(Head::EMPTY)).await.unwrap();
    let committing = three.waiting_commit(&store, head).await;
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
    let store = Arc::new(three.open().await);
    let head = store.commit(next(Head::EMPTY)).await.unwrap();
    let committing = three.waiting_commit(&store, head).await;
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

/// What others insert into the primary's log without waiting for its disk, as each renewal of the lease
/// does, lies there until its WAL writer comes by: who commits must not wait for that.
#[tokio::test]
async fn what_others_have_not_flushed_holds_up_no_acknowledgement() {
    let three = three_with("wal_writer_delay=10s").await;
    let store = Arc::new(three.open().await);
    let head = store.commit(next(Head::EMPTY)).await.unwrap();
    let committing = three.waiting_commit(&store, head).await;
    let primary = &three.primary;
    primary
        .run_sql("SELECT pg_logical_emit_message(false, 'x811', 'flushed later')")
        .await;
    let is_unflushed: bool =
        sqlx::query_scalar("SELECT pg_current_wal_insert_lsn() > pg_current_wal_flush_lsn()")
            .fetch_one(&mut primary.stranger().await)
            .await
            .unwrap();
    assert!(is_unflushed);
    three.s2.signal("CONT");
    assert_eq!(committing.await.unwrap().unwrap().size, 2);
    three.s3.signal("CONT");
}

/// Who gains: whoever wants the database to be quicker, and may change its settings: a power cut would
/// then undo what was acknowledged. That commits wait is looked at in each of them.
#[tokio::test]
async fn a_commit_that_would_not_wait_for_the_disk_writes_nothing() {
    let three = three().await;
    let store = three.open().await;
    let mut head = store.commit(next(Head::EMPTY)).await.unwrap();
    for setting in ["off", "local", "remote_write"] {
        let set = format!("ALTER SYSTEM SET synchronous_commit = '{setting}'");
        three.primary.run_sql(&set).await;
        three.primary.run_sql(RELOAD).await;
        let due = format!("synchronous_commit is \"{setting}\"");
        // The session that writes reads its settings again when it likes.
        loop {
            match store.commit(next(head)).await {
                Ok(longer) => head = longer,
                Err(error) if error.to_string().contains(&due) => break,
                Err(error) => assert!(error.to_string().contains("synchronous_commit"), "{error}"),
            }
        }
        assert_eq!(store.log().head().await.unwrap(), head);
    }
    let reset = "ALTER SYSTEM RESET synchronous_commit";
    three.primary.run_sql(reset).await;
    three.primary.run_sql(RELOAD).await;
    let size = head.size;
    while store.commit(next(head)).await.is_err() {}
    assert_eq!(store.log().head().await.unwrap().size, size + 1);
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

/// Nobody commits: that the standbys are gone, or not waited for, is known all the same.
#[tokio::test]
async fn standbys_that_are_gone_are_missed_while_nothing_is_committed() {
    let three = three().await;
    let store = three.open().await;
    let lease = store.lease().unwrap();
    let until = async |is_confirmed: bool| {
        for _ in 0..1_000 {
            if lease.is_confirmed() == is_confirmed {
                return;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        panic!("never {is_confirmed}");
    };
    until(true).await;
    three.s2.signal("STOP");
    three.s3.signal("STOP");
    until(false).await;
    three.s3.signal("CONT");
    until(true).await;
    three.primary.run_sql(NO_NAMES).await;
    three.primary.run_sql(RELOAD).await;
    until(false).await;
    three.primary.run_sql(NAMES).await;
    three.primary.run_sql(RELOAD).await;
    until(true).await;
    three.s2.signal("CONT");
    store.close().await;
}
