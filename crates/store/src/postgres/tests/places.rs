//! The last checkpoint in a file and in a row, where nothing is heard of a swap of the row.

use std::time::Duration;

use x811_ledger::checkpoint::{CheckpointStore as _, CheckpointStoreError};

use super::cluster::Node;
use super::url;
use crate::checkpoint::FileCheckpointStore;
use crate::{CheckpointPlaces, PostgresStore};

fn checkpoint(size: u64) -> String {
    format!("x811/test\n{size}\nroot\n")
}

/// Until as many commits as that wait for a standby, or none does.
async fn wait_for_commits(node: &Node, count: i64) {
    let question = "SELECT count(*) = $1 FROM pg_stat_activity WHERE wait_event = 'SyncRep'";
    let mut stranger = node.stranger().await;
    for _ in 0..1_000 {
        let asked = sqlx::query_scalar(question).bind(count);
        if asked.fetch_one(&mut stranger).await.unwrap() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    panic!("never {count} waiting commits");
}

async fn name_standbys(node: &Node, names: &str) {
    let names = format!("ALTER SYSTEM SET synchronous_standby_names = '{names}'");
    node.run_sql(&names).await;
    node.run_sql("SELECT pg_reload_conf()").await;
}

/// The connection breaks while the commit of a swap waits for standbys: nobody sees it yet, and then it
/// is there all the same.
#[tokio::test]
async fn reliability_a_swap_of_which_nothing_was_heard_is_gone_on_from() {
    let node = Node::start(&[]).await;
    let store = PostgresStore::open(&url(&node).await, None).await.unwrap();
    let dir = tempfile::tempdir().unwrap();
    let file = FileCheckpointStore::open(dir.path()).unwrap();
    let places = CheckpointPlaces::of(file, Some(store.checkpoint()));
    assert_eq!(places.load().await.unwrap(), None);
    places.compare_and_swap(None, checkpoint(1)).await.unwrap();

    name_standbys(&node, "nobody").await;
    let mut size = 1;
    // Commits wait from some moment after the reload on.
    let seen = loop {
        let seen = Some(checkpoint(size));
        size += 1;
        tokio::select! {
            swapped = places.compare_and_swap(seen.clone(), checkpoint(size)) => swapped.unwrap(),
            () = wait_for_commits(&node, 1) => break seen,
        }
    };
    assert_eq!(places.load().await.unwrap(), seen, "it is not seen yet");
    name_standbys(&node, "").await;
    wait_for_commits(&node, 0).await;

    let next = checkpoint(size + 1);
    places.compare_and_swap(seen, next.clone()).await.unwrap();
    assert_eq!(places.load().await.unwrap(), Some(next));
}

/// Attack, mostly by oneself: the primary that died comes back by itself after a standby was promoted, and
/// the ledger is still told to write there. Its log goes as far as the last checkpoint.
#[tokio::test]
async fn stores_3_a_primary_that_comes_back_is_refused() {
    let primary = Node::start(&["wal_level=replica"]).await;
    let url = url(&primary).await;
    let standby = primary.standby("s2").await;
    let dir = tempfile::tempdir().unwrap();
    let places = |store: &PostgresStore| {
        let file = FileCheckpointStore::open(dir.path()).unwrap();
        CheckpointPlaces::of(file, Some(store.checkpoint()))
    };
    let old = PostgresStore::open(&url, None).await.unwrap();
    for _ in 0..2 {
        places(&old).keep_to_timeline("log").await.unwrap();
    }
    let follows = "SELECT EXISTS (SELECT FROM ledger0.writer)";
    while !sqlx::query_scalar::<_, bool>(follows)
        .fetch_one(&mut standby.stranger().await)
        .await
        .unwrap_or_default()
    {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    standby.promote().await;
    let promoted = standby.address_of("ledger0").parse().unwrap();
    let promoted = PostgresStore::open(&promoted, None).await.unwrap();
    places(&promoted).keep_to_timeline("log").await.unwrap();

    let refused = places(&old).keep_to_timeline("log").await.unwrap_err();
    assert!(refused.to_string().contains("timeline 1"), "{refused}");
    places(&promoted).keep_to_timeline("log").await.unwrap();
    // Begun anew behind a lost tail, it is another log.
    places(&old).keep_to_timeline("reopened").await.unwrap();
}

/// The row is stored first: where the file is not, nothing counts as stored, and a file that is gone is
/// not begun anew.
#[tokio::test]
async fn lc_1_5_a_checkpoint_is_stored_once_it_is_in_the_file_too() {
    let node = Node::start(&[]).await;
    let store = PostgresStore::open(&url(&node).await, None).await.unwrap();
    let dir = tempfile::tempdir().unwrap();
    let kept = dir.path().join("kept");
    let file = FileCheckpointStore::open(&kept).unwrap();
    let places = CheckpointPlaces::of(file, Some(store.checkpoint()));
    let (one, two) = (checkpoint(1), checkpoint(2));
    assert_eq!(places.load().await.unwrap(), None);
    places.compare_and_swap(None, one.clone()).await.unwrap();
    assert!(places.holds(&one).await);

    let away = dir.path().join("away");
    std::fs::rename(&kept, &away).unwrap();
    let swapped = places
        .compare_and_swap(Some(one.clone()), two.clone())
        .await;
    assert!(swapped.is_err());
    assert!(!places.holds(&two).await);
    std::fs::create_dir(&kept).unwrap();
    assert_eq!(places.load().await.unwrap(), None);
    let anew = places
        .compare_and_swap(Some(one.clone()), two.clone())
        .await;
    assert!(
        matches!(anew, Err(CheckpointStoreError::Conflict)),
        "{anew:?}"
    );

    std::fs::remove_dir_all(&kept).unwrap();
    std::fs::rename(&away, &kept).unwrap();
    places
        .compare_and_swap(Some(one), two.clone())
        .await
        .unwrap();
    assert!(places.holds(&two).await);
}
