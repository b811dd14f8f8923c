//! What a crash, or another writer, leaves between the stream and the database beside it. The
//! records are those of a log of the first release, with their bodies.

use std::collections::HashMap;
use std::fs::File;
use std::io::BufReader;
use std::sync::Arc;

use x811_audit::export::{Item, Reader};
use x811_eventlog::{AppendError, EventLog as _, Head, Record};
use x811_ledger::copy::{bodies_named, commit_of};
use x811_ledger::port::{Body, Commit, LedgerStore as _};
use x811_protocol::digest::Digest;

use super::double::Cluster;
use crate::kurrent::client::Patience;
use crate::kurrent::error::KurrentError;
use crate::kurrent::store::KurrentStore;
use crate::kurrent::{beside, beside::OpenFault};
use crate::postgres::PostgresStore;
use crate::postgres::tests::cluster::Node;
use crate::postgres::tests::url;
use crate::purpose::Purpose;
use crate::sqlite::tests::sample;
use crate::{LogUrl, StoreUrl, Wait};

const EXPORT: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../../tests/logs/rules-2/rules-2.x811"
);

/// The whole log as one commit.
fn all() -> Commit {
    let reader = Reader::new(BufReader::new(File::open(EXPORT).unwrap()));
    let (mut records, mut bodies) = (Vec::new(), HashMap::new());
    for item in reader {
        if let Item::Record(line) = item.unwrap() {
            let record = Record::parse(line.leaf).unwrap();
            if let Some(body) = line.body {
                bodies.insert(record.position(), Arc::from(body.bytes));
            }
            records.push(record);
        }
    }
    assert!(bodies.len() > 5 && records.len() > bodies.len());
    commit_of(None, records, &bodies).unwrap()
}

/// A cluster and a database for one log.
pub(super) struct Place {
    _server: Node,
    pub(super) cluster: Cluster,
    pub(super) log: LogUrl,
    pub(super) url: StoreUrl,
}

impl Place {
    pub(super) async fn new() -> Place {
        let (server, cluster) = (Node::start(&[]).await, Cluster::start(1).await);
        let (url, log) = (url(&server).await, cluster.url());
        Place {
            _server: server,
            cluster,
            log,
            url,
        }
    }

    async fn open(&self) -> Result<KurrentStore, OpenFault> {
        KurrentStore::open(Purpose::Ledger, &self.log, &self.url, None, Wait::default()).await
    }

    /// The two, one by one, as the writer has them.
    async fn parts(&self) -> (PostgresStore, crate::kurrent::stream::Stream) {
        let database =
            PostgresStore::open_beside(Purpose::Ledger, &self.url, None, Wait::default());
        let database = database.await.unwrap();
        let stream = beside::stream(&self.log, &database, Patience::default());
        let stream = stream.await.unwrap();
        (database, stream)
    }
}

async fn is_whole(store: &KurrentStore, due: &Commit) {
    let head = Head::after(due.records.last().unwrap());
    assert_eq!(store.log().head().await.unwrap(), head);
    let named = bodies_named(&due.records).unwrap();
    let positions: Vec<u64> = named.iter().map(|(position, _)| *position).collect();
    let bodies = store.bodies(&positions).await.unwrap();
    assert_eq!(bodies.len(), named.len());
    for (position, digest) in named {
        bodies[&position].check(digest).unwrap();
    }
    let counts = store.index_counts(head.size).await.unwrap();
    assert_eq!(counts.envelope_ids, due.envelope_ids.len() as u64);
    assert_eq!(counts.idempotency, due.idempotency.len() as u64);
    assert_eq!(counts.claims, due.claims.len() as u64);
    let tree = store.frontier().await.unwrap();
    assert_eq!(tree, Some((head.size, due.frontier.clone())));
}

/// Killed behind the append: the records are acknowledged to nobody, and are in the log. Somebody
/// staged other bodies for the same positions before, and did not get them.
#[tokio::test]
async fn what_a_crash_left_out_of_the_database_is_made_good() {
    let place = Place::new().await;
    let due = all();
    let (database, stream) = place.parts().await;
    let other: Arc<[u8]> = b"another body".as_slice().into();
    let others = due.bodies.iter().map(|body| Body {
        position: body.position,
        digest: Digest::of(&other),
        bytes: other.clone(),
    });
    let replaced = Commit {
        bodies: others.collect(),
        ..Commit::default()
    };
    database.stage(&replaced).await.unwrap();
    database.stage(&due).await.unwrap();
    stream.append(0, &due.records).await.unwrap();
    database.close().await;

    let store = place.open().await.unwrap();
    is_whole(&store, &due).await;
    store.close().await;
}

/// Killed before the append: nothing is there, and the same is stored by who comes next.
#[tokio::test]
async fn what_was_only_staged_is_nowhere() {
    let place = Place::new().await;
    let due = all();
    let (database, _) = place.parts().await;
    database.stage(&due).await.unwrap();
    database.close().await;
    let store = place.open().await.unwrap();
    assert_eq!(store.log().head().await.unwrap(), Head::EMPTY);
    let positions: Vec<u64> = (0..due.records.len() as u64).collect();
    assert!(store.bodies(&positions).await.unwrap().is_empty());
    // The acknowledgement of the append is swallowed: it is whole all the same, once.
    place.cluster.state().faults.swallowed_acks = 1;
    store.commit(due.clone()).await.unwrap();
    is_whole(&store, &due).await;
    assert_eq!(place.cluster.state().stored_appends, 1);
    store.close().await;
}

/// A writer that slept places what it had staged behind the one that replaced it: neither of them
/// acknowledges anything that is not in the log, and the one that comes next has all of it.
#[tokio::test]
async fn a_writer_that_slept_ends_the_one_that_replaced_it_and_forks_nothing() {
    let place = Place::new().await;
    let due = all();
    let (slept, stream) = place.parts().await;
    slept.stage(&due).await.unwrap();
    let database = PostgresStore::open_over_beside(&place.url).await.unwrap();
    let second = KurrentStore::over(&place.log, database, Patience::default());
    let second = second.await.unwrap();
    stream.append(0, &due.records).await.unwrap();
    let error = slept.commit(due.clone()).await.unwrap_err();
    assert!(matches!(error, AppendError::Fenced { .. }), "{error:?}");
    let own = sample::commit(Head::EMPTY, 1);
    let size = due.records.len() as u64;
    let error = second.commit(own).await.unwrap_err();
    assert!(
        matches!(error, AppendError::Conflict { actual, .. } if actual == size),
        "{error:?}"
    );
    second.close().await;
    let third = place.open().await.unwrap();
    is_whole(&third, &due).await;
}

/// Who gains: an operator who would have a payment unsaid, and holds the cluster.
#[tokio::test]
async fn a_stream_that_lost_records_is_refused() {
    let place = Place::new().await;
    let due = all();
    let store = place.open().await.unwrap();
    store.commit(due.clone()).await.unwrap();
    store.close().await;
    let (database, _) = place.parts().await;
    let name = database.stream_name().await.unwrap();
    database.close().await;
    let last = due.records.len() as u64 - 1;
    place.cluster.state().forget(&name, last);
    let error = place.open().await.unwrap_err();
    let OpenFault::Kurrent(KurrentError::Shorter { stream, beside }) = error else {
        panic!("{error:?}");
    };
    assert_eq!((stream, beside), (last, last + 1));
    place.cluster.state().soft_delete(&name);
    // The lease of the attempt before runs out first.
    let error = place.open().await.unwrap_err();
    assert!(
        matches!(error, OpenFault::Kurrent(KurrentError::SoftDeleted { .. })),
        "{error:?}"
    );
}
