//! Bodies that an operator has erased (record.md sections 3 and 4).

use super::aftermath::{declared, paid};
use super::base::tx;
use super::bundles::audited;
use super::deal::{Deal, Until};
use super::ledgerbox::{Ledgerbox, parameters};
use x811_audit::Report;
use x811_ledger::doctor::examine;
use x811_ledger::memory::MemoryReadModel;
use x811_ledger::port::LedgerStore as _;
use x811_protocol::code::Code;
use x811_protocol::event::{Event, LedgerEvent};
use x811_protocol::facts::Facts;
use x811_protocol::id::InteractionId;
use x811_protocol::parameters::Parameters;
use x811_protocol::refusal::Kind;
use x811_world::erasure::ErasureRequest;

/// Parameters under which transactions are watched for two minutes.
fn briefly_watched() -> Parameters {
    let mut parameters = parameters();
    for network in &mut parameters.networks {
        network.late_ms = 120_000;
    }
    parameters
}

async fn refused(ledgerbox: &Ledgerbox, id: InteractionId, why: &str) {
    let records = ledgerbox.records().await.len();
    let refusal = ledgerbox.erase_by(id, None).await.unwrap_err();
    assert_eq!(refusal.code, Code::InvalidStateTransition);
    assert_eq!(refusal.kind, Kind::State);
    assert!(refusal.message.contains(why), "{}", refusal.message);
    assert_eq!(ledgerbox.records().await.len(), records);
}

/// A deal that transaction 1 paid for good.
async fn finished(ledgerbox: &mut Ledgerbox) -> Deal {
    let (deal, block) = paid(ledgerbox).await;
    ledgerbox.base.finalized = Some(block);
    ledgerbox.sweep().await;
    deal
}

async fn audit(ledgerbox: &Ledgerbox) -> Report {
    audited(ledgerbox).await
}

/// Positions of the REQUEST and the RESULT, and of every other envelope.
async fn positions(ledgerbox: &Ledgerbox) -> (Vec<u64>, Vec<u64>) {
    let (mut erasable, mut others) = (Vec::new(), Vec::new());
    for (record, event) in ledgerbox.events().await {
        match &event {
            Event::EnvelopeAccepted(accepted)
                if matches!(accepted.facts, Facts::Request(_) | Facts::Result(_)) =>
            {
                erasable.push(record.position());
            }
            event if event.envelope().is_some() => others.push(record.position()),
            _ => {}
        }
    }
    (erasable, others)
}

#[tokio::test]
async fn rec_4_request_and_result_of_a_finished_interaction_are_erased_and_nothing_else() {
    let mut ledgerbox = Ledgerbox::open().await;
    let deal = finished(&mut ledgerbox).await;
    let (erasable, others) = positions(&ledgerbox).await;
    let before = audit(&ledgerbox).await;
    let done = ledgerbox.erase_by(deal.id(), None).await.unwrap();
    assert_eq!((&done.erased, done.kept.len()), (&erasable, 0));
    ledgerbox.settle().await;

    let (_, event) = ledgerbox.events().await.pop().unwrap();
    let Event::Ledger(LedgerEvent::BodiesErased(erased)) = event else {
        panic!("{event:?}");
    };
    assert_eq!(erased.operator, ledgerbox.identity.did);
    assert_eq!(erased.reason_code, "gdpr_request");
    assert_eq!(erased.positions, erasable);
    let store = &ledgerbox.store;
    assert!(store.bodies(&erasable).await.unwrap().is_empty());
    assert_eq!(store.bodies(&others).await.unwrap().len(), others.len());
    assert_eq!(store.erased(&erasable).await.unwrap().len(), 2);

    let report = audit(&ledgerbox).await;
    assert!(report.is_clean(), "{:?}", report.findings);
    assert_eq!(report.facts.asserted, 2);
    assert_eq!(report.facts.proven, before.facts.proven - 2);
    assert_eq!(report.signatures_valid, report.envelopes);
    let absent = report.absent_bodies;
    assert_eq!((absent.erased, absent.missing), (2, 0));
    assert_eq!(absent.erasures[0].position, done.position);
    assert_eq!(absent.erasures[0].positions, erasable);
    let rows = MemoryReadModel::new();
    let examined = examine(&**store, &rows, 0, &[]).await.unwrap();
    assert_eq!(examined.findings.kept, []);
    ledgerbox.assert_log_adds_up().await;

    let why = format!("erased before: the record at position {}", done.position);
    refused(&ledgerbox, deal.id(), &why).await;
    ledgerbox.restart().await;
    refused(&ledgerbox, deal.id(), &why).await;
    ledgerbox.assert_log_adds_up().await;
}

#[tokio::test]
async fn rec_4_two_operators_at_once_erase_once() {
    let mut ledgerbox = Ledgerbox::open().await;
    let deal = finished(&mut ledgerbox).await;
    let both = tokio::join!(
        ledgerbox.erase_by(deal.id(), None),
        ledgerbox.erase_by(deal.id(), None)
    );
    assert_ne!(both.0.is_ok(), both.1.is_ok());
    assert!(audit(&ledgerbox).await.is_clean());
}

#[tokio::test]
async fn rec_4_what_is_not_over_is_not_erased() {
    for until in Until::ALL {
        let ledgerbox = Ledgerbox::open().await;
        let deal = Deal::opened(&ledgerbox, until).await;
        refused(&ledgerbox, deal.id(), "once it is over").await;
    }
    let mut ledgerbox = Ledgerbox::open().await;
    let (deal, _) = paid(&mut ledgerbox).await;
    refused(&ledgerbox, deal.id(), "still watched").await;
}

#[tokio::test]
async fn rec_4_what_lapsed_or_was_declined_is_erased() {
    let ledgerbox = Ledgerbox::open().await;
    let deal = Deal::opened(&ledgerbox, Until::Offered).await;
    ledgerbox.accept(&deal.reject(&ledgerbox)).await;
    let done = ledgerbox.erase_by(deal.id(), None).await.unwrap();
    assert_eq!(done.erased.len(), 1, "there is no RESULT");
    assert!(audit(&ledgerbox).await.is_clean());
}

#[tokio::test]
async fn rec_4_what_is_disputed_is_not_erased() {
    let ledgerbox = Ledgerbox::with(briefly_watched()).await;
    let deal = declared(&ledgerbox).await;
    while ledgerbox.state(deal.id()) != "disputed" {
        ledgerbox.watch_ms(60_000).await;
    }
    ledgerbox.watch_ms(125_000).await;
    refused(&ledgerbox, deal.id(), "in dispute").await;
    assert!(audit(&ledgerbox).await.is_clean());
}

#[tokio::test]
async fn rec_4_what_was_paid_by_what_disappeared_is_not_erased() {
    let mut ledgerbox = Ledgerbox::with(briefly_watched()).await;
    let (deal, _) = paid(&mut ledgerbox).await;
    ledgerbox.base.reorganise_away(tx(1));
    ledgerbox.sweep().await;
    refused(&ledgerbox, deal.id(), "still watched").await;
    ledgerbox.watch_ms(125_000).await;
    refused(&ledgerbox, deal.id(), "reversed").await;
}

#[tokio::test]
async fn rec_4_an_operator_that_is_no_active_agent_erases_nothing() {
    let ledgerbox = Ledgerbox::open().await;
    let deal = Deal::opened(&ledgerbox, Until::Offered).await;
    ledgerbox.accept(&deal.reject(&ledgerbox)).await;
    let request = ErasureRequest {
        subject: deal.id().into(),
        operator: ledgerbox.party().did,
        reason_code: "gdpr_request".parse().unwrap(),
        order: None,
    };
    let records = ledgerbox.records().await.len();
    let refusal = ledgerbox.ledger().erase(request).await.unwrap_err();
    assert_eq!(refusal.code, Code::SignatureInvalid, "{refusal}");
    assert_eq!(ledgerbox.records().await.len(), records);
}

#[tokio::test]
async fn rec_4_an_order_is_carried_out_at_its_time() {
    let mut ledgerbox = Ledgerbox::open().await;
    let deal = finished(&mut ledgerbox).await;
    let now_s = ledgerbox.now().as_ms() / 1_000;
    let records = ledgerbox.records().await.len();
    let operator = &ledgerbox.identity;
    let order = |created_s| Some(operator.order_erasure(deal.id().into(), created_s));
    for created_s in [now_s - 61, now_s + 6] {
        let refused = ledgerbox.erase_by(deal.id(), order(created_s)).await;
        let refusal = refused.unwrap_err();
        assert_eq!(refusal.code, Code::TimestampInvalid, "{refusal}");
        assert_eq!(ledgerbox.records().await.len(), records);
    }
    let done = ledgerbox.erase_by(deal.id(), order(now_s)).await;
    assert_eq!(done.unwrap().position, records as u64);
}

#[tokio::test]
async fn rec_4_an_unknown_interaction_is_named() {
    let ledgerbox = Ledgerbox::open().await;
    let deal = Deal::opened(&ledgerbox, Until::Offered).await;
    let other = InteractionId::from(deal.offer_id);
    let refusal = ledgerbox.erase_by(other, None).await.unwrap_err();
    assert_eq!((refusal.kind, refusal.http_status()), (Kind::NotFound, 404));
    assert!(refusal.message.contains("no interaction"));
}

#[tokio::test]
async fn rec_3_a_body_that_no_record_erased_is_told_apart() {
    let mut ledgerbox = Ledgerbox::open().await;
    let deal = finished(&mut ledgerbox).await;
    ledgerbox.erase_by(deal.id(), None).await.unwrap();
    ledgerbox.settle().await;
    let (_, others) = positions(&ledgerbox).await;
    ledgerbox.store.lose_body(others[3]);
    let report = audit(&ledgerbox).await;
    let absent = &report.absent_bodies;
    assert_eq!((absent.erased, absent.missing), (2, 1));
    assert_eq!(report.facts.asserted, 3);
    let rows = MemoryReadModel::new();
    let examined = examine(&*ledgerbox.store, &rows, 0, &[]).await.unwrap();
    let findings: Vec<_> = examined.findings.kept.iter().collect();
    assert_eq!(findings.len(), 1);
    assert!(findings[0].sentence.contains("no record erased it"));
}
