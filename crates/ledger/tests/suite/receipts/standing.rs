//! A payment that a reorganisation took back has no receipt until it returns (ledger-contract.md
//! section 8).

use x811_ledger::receipt::ReceiptError;

use super::base::{Base, tx};
use super::deal::TOTAL_MICRO_USDC;
use super::paper::{Paper, issue, paid};

#[tokio::test]
async fn lc_8_a_reversed_payment_has_no_receipt_until_it_returns() {
    let (mut ledgerbox, deal) = paid().await;
    Paper::of(&ledgerbox, &deal).await;
    ledgerbox.base.reorganise_away(tx(1));
    ledgerbox.watch_ms(20_000).await;
    let types = ledgerbox.types(deal.id()).await;
    assert!(types.contains(&"reversed"), "{types:?}");
    let error = issue(&ledgerbox, deal.id()).await.unwrap_err();
    let ReceiptError::Reversed { position } = error else {
        unreachable!("{error}");
    };
    let records = ledgerbox.records().await;
    let record = &records[usize::try_from(position).unwrap()];
    assert_eq!(record.event_type(), b"reversed");
    assert!(
        error.to_string().contains(&format!("record {position} ")),
        "{error}"
    );

    deal.mine(&mut ledgerbox, 1, &[TOTAL_MICRO_USDC]);
    ledgerbox.watch_ms(20_000).await;
    assert!(ledgerbox.types(deal.id()).await.contains(&"returned"));
    Paper::of(&ledgerbox, &deal).await;
}

/// Nobody sees that it is gone for good: the head that misses it is not fresh.
#[tokio::test]
async fn sw_24_a_payment_that_is_in_no_block_at_the_moment_has_no_receipt() {
    let (mut ledgerbox, deal) = paid().await;
    let head = Base::head_number(ledgerbox.now());
    ledgerbox.base.reorganise_away(tx(1));
    ledgerbox.advance_ms(12_000).await;
    ledgerbox.sweep_at(head).await;
    let types = ledgerbox.types(deal.id()).await;
    assert_eq!(types.last(), Some(&"unseen"), "{types:?}");
    let error = issue(&ledgerbox, deal.id()).await.unwrap_err();
    let ReceiptError::InNoBlock { position } = error else {
        unreachable!("{error}");
    };
    let records = ledgerbox.records().await;
    let record = &records[usize::try_from(position).unwrap()];
    assert_eq!(record.event_type(), b"unseen");

    deal.mine(&mut ledgerbox, 1, &[TOTAL_MICRO_USDC]);
    ledgerbox.watch_ms(20_000).await;
    Paper::of(&ledgerbox, &deal).await;
}
