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

async fn the_log(logs: &Stores) {
    log::new_log_is_empty(logs).await;
    log::append_returns_the_head(logs).await;
    log::empty_batch_writes_nothing(logs).await;
    log::conflict_changes_nothing(logs).await;
    log::concurrent_appends_have_one_winner(logs).await;
    log::batch_over_the_limit_is_refused(logs).await;
    log::non_contiguous_batch_is_refused(logs).await;
    log::bytes_are_read_back_verbatim(logs).await;
    log::pages_are_contiguous_and_limited(logs).await;
    log::reading_past_the_end_is_empty(logs).await;
    log::follow_returns_at_once_when_already_longer(logs).await;
    log::follow_wakes_only_when_longer(logs).await;
    log::follow_wakes_every_follower(logs).await;
}

async fn the_store(stores: &Stores) {
    promised::a_commit_is_read_back_whole(stores).await;
    promised::records_come_in_the_order_they_are_asked_for(stores).await;
    promised::asking_for_nothing_finds_nothing(stores).await;
    promised::a_taken_key_leaves_nothing(stores).await;
    promised::a_commit_twice_is_a_conflict_that_leaves_nothing(stores).await;
    promised::a_position_has_the_body_of_its_record(stores).await;
    promised::a_commit_that_was_given_up_holds_whole_or_not_at_all(stores).await;
    promised::a_later_writer_fences_every_write(stores).await;
    promised::many_rows_are_one_commit(stores).await;
    promised::everything_survives_reopening(stores).await;
    promised::nonces_alone_need_the_right_size(stores).await;
    promised::purging_forgets_what_is_older_and_nothing_else(stores).await;
    promised::the_last_tick_is_the_one_that_counts(stores).await;
    promised::counts_are_of_what_lies_below(stores).await;
    promised::erased_bodies_are_gone_and_nothing_else(stores).await;
}

/// Promises in the two lists above.
const PROMISES: usize = 28;

#[tokio::test]
async fn the_log_keeps_its_promises_on_the_double() {
    let cluster = Cluster::start(3).await;
    let (beside, log) = (Node::start(&[]).await, cluster.url());
    the_log(&Stores { beside, log }).await;
}

#[tokio::test]
async fn the_store_keeps_its_promises_on_the_double() {
    let cluster = Cluster::start(3).await;
    let (beside, log) = (Node::start(&[]).await, cluster.url());
    the_store(&Stores { beside, log }).await;
}

/// The same on a real cluster. Without one nothing is claimed.
#[tokio::test]
async fn the_promises_are_kept_on_a_real_cluster() {
    let Ok(log) = std::env::var("X811_TEST_KURRENTDB_URL") else {
        eprintln!("SKIPPED {PROMISES} promises: X811_TEST_KURRENTDB_URL names no cluster");
        return;
    };
    let _ = rustls::crypto::ring::default_provider().install_default();
    let (beside, log) = (Node::start(&[]).await, log.parse().unwrap());
    let stores = Stores { beside, log };
    the_log(&stores).await;
    the_store(&stores).await;
}
