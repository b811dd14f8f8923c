//! Every promise of the log and of the store, on a real server. In few tests: each starts a server,
//! and gives every place a schema of its own.

use x811_eventlog::conformance as log;
use x811_ledger::conformance::{self as promised, Places, StorePlace};

use super::cluster::Node;
use super::url;
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
    log::new_log_is_empty(&logs).await;
    log::append_returns_the_head(&logs).await;
    log::empty_batch_writes_nothing(&logs).await;
    log::conflict_changes_nothing(&logs).await;
    log::concurrent_appends_have_one_winner(&logs).await;
    log::batch_over_the_limit_is_refused(&logs).await;
    log::non_contiguous_batch_is_refused(&logs).await;
    log::bytes_are_read_back_verbatim(&logs).await;
    log::pages_are_contiguous_and_limited(&logs).await;
    log::reading_past_the_end_is_empty(&logs).await;
    log::follow_returns_at_once_when_already_longer(&logs).await;
    log::follow_wakes_only_when_longer(&logs).await;
    log::follow_wakes_every_follower(&logs).await;
}

#[tokio::test]
async fn the_store_keeps_its_promises() {
    let stores = Stores(Node::start(&[]).await);
    promised::a_commit_is_read_back_whole(&stores).await;
    promised::records_come_in_the_order_they_are_asked_for(&stores).await;
    promised::asking_for_nothing_finds_nothing(&stores).await;
    promised::a_taken_key_leaves_nothing(&stores).await;
    promised::a_commit_twice_is_a_conflict_that_leaves_nothing(&stores).await;
    promised::a_position_has_the_body_of_its_record(&stores).await;
    promised::a_commit_that_was_given_up_holds_whole_or_not_at_all(&stores).await;
    promised::a_later_writer_fences_every_write(&stores).await;
    promised::many_rows_are_one_commit(&stores).await;
    promised::everything_survives_reopening(&stores).await;
    promised::nonces_alone_need_the_right_size(&stores).await;
    promised::purging_forgets_what_is_older_and_nothing_else(&stores).await;
    promised::the_last_tick_is_the_one_that_counts(&stores).await;
    promised::counts_are_of_what_lies_below(&stores).await;
    promised::erased_bodies_are_gone_and_nothing_else(&stores).await;
}
