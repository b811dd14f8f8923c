//! Every promise of the log and of the store, on a real server. In few tests: each starts a server,
//! and gives every place a schema of its own.

use x811_eventlog::conformance as log;
use x811_eventlog::{EventLog as _, Head};
use x811_ledger::conformance::{self as promised, CheckpointPlace, Places, StorePlace};
use x811_ledger::port::LedgerStore as _;

use super::cluster::Node;
use super::url;
use crate::postgres::CheckpointRow;
use crate::sqlite::tests::sample;
use crate::{PostgresStore, StoreUrl};

struct Opened {
    store: PostgresStore,
    url: StoreUrl,
}

impl StorePlace for Opened {
    type Store = PostgresStore;

    fn store(&self) -> &PostgresStore {
        &self.store
    }
}

struct Stores(Node);

impl Places for Stores {
    type Place = Opened;

    async fn open(&self) -> Opened {
        let url = url(&self.0).await;
        let store = PostgresStore::open(&url, None).await.unwrap();
        Opened { store, url }
    }

    async fn reopen(&self, Opened { store, url }: Opened) -> Option<Opened> {
        store.close().await;
        let store = PostgresStore::open(&url, None).await.unwrap();
        Some(Opened { store, url })
    }

    async fn take_over(&self, Opened { url, .. }: &Opened) -> Option<Opened> {
        let store = PostgresStore::open_over(url).await.unwrap();
        let url = url.clone();
        Some(Opened { store, url })
    }
}

struct Logs(Node);

impl log::Backend for Logs {
    type Log = PostgresStore;

    async fn open(&self) -> PostgresStore {
        let url = url(&self.0).await;
        PostgresStore::open(&url, None).await.unwrap()
    }
}

#[tokio::test]
async fn the_log_keeps_its_promises() {
    let logs = Logs(Node::start(&[]).await);
    log::every_promise(&logs).await;
}

#[tokio::test]
async fn the_store_keeps_its_promises() {
    let stores = Stores(Node::start(&[]).await);
    promised::every_promise_of_a_store(&stores).await;
}

struct Signed {
    row: CheckpointRow,
    opened: Opened,
}

impl CheckpointPlace for Signed {
    type Checkpoint = CheckpointRow;

    fn checkpoint(&self) -> &CheckpointRow {
        &self.row
    }
}

struct Checkpoints(Stores);

impl Places for Checkpoints {
    type Place = Signed;

    async fn open(&self) -> Signed {
        let opened = self.0.open().await;
        let row = opened.store.checkpoint();
        Signed { row, opened }
    }

    async fn reopen(&self, Signed { row, opened }: Signed) -> Option<Signed> {
        drop(row);
        let opened = self.0.reopen(opened).await?;
        let row = opened.store.checkpoint();
        Some(Signed { row, opened })
    }
}

#[tokio::test]
async fn the_row_of_the_checkpoint_keeps_its_promises() {
    let places = Checkpoints(Stores(Node::start(&[]).await));
    promised::every_promise_of_a_checkpoint(&places).await;
}

/// Who follows sees what is published, and not what is only committed; who was replaced hears of it.
#[tokio::test]
async fn stores_3_who_follows_sees_nothing_beyond_the_published_head() {
    let node = Node::start(&[]).await;
    let url = url(&node).await;
    let writer = PostgresStore::open(&url, None).await.unwrap();
    let follower = PostgresStore::open_following(&url).await.unwrap();
    let records = sample::records(Head::EMPTY, 3);
    writer.append(0, &records).await.unwrap();
    assert!(writer.lease().unwrap().is_sure());
    // Published a moment later, and shown once that was looked at.
    assert_eq!(follower.head().await.unwrap().size, 0);
    assert!(follower.read(0, 10).await.unwrap().is_empty());
    while follower.look().await.unwrap().size < 3 {
        tokio::time::sleep(std::time::Duration::from_millis(5)).await;
    }
    assert_eq!(follower.head().await.unwrap().size, 3);
    assert_eq!(follower.read(1, 10).await.unwrap().len(), 2);
    // Committed behind the writer's back, as by one that does not know yet whether standbys have it.
    node.run_sql("INSERT INTO ledger0.records VALUES (3, '{}')")
        .await;
    follower.look().await.unwrap();
    assert_eq!(follower.head().await.unwrap().size, 3);
    assert!(follower.read(3, 10).await.unwrap().is_empty());
    assert!(follower.records(&[3]).await.unwrap().is_empty());
    let next = PostgresStore::open_over(&url).await.unwrap();
    writer.lease().unwrap().lost().await;
    assert!(!writer.lease().unwrap().is_sure());
    assert!(next.lease().unwrap().is_sure());
}
