//! A payment that was bound late: reversed, returned and final like one that paid
//! (ledger-contract.md section 5, machines.md section 1).

use super::aftermath::{CONFIRMED_MS, declared, paid, since};
use super::base::{Base, tx};
use super::deal::{Deal, TOTAL_MICRO_USDC, Until};
use super::ledgerbox::Ledgerbox;
use super::party::Account;
use x811_protocol::stream::Subject;

/// A deal in dispute that transaction 1 paid afterwards, and its block.
async fn paid_late(ledgerbox: &mut Ledgerbox) -> (Deal, u64) {
    let deal = declared(ledgerbox).await;
    ledgerbox.watch_ms(440_000).await;
    assert_eq!(ledgerbox.state(deal.id()), "disputed");
    let block = deal.mine(ledgerbox, 1, &[TOTAL_MICRO_USDC]);
    ledgerbox.watch_ms(CONFIRMED_MS).await;
    assert_eq!(
        since(ledgerbox, &deal, "notice_issued").await,
        ["seen", "late"]
    );
    (deal, block)
}

/// Puts transaction 1 into the next block again.
async fn comes_back(ledgerbox: &mut Ledgerbox, deal: &Deal) -> u64 {
    let block = deal.mine(ledgerbox, 1, &[TOTAL_MICRO_USDC]);
    ledgerbox.watch_ms(CONFIRMED_MS).await;
    block
}

#[tokio::test]
async fn rule_24_a_late_payment_that_disappears_is_reversed_and_returned() {
    let mut ledgerbox = Ledgerbox::open().await;
    let (deal, _) = paid_late(&mut ledgerbox).await;
    ledgerbox.base.reorganise_away(tx(1));
    ledgerbox.watch_ms(CONFIRMED_MS).await;
    let told = ["unseen", "reversed", "notice_issued", "notice_issued"];
    assert_eq!(since(&ledgerbox, &deal, "late").await, told);
    let detail = &ledgerbox.rows.rows().subjects[&Subject::Interaction(deal.id())].detail;
    assert_eq!(detail["late_reversed"][0], tx(1).to_string());
    ledgerbox.restart().await;
    comes_back(&mut ledgerbox, &deal).await;
    let seen = since(&ledgerbox, &deal, "notice_issued").await;
    assert_eq!(seen, ["seen", "returned"]);
    assert_eq!(ledgerbox.state(deal.id()), "disputed", "it stays");
    ledgerbox.assert_log_adds_up().await;
}

/// A finalized head ends it: nothing takes it back afterwards.
#[tokio::test]
async fn rule_24_a_late_payment_is_final_below_the_finalized_head() {
    let mut ledgerbox = Ledgerbox::open().await;
    let (deal, block) = paid_late(&mut ledgerbox).await;
    ledgerbox.base.finalized = Some(block - 1);
    ledgerbox.sweep().await;
    assert_eq!(since(&ledgerbox, &deal, "late").await, [""; 0]);
    ledgerbox.base.finalized = Some(block);
    ledgerbox.sweep().await;
    ledgerbox.base.reorganise_away(tx(1));
    ledgerbox.watch_ms(CONFIRMED_MS).await;
    assert_eq!(since(&ledgerbox, &deal, "late").await, ["final"]);
    ledgerbox.assert_log_adds_up().await;
}

/// A second one comes to its depth in the very sweep whose finalized head reaches the first. It is bound,
/// and both are final with it; nothing that else is in the sweep is lost.
#[tokio::test]
async fn rule_24_a_late_payment_is_bound_where_another_is_about_to_be_final() {
    let mut ledgerbox = Ledgerbox::open().await;
    let deal = declared(&ledgerbox).await;
    ledgerbox.accept(&deal.payment(&ledgerbox, 2)).await;
    ledgerbox.watch_ms(440_000).await;
    assert_eq!(ledgerbox.state(deal.id()), "disputed");
    let first = deal.mine(&mut ledgerbox, 1, &[TOTAL_MICRO_USDC]);
    ledgerbox.watch_ms(CONFIRMED_MS).await;
    let second = deal.mine(&mut ledgerbox, 2, &[TOTAL_MICRO_USDC]);
    ledgerbox.advance_ms(CONFIRMED_MS).await;
    ledgerbox.base.finalized = Some(first);
    ledgerbox.sweep().await;
    let told = ["seen", "late", "seen", "late"];
    assert_eq!(since(&ledgerbox, &deal, "notice_issued").await, told);
    ledgerbox.base.finalized = Some(second);
    ledgerbox.sweep().await;
    let told = ["seen", "late", "seen", "late", "final"];
    assert_eq!(since(&ledgerbox, &deal, "notice_issued").await, told);
    ledgerbox.assert_log_adds_up().await;
}

/// A surplus that came late is watched apart from what paid: each disappears, and becomes final, by
/// itself.
#[tokio::test]
async fn rule_24_what_paid_and_what_came_late_are_watched_apart() {
    let mut ledgerbox = Ledgerbox::open().await;
    let deal = declared(&ledgerbox).await;
    ledgerbox.accept(&deal.payment(&ledgerbox, 2)).await;
    let first = deal.mine(&mut ledgerbox, 1, &[TOTAL_MICRO_USDC]);
    ledgerbox.watch_ms(CONFIRMED_MS).await;
    let second = deal.mine(&mut ledgerbox, 2, &[TOTAL_MICRO_USDC]);
    ledgerbox.watch_ms(CONFIRMED_MS).await;
    assert_eq!(
        since(&ledgerbox, &deal, "confirmed").await,
        ["seen", "late"]
    );
    assert!(first < second);
    ledgerbox.base.finalized = Some(first);
    ledgerbox.sweep().await;
    assert_eq!(since(&ledgerbox, &deal, "late").await, ["final"]);
    // What paid is final, the surplus is not.
    ledgerbox.base.reorganise_away(tx(1));
    ledgerbox.base.reorganise_away(tx(2));
    ledgerbox.watch_ms(CONFIRMED_MS).await;
    let told = ["unseen", "reversed", "notice_issued", "notice_issued"];
    assert_eq!(since(&ledgerbox, &deal, "final").await, told);
    ledgerbox.assert_log_adds_up().await;
}

/// Its time begins when it was bound, not when the interaction was over.
#[tokio::test]
async fn lc_5_a_late_payment_is_watched_for_as_long_as_one_that_paid() {
    let mut ledgerbox = Ledgerbox::but(|it| it.networks[0].late_ms = 300_000).await;
    let deal = declared(&ledgerbox).await;
    ledgerbox.watch_ms(440_000).await;
    ledgerbox.watch_ms(240_000).await;
    deal.mine(&mut ledgerbox, 1, &[TOTAL_MICRO_USDC]);
    ledgerbox.watch_ms(CONFIRMED_MS).await;
    assert_eq!(since(&ledgerbox, &deal, "seen").await, ["late"]);
    ledgerbox.watch_ms(200_000).await;
    ledgerbox.base.reorganise_away(tx(1));
    ledgerbox.watch_ms(CONFIRMED_MS).await;
    assert_eq!(
        since(&ledgerbox, &deal, "late").await[..2],
        ["unseen", "reversed"]
    );
    ledgerbox.assert_log_adds_up().await;
}

/// A provider may have a receipt already, or none: the reversal is numbered either way.
#[tokio::test]
async fn rule_24_a_late_payment_reversed_is_numbered_among_receipts() {
    let mut ledgerbox = Ledgerbox::open().await;
    let (deal, _) = paid(&mut ledgerbox).await;
    ledgerbox.base.finalized = Some(Base::head_number(ledgerbox.now()));
    ledgerbox.sweep().await;
    ledgerbox.base.finalized = None;
    let (late, _) = paid_late_again(&mut ledgerbox, &deal).await;
    ledgerbox.base.reorganise_away(tx(2));
    ledgerbox.watch_ms(CONFIRMED_MS).await;
    assert_eq!(
        since(&ledgerbox, &late, "late").await[..2],
        ["unseen", "reversed"]
    );
    ledgerbox.assert_log_adds_up().await;
}

/// The same two parties once more, paid late by transaction 2.
async fn paid_late_again(ledgerbox: &mut Ledgerbox, before: &Deal) -> (Deal, u64) {
    let (initiator, provider) = (&before.initiator, &before.provider);
    let mut deal = Deal::between(ledgerbox, initiator, provider, Account::new(0x46));
    deal.go(ledgerbox, Until::Verified).await;
    ledgerbox.accept(&deal.payment(ledgerbox, 2)).await;
    ledgerbox.watch_ms(440_000).await;
    assert_eq!(ledgerbox.state(deal.id()), "disputed");
    let block = deal.mine(ledgerbox, 2, &[TOTAL_MICRO_USDC]);
    ledgerbox.watch_ms(CONFIRMED_MS).await;
    (deal, block)
}
