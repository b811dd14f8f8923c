//! The whole life of an interaction, and what is left of it.

use super::base::{DEPTH, PAYEE, tx};
use super::deal::{Deal, TOTAL_MICRO_USDC, Until};
use super::ledgerbox::Ledgerbox;
use x811_ledger::port::ReadModel;
use x811_protocol::envelope::SealedEnvelope;
use x811_protocol::event::Event;

/// Makes the next message.
type Step = fn(&mut Deal, &Ledgerbox) -> SealedEnvelope;

#[tokio::test]
async fn ae_009_an_interaction_goes_from_request_to_completed() {
    let mut ledgerbox = Ledgerbox::open().await;
    ledgerbox.sweep().await;
    let mut deal = Deal::between_new_parties(&ledgerbox).await;
    let empty = ledgerbox.ledger().world().sizes();
    let steps: [(Step, &str, Option<u64>); 5] = [
        (Deal::request, "pending", Some(60_000)),
        (Deal::offer, "offered", Some(300_000)),
        (Deal::accept, "accepted", Some(3_600_000)),
        (Deal::result, "delivered", Some(30_000)),
        (Deal::verify, "verified", Some(60_000)),
    ];
    for (step, state, window_ms) in steps {
        ledgerbox.advance_ms(1_000).await;
        let envelope = step(&mut deal, &ledgerbox);
        let accepted = ledgerbox.accept(&envelope).await;
        ledgerbox.settle().await;
        let records = ledgerbox.records().await;
        let record = &records[usize::try_from(accepted.position).unwrap()];
        assert_eq!(accepted.envelope_id, envelope.header.id);
        assert_eq!(accepted.interaction_id, Some(deal.id()));
        assert_eq!(
            accepted.record_hash.as_bytes(),
            record.hash().as_bytes(),
            "{state}"
        );
        assert_eq!(accepted.state, Some(state));
        let deadline = window_ms.map(|ms| ledgerbox.now().saturating_add_ms(ms));
        assert_eq!(accepted.deadline_at_ms, deadline, "{state}");
        let live = ledgerbox.ledger().world().interaction(deal.id()).cloned();
        assert_eq!(live.unwrap().state.name().as_str(), state);
        assert_eq!(ledgerbox.state(deal.id()), state);
        ledgerbox.assert_log_adds_up().await;
    }

    ledgerbox.watch_ms(4_000).await;
    let paid = ledgerbox.accept(&deal.payment(&ledgerbox, 1)).await;
    assert_eq!(paid.state, Some("verified"));
    ledgerbox.settle().await;
    assert_eq!(ledgerbox.watched(), [tx(1)]);
    let block = deal.mine(&mut ledgerbox, 1, &[TOTAL_MICRO_USDC]);
    ledgerbox.watch_ms(DEPTH * 2_000 + 1_000).await;

    assert_eq!(ledgerbox.state(deal.id()), "completed");
    let messages = ["envelope_accepted"; 6];
    assert_eq!(
        ledgerbox.types(deal.id()).await,
        [&messages[..], &["seen", "confirmed"]].concat()
    );
    assert_eq!(ledgerbox.watched(), [tx(1)], "until it is final");
    ledgerbox.base.finalized = Some(block);
    ledgerbox.sweep().await;
    let types = ledgerbox.types(deal.id()).await;
    assert_eq!(types.last(), Some(&"final"));
    let world = ledgerbox.ledger().world();
    let (left, before) = (world.sizes(), empty);
    assert_eq!(
        (left.interactions, left.aftermath, left.watched),
        (before.interactions, before.aftermath, before.watched),
        "a finished interaction leaves memory"
    );
    assert_eq!(left.notices_owed, before.notices_owed);
    assert_eq!(ledgerbox.watched(), []);
    for envelope in [deal.request_id, deal.offer_id] {
        assert_eq!(world.route(envelope), None, "its routes are gone");
    }
    assert_eq!(world.next_deadline(), None);
    let provider = world.agent(deal.provider.did).unwrap().clone();
    assert_eq!(provider.receipts, 1);
    let initiator = world.agent(deal.initiator.did).unwrap().clone();
    assert_eq!(initiator.open_requests, 0);
    ledgerbox.assert_log_adds_up().await;
}

#[tokio::test]
async fn ae_002_deliveries_come_in_causal_order() {
    let ledgerbox = Ledgerbox::open().await;
    let deal = Deal::opened(&ledgerbox, Until::Verified).await;
    ledgerbox.settle().await;
    let mut kinds = Vec::new();
    for party in [&deal.initiator, &deal.provider] {
        let rows = &ledgerbox.rows;
        let delivered = rows.deliveries(party.did, 0, usize::MAX).await.unwrap();
        let records = ledgerbox.events().await;
        let mut own = Vec::new();
        for delivery in delivered {
            let (_, event) = &records[usize::try_from(delivery.position).unwrap()];
            let envelope = event.envelope().unwrap();
            assert_eq!(envelope.id, delivery.envelope_id);
            assert_eq!(envelope.to, party.did);
            own.push(envelope.message_type.to_string());
        }
        kinds.push(own);
    }
    assert_eq!(kinds[0], ["x811/offer", "x811/result"]);
    assert_eq!(kinds[1], ["x811/request", "x811/accept", "x811/verify"]);
}

#[tokio::test]
async fn ae_013_a_reject_ends_it_without_a_notice() {
    let ledgerbox = Ledgerbox::open().await;
    let deal = Deal::opened(&ledgerbox, Until::Offered).await;
    let rejected = ledgerbox.accept(&deal.reject(&ledgerbox)).await;
    assert_eq!(rejected.state, Some("rejected"));
    ledgerbox.settle().await;
    assert_eq!(ledgerbox.state(deal.id()), "rejected");
    assert_eq!(ledgerbox.ledger().world().sizes().interactions, 0);
    ledgerbox.assert_log_adds_up().await;
}

#[tokio::test]
async fn lc_1_1_a_body_lies_beside_every_accepted_envelope() {
    use x811_ledger::port::LedgerStore;
    let ledgerbox = Ledgerbox::open().await;
    let deal = Deal::opened(&ledgerbox, Until::Delivered).await;
    assert_ne!(deal.account.address, PAYEE);
    ledgerbox.advance_ms(30_001).await;
    let mut notices = 0;
    for (record, event) in ledgerbox.events().await {
        let position = record.position();
        let bodies = ledgerbox.store.bodies(&[position]).await.unwrap();
        notices += u64::from(matches!(event, Event::NoticeIssued(_)));
        match event.envelope() {
            Some(envelope) => {
                let body = &bodies[&position];
                assert_eq!(body.digest, envelope.digest);
                assert_eq!(body.digest, x811_protocol::digest::Digest::of(&body.bytes));
            }
            None => assert!(bodies.is_empty(), "{}", event.type_name()),
        }
    }
    assert_eq!(notices, 2);
}
