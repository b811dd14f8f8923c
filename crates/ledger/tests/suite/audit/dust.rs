//! Payments in more transfers than one record can name (settlement-watcher.md rule 15).

use x811_protocol::event::{Event, SettlementEvent};

use super::deal::{Deal, TOTAL_MICRO_USDC, Until};
use super::ledgerbox::{Ledgerbox, impatient};
use super::scene::{audit, exported, found, pay};

/// A verified deal that transaction 1 pays by these amounts.
async fn paid_by(amounts: &[u64]) -> (Ledgerbox, Deal) {
    let mut ledgerbox = impatient().await;
    ledgerbox.sweep().await;
    let deal = Deal::opened(&ledgerbox, Until::Verified).await;
    deal.mine(&mut ledgerbox, 1, amounts);
    ledgerbox.accept(&deal.payment(&ledgerbox, 1)).await;
    ledgerbox.watch_ms(60_000).await;
    (ledgerbox, deal)
}

#[tokio::test]
async fn rule_15_dust_before_a_transfer_that_pays_is_clean() {
    let amounts = [vec![1; 65], vec![TOTAL_MICRO_USDC - 10], vec![2; 80]].concat();
    let (ledgerbox, deal) = paid_by(&amounts).await;
    assert_eq!(ledgerbox.state(deal.id()), "completed");
    assert_eq!(found(&audit(&exported(&ledgerbox).await)), []);
}

#[tokio::test]
async fn rule_15_what_waits_in_too_many_transfers_is_clean() {
    let (mut ledgerbox, deal) = paid_by(&[TOTAL_MICRO_USDC / 65 + 1; 65]).await;
    assert_eq!(ledgerbox.state(deal.id()), "verified");
    let refuted = |event: &Event| matches!(event, Event::Settlement(SettlementEvent::Refuted(_)));
    assert!(!ledgerbox.events().await.iter().any(|(_, it)| refuted(it)));
    pay(&mut ledgerbox, &deal, 2, TOTAL_MICRO_USDC / 32).await;
    ledgerbox.watch_ms(8_000).await;
    assert_eq!(ledgerbox.state(deal.id()), "completed");
    assert_eq!(found(&audit(&exported(&ledgerbox).await)), []);
}
