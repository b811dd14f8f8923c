//! What the ledger tells both parties (AE-102, AX-32, ledger-contract.md section 1.6).

use super::base::{Base, DEPTH, tx};
use super::deal::{Deal, Until};
use super::ledgerbox::Ledgerbox;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use x811_ledger::memory::CommitFault;
use x811_ledger::port::{LedgerStore, ReadModel};
use x811_protocol::code::Code;
use x811_protocol::did::Did;
use x811_protocol::envelope::{EnvelopeRules, ParsedEnvelope, verify, wire_json};
use x811_protocol::event::{Event, NoticeIssued};
use x811_protocol::key::{AgentKey, Profile};

/// The notices of an interaction with their positions.
async fn notices(ledgerbox: &Ledgerbox, deal: &Deal) -> Vec<(u64, NoticeIssued)> {
    let stream = format!("interaction:{}", deal.id());
    let events = ledgerbox.events().await.into_iter();
    events
        .filter(|(record, _)| record.stream() == stream)
        .filter_map(|(record, event)| match event {
            Event::NoticeIssued(notice) => Some((record.position(), notice)),
            _ => None,
        })
        .collect()
}

/// The payload of a notice as its recipient gets it, its signature checked.
async fn opened(ledgerbox: &Ledgerbox, position: u64, notice: &NoticeIssued) -> Value {
    let bodies = ledgerbox.store.bodies(&[position]).await.unwrap();
    let wire = wire_json(&bodies[&position].bytes, &notice.envelope.signature);
    let rules = EnvelopeRules {
        max_bytes: 1_048_576,
        lenient_ids: false,
        reference_sdk: false,
    };
    let parsed = ParsedEnvelope::parse(&wire, &rules).unwrap();
    let key = AgentKey {
        key: ledgerbox.identity.key.public(),
        profile: Profile::Digest,
    };
    let envelope = verify(parsed, &[key]).unwrap();
    assert_eq!(envelope.accepted_header(), notice.envelope);
    assert_eq!(envelope.header().from, ledgerbox.identity.did);
    assert_eq!(envelope.header().to, notice.to);
    Value::Object(envelope.payload().clone())
}

fn both(deal: &Deal) -> BTreeSet<Did> {
    BTreeSet::from([deal.initiator.did, deal.provider.did])
}

#[tokio::test]
async fn ae_102_both_parties_are_told_of_every_lapse() {
    let windows = [
        (Until::Pending, 60_001, Code::RequestTimeout),
        (Until::Offered, 300_001, Code::OfferExpired),
        (Until::Accepted, 3_600_001, Code::ResultTimeout),
        (Until::Delivered, 30_001, Code::VerifyTimeout),
        (Until::Verified, 60_001, Code::PaymentTimeout),
    ];
    for (until, wait_ms, code) in windows {
        let ledgerbox = Ledgerbox::open().await;
        let deal = Deal::opened(&ledgerbox, until).await;
        ledgerbox.settle().await;
        let opener = ledgerbox.records().await.pop().unwrap();
        let opener = Event::from_json(opener.event_json()).unwrap();
        let opener = opener.envelope().unwrap().id;
        ledgerbox.advance_ms(wait_ms).await;
        let told = notices(&ledgerbox, &deal).await;
        let recipients: BTreeSet<Did> = told.iter().map(|(_, notice)| notice.to).collect();
        assert_eq!((told.len(), recipients), (2, both(&deal)), "{until:?}");
        for (position, notice) in told {
            assert_eq!(notice.code, Some(code));
            let cause = &ledgerbox.events().await[usize::try_from(notice.cause).unwrap()].1;
            assert!(matches!(cause, Event::Lapsed(lapsed) if lapsed.code == code));
            let payload = opened(&ledgerbox, position, &notice).await;
            assert_eq!(payload["code"], json!(code));
            assert_eq!(payload["related_message_id"], json!(opener), "{until:?}");
            let rows = &ledgerbox.rows;
            let delivered = rows.deliveries(notice.to, position, 1).await.unwrap();
            assert_eq!(delivered[0].envelope_id, notice.envelope.id);
        }
    }
}

#[tokio::test]
async fn ae_102_nonces_of_notices_are_their_own() {
    let ledgerbox = Ledgerbox::open().await;
    let deal = Deal::opened(&ledgerbox, Until::Pending).await;
    ledgerbox.advance_ms(60_001).await;
    let told = notices(&ledgerbox, &deal).await;
    let tags: BTreeSet<_> = told.iter().map(|(_, n)| n.envelope.nonce_tag).collect();
    let ids: BTreeSet<_> = told.iter().map(|(_, n)| n.envelope.id).collect();
    assert_eq!((tags.len(), ids.len()), (2, 2));
}

#[tokio::test]
async fn lc_1_6_a_refutation_is_told_while_the_interaction_goes_on() {
    let mut ledgerbox = Ledgerbox::open().await;
    let deal = Deal::opened(&ledgerbox, Until::Verified).await;
    let payment = deal.payment(&ledgerbox, 1);
    ledgerbox.accept(&payment).await;
    let block = Base::head_number(ledgerbox.now()) + 1;
    ledgerbox.base.revert(tx(1), block);
    ledgerbox.watch_ms(DEPTH * 2_000 + 2_000).await;
    assert_eq!(ledgerbox.state(deal.id()), "verified");
    let told = notices(&ledgerbox, &deal).await;
    assert_eq!(told.len(), 2);
    for (position, notice) in told {
        assert_eq!(notice.code, Some(Code::PaymentFailed));
        let payload = opened(&ledgerbox, position, &notice).await;
        assert_eq!(payload["related_message_id"], json!(payment.header.id));
    }
    ledgerbox.assert_log_adds_up().await;
}

#[tokio::test]
async fn lc_1_6_a_cause_without_notices_gets_them_at_the_next_start() {
    for (fault, on_notices) in [
        (CommitFault::StoredNeverTold, false),
        (CommitFault::Backend, true),
    ] {
        let mut ledgerbox = Ledgerbox::open().await;
        let deal = Deal::opened(&ledgerbox, Until::Pending).await;
        if on_notices {
            ledgerbox.store.pass_next_commit();
        }
        ledgerbox.fail_next_commit(fault);
        ledgerbox.advance_ms(60_001).await;
        assert_eq!(ledgerbox.types(deal.id()).await.last(), Some(&"lapsed"));
        ledgerbox.crash().await;
        assert_eq!(notices(&ledgerbox, &deal).await.len(), 0);
        ledgerbox.start().await.unwrap();
        assert_eq!(notices(&ledgerbox, &deal).await.len(), 2);
        assert_eq!(ledgerbox.ledger().world().sizes().interactions, 0);
        ledgerbox.restart().await;
        assert_eq!(notices(&ledgerbox, &deal).await.len(), 2, "told once");
        ledgerbox.assert_log_adds_up().await;
    }
}

#[tokio::test]
async fn lc_1_6_notices_that_could_not_be_recorded_are_signed_again() {
    let ledgerbox = Ledgerbox::open().await;
    let deal = Deal::opened(&ledgerbox, Until::Pending).await;
    ledgerbox.store.pass_next_commit();
    ledgerbox.fail_next_commit(CommitFault::Backend);
    ledgerbox.advance_ms(60_001).await;
    assert_eq!(notices(&ledgerbox, &deal).await.len(), 0);
    ledgerbox.advance_ms(1_000).await;
    ledgerbox.advance_ms(1_000).await;
    assert_eq!(notices(&ledgerbox, &deal).await.len(), 2);
    assert_eq!(ledgerbox.ledger().world().sizes().interactions, 0);
    ledgerbox.assert_log_adds_up().await;
}

#[tokio::test]
async fn lc_1_6_many_notices_fit_their_commits() {
    let ledgerbox = Ledgerbox::crowded().await;
    let deal = Deal::between_new_parties(&ledgerbox).await;
    for _ in 0..300 {
        let account = super::party::Account::new(0x46);
        let mut own = Deal::between(&ledgerbox, &deal.initiator, &deal.provider, account);
        ledgerbox.accept(&own.request(&ledgerbox)).await;
    }
    ledgerbox.advance_ms(60_001).await;
    ledgerbox.advance_ms(1).await;
    let events = ledgerbox.events().await.into_iter();
    let told = events.filter(|(_, event)| matches!(event, Event::NoticeIssued(_)));
    assert_eq!(told.count(), 600);
    assert_eq!(ledgerbox.ledger().world().sizes().interactions, 0);
}
