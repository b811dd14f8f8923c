//! The write-ahead log is moved beside the commits, and stays short however much is written.

use tempfile::TempDir;
use x811_eventlog::{EventLog as _, Head};
use x811_ledger::port::LedgerStore as _;

use super::sample::{self, body};
use crate::SqliteStore;

const MIB: u64 = 1_048_576;

#[tokio::test]
async fn design_8_a_long_write_leaves_a_short_log() {
    let directory = TempDir::new().unwrap();
    let store = SqliteStore::open(directory.path()).await.unwrap();
    let log_bytes = || {
        let log = directory.path().join("ledger.db-wal");
        std::fs::metadata(log).unwrap().len()
    };
    let (mut head, mut longest_bytes) = (Head::EMPTY, 0);
    // 160 MiB.
    for _ in 0..160 {
        let mut commit = sample::commit(head, 1);
        commit.bodies = vec![body(head.size, &vec![7; MIB as usize])];
        head = store.commit(commit).await.unwrap();
        longest_bytes = longest_bytes.max(log_bytes());
    }
    // Far less than was written, whenever the tasks that move it had their turn.
    assert!(longest_bytes <= 80 * MIB, "{longest_bytes}");
    store.close().await;
    let store = SqliteStore::open(directory.path()).await.unwrap();
    assert_eq!(store.log().head().await.unwrap(), head);
    let bodies = store.bodies(&[0, 159]).await.unwrap();
    assert!(bodies.values().all(|body| body.bytes.len() == MIB as usize));
    assert_eq!(bodies.len(), 2);
}
