//! The doctor names what does not fit the log (design.md section 4).

use super::deal::{Deal, Until};
use super::ledgerbox::Ledgerbox;
use x811_ledger::doctor::examine;
use x811_ledger::memory::{MemoryReadModel, MemoryStore};
use x811_ledger::port::{Commit, LedgerStore};

#[tokio::test]
async fn xx_4_a_tree_over_fewer_records_than_the_log_has_is_named() {
    let ledgerbox = Ledgerbox::open().await;
    let _deal = Deal::opened(&ledgerbox, Until::Offered).await;
    let mut records = ledgerbox.records().await;
    let (_, frontier) = ledgerbox.store.frontier().await.unwrap().unwrap();
    let last = records.split_off(records.len() - 1);
    let store = MemoryStore::new();
    let whole = Commit {
        records,
        frontier,
        ..Commit::default()
    };
    let size = store.commit(whole).await.unwrap().size;
    let beside = Commit {
        expected_size: size,
        records: last,
        ..Commit::default()
    };
    store.commit(beside).await.unwrap();
    let rows = MemoryReadModel::new();
    let examined = examine(&store, &rows, 0, &[]).await.unwrap();
    let findings = examined.findings.kept;
    let tree = findings.iter().find(|finding| finding.part == "tree");
    let sentence = format!(
        "the stored tree is over {size} records, the log has {}",
        size + 1
    );
    assert_eq!(tree.map(|finding| &*finding.sentence), Some(&*sentence));
    let healthy = examine(&*ledgerbox.store, &rows, 0, &[]).await.unwrap();
    assert_eq!(healthy.findings.kept, []);
}
