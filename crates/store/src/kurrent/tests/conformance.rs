//! Every promise of the log and of the store, on the double, and on a real cluster where
//! `X811_TEST_KURRENTDB_URL` names one.

use x811_eventlog::conformance as log;
use x811_ledger::conformance::{self as promised, Places, StorePlace};

use super::double::Cluster;
use crate::kurrent::client::Patience;
use crate::kurrent::store::KurrentStore;
use crate::postgres::PostgresStore;
use crate::postgres::tests::cluster::Node;
use crate::postgres::tests::url;
use crate::purpose::Purpose;
use crate::{LogUrl, StoreUrl, Wait};

struct Opened {
    store: KurrentStore,
    url: StoreUrl,
}

impl StorePlace for Opened {
    type Store = KurrentStore;

    fn store(&self) -> &KurrentStore {
        &self.store
    }
}

struct Stores {
    beside: Node,
    log: LogUrl,
}

impl Stores {
    async fn opened(&self, url: StoreUrl) -> Opened {
        let store = KurrentStore::open(Purpose::Ledger, &self.log, &url, None, Wait::default());
        let store = store.await.unwrap();
        Opened { store, url }
    }
}

impl Places for Stores {
    type Place = Opened;

    async fn open(&self) -> Opened {
        self.opened(url(&self.beside).await).await
    }

    async fn reopen(&self, Opened { store, url }: Opened) -> Option<Opened> {
        store.close().await;
        Some(self.opened(url).await)
    }

    async fn take_over(&self, Opened { url, .. }: &Opened) -> Option<Opened> {
        let beside = PostgresStore::open_over_beside(url).await.unwrap();
        let store = KurrentStore::over(&self.log, beside, Patience::default());
        let store = store.await.unwrap();
        let url = url.clone();
        Some(Opened { store, url })
    }
}

impl log::Backend for Stores {
    type Log = KurrentStore;

    async fn open(&self) -> KurrentStore {
        Places::open(self).await.store
    }
}

#[tokio::test]
async fn the_log_keeps_its_promises_on_the_double() {
    let cluster = Cluster::start(3).await;
    let (beside, log) = (Node::start(&[]).await, cluster.url());
    log::every_promise(&Stores { beside, log }).await;
}

#[tokio::test]
async fn the_store_keeps_its_promises_on_the_double() {
    let cluster = Cluster::start(3).await;
    let (beside, log) = (Node::start(&[]).await, cluster.url());
    promised::every_promise_of_a_store(&Stores { beside, log }).await;
}

/// The same on a real cluster. Without one nothing is claimed.
#[tokio::test]
async fn the_promises_are_kept_on_a_real_cluster() {
    let Ok(log) = std::env::var("X811_TEST_KURRENTDB_URL") else {
        eprintln!("SKIPPED all promises: X811_TEST_KURRENTDB_URL names no cluster");
        return;
    };
    let _ = rustls::crypto::ring::default_provider().install_default();
    let (beside, log) = (Node::start(&[]).await, log.parse().unwrap());
    let stores = Stores { beside, log };
    log::every_promise(&stores).await;
    promised::every_promise_of_a_store(&stores).await;
}
