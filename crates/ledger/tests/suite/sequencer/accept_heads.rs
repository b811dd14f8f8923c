//! The head that is recorded with an ACCEPT says which payments are older than it (ledger-contract.md
//! section 5, "Age").

use super::base::{BASE, Base, tx};
use super::deal::{Deal, TOTAL_MICRO_USDC, Until};
use super::ledgerbox::{Ledgerbox, parameters};
use super::party::Account;
use x811_protocol::code::Code;
use x811_protocol::event::{Event, RefutedCause, SettlementEvent};
use x811_protocol::facts::Facts;

/// Heights of the heads that each ACCEPT was recorded with, in order.
async fn accepted_at(ledgerbox: &Ledgerbox) -> Vec<Option<u64>> {
    let events = ledgerbox.events().await.into_iter();
    let heads = events.filter_map(|(_, event)| match event {
        Event::EnvelopeAccepted(accepted) if matches!(accepted.facts, Facts::Accept(_)) => {
            Some(accepted.derived.heads.map(|heads| heads[0].number))
        }
        _ => None,
    });
    heads.collect()
}

/// The next interaction of the same two, until the OFFER.
async fn offered(ledgerbox: &Ledgerbox, before: &Deal) -> Deal {
    let account = Account::new(0x46);
    let mut deal = Deal::between(ledgerbox, &before.initiator, &before.provider, account);
    deal.go(ledgerbox, Until::Offered).await;
    deal
}

/// Endpoints are configured, and none has answered.
async fn with_endpoints() -> Ledgerbox {
    let mut ledgerbox = Ledgerbox::open().await;
    ledgerbox.crash().await;
    ledgerbox.with_endpoints = vec![BASE.to_owned()];
    ledgerbox.start().await.unwrap();
    ledgerbox
}

/// The chain halts, the ledger is started anew, and the head of before the halt still says what is
/// older than an ACCEPT: by the clock the payment would have been too old.
#[tokio::test]
async fn lc_5_the_last_head_is_recorded_at_accept_also_after_a_restart() {
    for from_snapshot in [true, false] {
        let mut ledgerbox = Ledgerbox::with(parameters()).await;
        ledgerbox.snapshot_every_records = if from_snapshot { 1 } else { 1_000 };
        ledgerbox.restart().await;
        ledgerbox.sweep().await;
        let head = Base::head_number(ledgerbox.now());
        let first = Deal::opened(&ledgerbox, Until::Accepted).await;
        ledgerbox.restart().await;
        ledgerbox.advance_ms(40_000).await;
        let mut second = offered(&ledgerbox, &first).await;
        second.go(&ledgerbox, Until::Verified).await;
        assert_eq!(accepted_at(&ledgerbox).await, [Some(head); 2]);

        // The block after the halt carries a time of before the ACCEPT, as rollups' do.
        let payer = second.account.address;
        ledgerbox
            .base
            .mine(tx(1), head + 1, payer, &[TOTAL_MICRO_USDC]);
        ledgerbox.accept(&second.payment(&ledgerbox, 1)).await;
        ledgerbox.watch_ms(4_000).await;
        let refuted = ledgerbox.events().await.into_iter().any(|(_, event)| {
            matches!(event, Event::Settlement(SettlementEvent::Refuted(it)) if it.cause == RefutedCause::OlderThanAccept)
        });
        assert!(!refuted);
        assert_eq!(ledgerbox.state(second.id()), "completed");
        ledgerbox.assert_log_adds_up().await;
    }
}

#[tokio::test]
async fn lc_5_without_any_head_nothing_that_costs_is_accepted() {
    let ledgerbox = with_endpoints().await;
    let mut deal = Deal::opened(&ledgerbox, Until::Offered).await;
    let size = ledgerbox.records().await.len();
    let accept = deal.accept(&ledgerbox);
    let refusal = ledgerbox.refuse(&accept).await;
    assert_eq!(refusal.code, Code::InternalError);
    assert_eq!(refusal.http_status(), 503);
    assert!(refusal.retry_after_ms.is_some(), "{refusal:?}");
    assert!(refusal.message.contains(BASE), "{refusal:?}");
    assert_eq!(ledgerbox.records().await.len(), size, "nothing is recorded");

    // What costs nothing is taken, and the same ACCEPT is once there is a head.
    let account = Account::new(0x46);
    let mut free = Deal::between(&ledgerbox, &deal.initiator, &deal.provider, account);
    let request = free.request(&ledgerbox);
    ledgerbox.accept(&request).await;
    let offer = free.free_offer(&ledgerbox);
    ledgerbox.accept(&offer).await;
    ledgerbox.accept(&free.accept(&ledgerbox)).await;
    ledgerbox.sweep().await;
    let head = Base::head_number(ledgerbox.now());
    ledgerbox.accept(&accept).await;
    assert_eq!(accepted_at(&ledgerbox).await, [None, Some(head)]);
    ledgerbox.assert_log_adds_up().await;
}

/// Nobody can be asked: it goes by the clock, as ever.
#[tokio::test]
async fn lc_5_without_endpoints_an_accept_is_taken_without_a_head() {
    let ledgerbox = Ledgerbox::open().await;
    Deal::opened(&ledgerbox, Until::Accepted).await;
    assert_eq!(accepted_at(&ledgerbox).await, [None]);
}
