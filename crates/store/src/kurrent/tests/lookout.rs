//! A stream whose settings change, or whose records go, while a ledger writes to it.

use std::time::Duration;

use x811_eventlog::{AppendError, EventLog as _, Head};
use x811_ledger::port::LedgerStore as _;

use super::between::Place;
use crate::Wait;
use crate::fault::StoreFault;
use crate::kurrent::beside::OpenFault;
use crate::kurrent::client::Patience;
use crate::kurrent::error::KurrentError;
use crate::kurrent::store::KurrentStore;
use crate::postgres::PostgresStore;
use crate::purpose::Purpose;
use crate::sqlite::tests::sample;

const OFTEN: Patience = Patience {
    call: Duration::from_secs(4),
    all: Duration::from_secs(12),
    look: Duration::from_millis(20),
};

impl Place {
    /// Opens the log as a writer that looks at its stream all the time.
    async fn open_looking(&self) -> Result<KurrentStore, OpenFault> {
        let beside = PostgresStore::open_beside(Purpose::Ledger, &self.url, None, Wait::default());
        KurrentStore::over(&self.log, beside.await?, OFTEN).await
    }

    /// Removes all but the last record of a stream for good.
    fn scavenge(&self, name: &str) {
        let mut state = self.cluster.state();
        state.set_metadata(name, r#"{"$maxCount":1}"#);
        state.scavenge();
        state.clear_metadata(name);
    }

    /// A writer of three records, and the name of the stream.
    async fn writing(&self) -> (KurrentStore, Head, String) {
        let store = self.open_looking().await.unwrap();
        let head = store.commit(sample::commit(Head::EMPTY, 3)).await.unwrap();
        let name = store.beside().stream_name().await.unwrap();
        (store, head, name)
    }
}

/// Who gains: whoever takes a right from the ledger's user, and has its operator look for a full disk.
#[tokio::test]
async fn a_right_that_is_missing_suspends_the_ledger_until_it_is_given_back() {
    let mut place = Place::new().await;
    place.cluster.state().users.add("ledger", "secret");
    place.log = place
        .cluster
        .address_as("ledger", "secret")
        .parse()
        .unwrap();
    let (store, head, name) = place.writing().await;
    let acl = |write: &str| {
        format!(
            r#"{{"$acl":{{"$r":["ledger"],"$w":["{write}"],"$mr":["ledger"],"$mw":"$admins"}}}}"#
        )
    };
    place.cluster.state().set_metadata(&name, &acl("$admins"));
    store.commit(sample::commit(head, 1)).await.unwrap_err();
    let sentence = suspended(until(&store, true).await);
    assert!(
        sentence.contains("`$w`") && sentence.contains(&name),
        "{sentence}"
    );
    // A look that reads all is not enough.
    let sentence = suspended(store.fault());
    assert!(sentence.contains("denies"), "{sentence}");
    place.cluster.state().set_metadata(&name, &acl("ledger"));
    until(&store, false).await;
    store.commit(sample::commit(head, 1)).await.unwrap();
    store.close().await;
}

/// An answer that is ended on its way says nothing of the first record.
#[tokio::test]
async fn an_empty_answer_ends_no_suspension() {
    let place = Place::new().await;
    let (store, _, name) = place.writing().await;
    place.scavenge(&name);
    suspended(until(&store, true).await);
    store.close().await;
    place.cluster.state().faults.ended_reads = 2;
    let error = place.open_looking().await.unwrap_err();
    assert!(error.to_string().contains("begins with record"), "{error}");
}

/// Who gains: an administrator of the database who would have other records go on as the log.
#[tokio::test]
async fn a_leaf_of_the_database_that_is_not_the_streams_is_named() {
    let place = Place::new().await;
    let (store, _, name) = place.writing().await;
    store.close().await;
    let reading = KurrentStore::open_read_only(&place.log, &place.url)
        .await
        .unwrap();
    assert_eq!(reading.problems().await, Vec::<String>::new());
    let payloads = place.cluster.state().payloads(&name);
    let other = String::from_utf8(payloads[2].clone()).unwrap();
    let other = other.replace("\"type\":\"t\"", "\"type\":\"u\"");
    place.cluster.state().replace(&name, 2, other.into_bytes());
    let problems = reading.problems().await;
    assert!(problems[0].contains("record 2"), "{problems:?}");
}

/// Waits until the writer knows of a fault, or of none.
async fn until(store: &KurrentStore, is_faulty: bool) -> Option<StoreFault> {
    let known = async {
        while store.fault().is_some() != is_faulty {
            tokio::task::yield_now().await;
        }
        store.fault()
    };
    let known = tokio::time::timeout(Duration::from_secs(20), known).await;
    known.expect("the lookout looks every 20 ms")
}

fn suspended(fault: Option<StoreFault>) -> String {
    match fault {
        Some(StoreFault::Suspended(sentence)) => sentence,
        other => panic!("{other:?}"),
    }
}

/// Who gains: whoever can write the stream's metadata, and have the ledger acknowledge what readers no
/// longer find.
#[tokio::test]
async fn a_setting_that_hides_records_suspends_the_ledger_until_it_is_removed() {
    let place = Place::new().await;
    let (store, head, name) = place.writing().await;
    let tables: [(&str, &[&str]); 4] = [
        (r#"{"$maxCount":2}"#, &["$maxCount", "nothing is lost"]),
        (r#"{"$maxAge":60}"#, &["$maxAge", "nothing is lost"]),
        (r#"{"$tb":1}"#, &["$tb", "nothing is lost"]),
        (
            r#"{"$tb":9223372036854775807}"#,
            &["soft delete", "nothing is lost", "remove `$tb`"],
        ),
    ];
    let mut head = head;
    for (metadata, words) in tables {
        place.cluster.state().set_metadata(&name, metadata);
        let sentence = suspended(until(&store, true).await);
        for word in words {
            assert!(sentence.contains(word), "{sentence}");
        }
        let stored = place.cluster.state().stored_appends;
        let error = store.commit(sample::commit(head, 1)).await.unwrap_err();
        assert!(matches!(error, AppendError::Backend(_)), "{error:?}");
        assert_eq!(place.cluster.state().stored_appends, stored, "{metadata}");
        place.cluster.state().clear_metadata(&name);
        until(&store, false).await;
        head = store.commit(sample::commit(head, 1)).await.unwrap();
    }
    assert_eq!(store.log().read(0, 99).await.unwrap().len(), 7);
    store.close().await;
}

/// What was acknowledged between the deletion and the next look is there again as well.
#[tokio::test]
async fn records_written_after_a_soft_delete_are_back_with_the_others() {
    let place = Place::new().await;
    let (store, head, name) = place.writing().await;
    place.cluster.state().soft_delete(&name);
    let head = store.commit(sample::commit(head, 1)).await.unwrap();
    let sentence = suspended(until(&store, true).await);
    assert!(sentence.contains("$tb"), "{sentence}");
    store.close().await;
    let error = place.open_looking().await.unwrap_err();
    assert!(error.to_string().contains("$tb"), "{error}");
    place.cluster.state().clear_metadata(&name);
    let store = place.open_looking().await.unwrap();
    assert_eq!(store.log().head().await.unwrap(), head);
    store.close().await;
}

#[tokio::test]
async fn a_tombstone_ends_the_ledger_with_its_name() {
    let place = Place::new().await;
    let (store, head, name) = place.writing().await;
    place.cluster.state().tombstone(&name);
    store.commit(sample::commit(head, 1)).await.unwrap_err();
    let Some(StoreFault::Lost(sentence)) = until(&store, true).await else {
        panic!("a tombstone is for ever");
    };
    assert!(sentence.contains("for ever"), "{sentence}");
    store.close().await;
    let error = place.open_looking().await.unwrap_err();
    assert!(
        matches!(error, OpenFault::Kurrent(KurrentError::Tombstoned { .. })),
        "{error:?}"
    );
}

/// Who gains: whoever hides the first records, has a scavenge remove them, and takes the setting away.
#[tokio::test]
async fn a_stream_that_lost_its_first_records_suspends_its_writer_and_is_refused_at_a_start() {
    let place = Place::new().await;
    let (store, head, name) = place.writing().await;
    place.scavenge(&name);
    store.commit(sample::commit(head, 1)).await.ok();
    let sentence = suspended(until(&store, true).await);
    assert!(sentence.contains("begins with record 2"), "{sentence}");
    store.close().await;
    let error = place.open_looking().await.unwrap_err();
    let OpenFault::Kurrent(KurrentError::BeginsLate { first: 2, .. }) = &error else {
        panic!("{error:?}");
    };
    assert!(error.to_string().contains("x811 log copy"), "{error}");
    let reading = KurrentStore::open_read_only(&place.log, &place.url).await;
    assert!(reading.unwrap_err().to_string().contains("scavenge"));
}
