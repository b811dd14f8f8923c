//! What the world keeps of what is watched, where several interactions declared the same transaction
//! and one of them is over first.

use super::aftermath::CONFIRMED_MS;
use super::base::{BASE, tx};
use super::deal::{Deal, TOTAL_MICRO_USDC, Until};
use super::ledgerbox::Ledgerbox;
use super::party::Account;
use std::collections::BTreeSet;

/// Two deals paid by the two transfers of transaction 1, the second a while after the first.
async fn paid_by_one_transaction(ledgerbox: &mut Ledgerbox) -> [Deal; 2] {
    let first = Deal::opened(ledgerbox, Until::Verified).await;
    let account = Account::new(0x46);
    let mut second = Deal::between(ledgerbox, &first.initiator, &first.provider, account);
    second.go(ledgerbox, Until::Verified).await;
    ledgerbox.sweep().await;
    ledgerbox.accept(&first.payment(ledgerbox, 1)).await;
    first.mine(ledgerbox, 1, &[TOTAL_MICRO_USDC; 2]);
    ledgerbox.watch_ms(CONFIRMED_MS).await;
    ledgerbox.watch_ms(20_000).await;
    ledgerbox.accept(&second.payment(ledgerbox, 1)).await;
    ledgerbox.sweep().await;
    for deal in [&first, &second] {
        assert_eq!(ledgerbox.state(deal.id()), "completed");
    }
    [first, second]
}

#[tokio::test]
async fn rule_24_what_is_gone_is_wanted_until_the_last_whom_it_paid_is_forgotten() {
    let mut ledgerbox = Ledgerbox::but(|it| it.networks[0].late_ms = 120_000).await;
    let [first, second] = paid_by_one_transaction(&mut ledgerbox).await;
    ledgerbox.base.reorganise_away(tx(1));
    ledgerbox.sweep().await;
    let until = |ledgerbox: &Ledgerbox, deal: &Deal| {
        let world = ledgerbox.ledger().world();
        let live = world.watching(deal.id()).cloned();
        live.map(|live| live.state.aftermath().unwrap().1.until)
    };
    let ends = until(&ledgerbox, &first).unwrap();
    assert!(ends < until(&ledgerbox, &second).unwrap());
    ledgerbox
        .watch_ms(ends.since(ledgerbox.now()) + 2_000)
        .await;
    let other = Deal::opened(&ledgerbox, Until::Pending).await;
    ledgerbox.settle().await;
    assert_eq!(until(&ledgerbox, &first), None, "the first is forgotten");
    assert!(until(&ledgerbox, &second).is_some(), "{}", other.id());
    let wanted = ledgerbox.ledger().world().wanted(BASE, ledgerbox.now());
    assert_eq!(wanted, BTreeSet::from([tx(1)]));
    ledgerbox.assert_log_adds_up().await;
}

#[tokio::test]
async fn what_is_published_changes_only_when_the_set_does() {
    let mut ledgerbox = Ledgerbox::open().await;
    let deal = Deal::opened(&ledgerbox, Until::Verified).await;
    ledgerbox.sweep().await;
    let mut watched = ledgerbox.ledger().watched(BASE).unwrap();
    watched.mark_unchanged();
    ledgerbox.accept(&deal.payment(&ledgerbox, 1)).await;
    ledgerbox.settle().await;
    assert!(watched.has_changed().unwrap(), "a new one");
    assert!(watched.borrow_and_update().contains(&tx(1)));
    let block = deal.mine(&mut ledgerbox, 1, &[TOTAL_MICRO_USDC]);
    ledgerbox.watch_ms(CONFIRMED_MS).await;
    assert_eq!(ledgerbox.state(deal.id()), "completed");
    assert!(!watched.has_changed().unwrap(), "it is watched as before");
    ledgerbox.base.finalized = Some(block);
    ledgerbox.sweep().await;
    assert!(watched.has_changed().unwrap(), "it is watched no longer");
    assert!(watched.borrow_and_update().is_empty());
}
