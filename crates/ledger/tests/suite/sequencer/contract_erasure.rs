//! Bodies of negotiations that an operator has erased (machines.md section 6).

use super::bundles::{audited, bundle, bundle_of};
use super::ledgerbox::Ledgerbox;
use super::talks::{LIFE_MS, Talks, talking};
use super::term_erasure::assert_refused;
use x811_audit::audit_export;
use x811_ledger::port::LedgerStore as _;
use x811_protocol::event::Event;
use x811_protocol::facts::NegotiationVerb;
use x811_protocol::id::{ContractId, EnvelopeId, InteractionId};
use x811_protocol::parameters::Contracts;
use x811_protocol::refusal::Kind;

async fn opened() -> Ledgerbox {
    talking(Contracts::DEFAULT).await
}

/// Positions of a negotiation's messages.
async fn messages(ledgerbox: &Ledgerbox, id: ContractId) -> Vec<u64> {
    let stream = format!("contract:{id}");
    let events = ledgerbox.events().await;
    let of_it = events.iter().filter(|(record, event)| {
        record.stream() == stream && matches!(event, Event::EnvelopeAccepted(_))
    });
    of_it.map(|(record, _)| record.position()).collect()
}

/// An offer that its addressee rejected.
async fn rejected(ledgerbox: &Ledgerbox) -> Talks {
    let mut talks = Talks::new(ledgerbox).await;
    let (payer, payee) = (talks.payer.clone(), talks.payee.clone());
    talks
        .say(ledgerbox, &payer, NegotiationVerb::Offer, "0.41")
        .await;
    talks
        .say(ledgerbox, &payee, NegotiationVerb::Reject, "")
        .await;
    talks
}

#[tokio::test]
async fn mach_6_every_message_of_a_closed_negotiation_is_erased_and_nothing_else() {
    let mut ledgerbox = opened().await;
    let talks = rejected(&ledgerbox).await;
    let id = talks.id.unwrap();
    let due = messages(&ledgerbox, id).await;
    assert_eq!(due.len(), 2);
    let before = audited(&ledgerbox).await;
    let done = ledgerbox.erase(id).await.unwrap();
    assert_eq!((&done.erased, done.kept.len()), (&due, 0));
    assert_eq!(done.negotiation_id, Some(id.to_public()));
    assert_eq!(done.interaction_id, None);
    ledgerbox.settle().await;
    assert!(ledgerbox.store.bodies(&due).await.unwrap().is_empty());

    let report = audited(&ledgerbox).await;
    assert!(report.is_clean(), "{:?}", report.findings);
    assert_eq!(report.facts.asserted, before.facts.asserted + 2);
    assert_eq!(report.facts.proven, before.facts.proven - 2);
    assert_eq!(report.signatures_valid, report.envelopes);
    let absent = report.absent_bodies;
    assert_eq!((absent.erased, absent.missing), (2, 0));
    let bundle = bundle_of(&ledgerbox, id.into()).await;
    let alone = audit_export(&bundle[..], None).unwrap();
    assert_eq!(alone.findings, []);

    let why = format!("erased before: the record at position {}", done.position);
    assert_refused(ledgerbox.erase(id).await, &why);
    ledgerbox.restart().await;
    assert_refused(ledgerbox.erase(id).await, &why);
    ledgerbox.assert_log_adds_up().await;
}

#[tokio::test]
async fn mach_6_no_message_of_a_live_negotiation_is_erased() {
    let ledgerbox = opened().await;
    let mut talks = Talks::new(&ledgerbox).await;
    let payer = talks.payer.clone();
    talks
        .say(&ledgerbox, &payer, NegotiationVerb::Offer, "0.41")
        .await;
    let id = talks.id.unwrap();
    assert_refused(ledgerbox.erase(id).await, "pending");
    // Nobody answers: once both are told, it is closed.
    ledgerbox.advance_ms(LIFE_MS + 1).await;
    assert_eq!(talks.state(&ledgerbox), "expired");
    let done = ledgerbox.erase(id).await.unwrap();
    assert_eq!(done.erased, messages(&ledgerbox, id).await);

    let mut agreed = Talks::new(&ledgerbox).await;
    agreed.agree(&ledgerbox).await;
    let id = agreed.id.unwrap();
    assert_refused(ledgerbox.erase(id).await, "accepted");
    assert!(audited(&ledgerbox).await.is_clean());
}

#[tokio::test]
async fn mach_6_the_interaction_that_a_contract_opened_has_to_be_over() {
    let ledgerbox = opened().await;
    let mut talks = Talks::new(&ledgerbox).await;
    talks.agree(&ledgerbox).await;
    let id = talks.id.unwrap();
    let (request_id, request) = talks.request(&ledgerbox, |_| {});
    ledgerbox.accept(&request).await;
    let interaction = InteractionId::from(request_id);
    assert_refused(
        ledgerbox.erase(id).await,
        "bodies are erased once it is over",
    );

    // Nobody offers in time, and it is over.
    ledgerbox.advance_ms(61_000).await;
    assert_eq!(ledgerbox.state(interaction), "expired");
    let done = ledgerbox.erase(id).await.unwrap();
    assert_eq!(done.erased, messages(&ledgerbox, id).await);
    ledgerbox.settle().await;
    let report = audited(&ledgerbox).await;
    assert!(report.is_clean(), "{:?}", report.findings);
    // The bundle of the interaction brings the contract, without its bodies.
    let bundle = bundle(&ledgerbox, interaction).await;
    assert_eq!(audit_export(&bundle[..], None).unwrap().findings, []);
    ledgerbox.assert_log_adds_up().await;
}

#[tokio::test]
async fn mach_6_a_negotiation_that_is_not_there_is_named() {
    let ledgerbox = opened().await;
    let talks = rejected(&ledgerbox).await;
    let (step, _) = talks.step.unwrap();
    let nobodys: EnvelopeId = "0190a1b2-c3d4-7e5f-8901-234567890abc".parse().unwrap();
    assert_ne!(step, nobodys);
    let refusal = ledgerbox
        .erase(ContractId::from(nobodys))
        .await
        .unwrap_err();
    assert_eq!((refusal.kind, refusal.http_status()), (Kind::NotFound, 404));
    assert!(refusal.message.contains("no negotiation neg-"), "{refusal}");
}
