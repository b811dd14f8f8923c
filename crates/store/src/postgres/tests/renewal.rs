//! A lease that ran out without a successor, which a frozen process finds again in the database.

use std::time::Duration;

use x811_eventlog::{AppendError, Head};
use x811_ledger::port::LedgerStore as _;

use super::cluster::Node;
use super::url;
use crate::sqlite::tests::sample;
use crate::{PostgresError, PostgresStore};

const RUN_OUT: &str =
    "UPDATE ledger0.lease SET renewed_at = clock_timestamp() - interval '1 minute'";

/// The longest that a renewal is waited for.
const PATIENCE: Duration = Duration::from_secs(20);

fn is_run_out(error: &AppendError) -> bool {
    let AppendError::Backend(source) = error else {
        return false;
    };
    matches!(
        source.downcast_ref::<PostgresError>(),
        Some(PostgresError::RanOut)
    )
}

#[tokio::test]
async fn stores_2_a_writer_whose_lease_ran_out_records_nothing_before_it_has_compared() {
    let node = Node::start(&[]).await;
    let store = PostgresStore::open(&url(&node).await, None).await.unwrap();
    let lease = store.lease().unwrap();
    let watched = lease.clone();
    let interrupted = tokio::spawn(async move { watched.interrupted().await });
    // It is watched from the first poll on.
    tokio::task::yield_now().await;
    node.run_sql(RUN_OUT).await;
    interrupted.await.unwrap();
    let refused = store.commit(sample::commit(Head::EMPTY, 1)).await;
    assert!(is_run_out(&refused.unwrap_err()));

    lease.go_on();
    let goes_on = async {
        while let Err(error) = store.commit(sample::commit(Head::EMPTY, 1)).await {
            assert!(is_run_out(&error), "{error:?}");
        }
    };
    tokio::time::timeout(PATIENCE, goes_on).await.unwrap();

    // Once more, and a peer is ahead: another process has the lease, as far as this one is concerned.
    let watched = lease.clone();
    let interrupted = tokio::spawn(async move { watched.interrupted().await });
    tokio::task::yield_now().await;
    node.run_sql(RUN_OUT).await;
    interrupted.await.unwrap();
    lease.give_up();
    tokio::time::timeout(PATIENCE, lease.clone().lost())
        .await
        .unwrap();
    assert!(!lease.is_sure());
}
