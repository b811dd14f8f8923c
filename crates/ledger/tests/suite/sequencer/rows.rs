//! Rows for readers: soon there by themselves, at once for a reader that waits.

use super::ledgerbox::Ledgerbox;

async fn without_readers() -> Ledgerbox {
    let mut ledgerbox = Ledgerbox::open().await;
    ledgerbox.rows_at_once = false;
    ledgerbox.restart().await;
    ledgerbox
}

#[tokio::test]
async fn lc_1_rows_nobody_waits_for_are_written_within_a_second() {
    let ledgerbox = without_readers().await;
    ledgerbox.provider().await;
    ledgerbox.settle().await;
    assert_eq!(ledgerbox.ledger().rows_lag(), 1);
    ledgerbox.advance_ms(999).await;
    ledgerbox.provider().await;
    ledgerbox.settle().await;
    assert_eq!(ledgerbox.ledger().rows_lag(), 2);
    ledgerbox.advance_ms(1).await;
    assert_eq!(ledgerbox.ledger().rows_lag(), 0);
}

#[tokio::test]
async fn lc_1_a_reader_waits_for_no_rows_but_its_own() {
    let ledgerbox = without_readers().await;
    ledgerbox.provider().await;
    let size = ledgerbox.ledger().world().head().size;
    ledgerbox.ledger().rows_reflect(size - 1).await.unwrap();
    assert_eq!(ledgerbox.ledger().rows_lag(), 0);
    // Asked for before the record is there, they are written as it comes.
    tokio::join!(
        async { ledgerbox.ledger().rows_reflect(size).await.unwrap() },
        ledgerbox.provider(),
    );
    assert_eq!(ledgerbox.ledger().rows_lag(), 0);
}
