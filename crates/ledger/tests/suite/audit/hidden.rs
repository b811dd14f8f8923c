//! Messages of the core types that the ledger keeps in somebody's mail, where nothing follows from
//! them, and messages in a stream that they do not belong to (record.md section 4, ledger-contract.md
//! section 6). The agents signed every one of them.

use serde_json::json;
use x811_audit::Cause;
use x811_protocol::envelope::SealedEnvelope;

use super::deal::{Deal, TOTAL_MICRO_USDC, Until};
use super::forger::{Forger, accepted, mail_of, of_interaction};
use super::ledgerbox::{Ledgerbox, impatient};
use super::party::Account;
use super::scene::{audit, causes_at, exported, found, pay};

const DECISION: Cause = Cause::ReDecisionDiffers;

/// A log where `message` of a deal that stands at `until` was kept in the mail of whom it is for.
#[track_caller]
fn is_hidden(mut forger: Forger, deal: &Deal, message: &SealedEnvelope) {
    let to = message.header.to;
    let recipient = [&deal.initiator, &deal.provider]
        .into_iter()
        .find(|party| party.did == to);
    let at = forger.put_message(&mail_of(recipient.unwrap()), message);
    let sentence = forger.is_found(&[(at, "stream", DECISION)]);
    let interaction = deal.id().to_string();
    let is_request = message.header.id == deal.request_id;
    assert!(is_request || sentence.contains(&interaction), "{sentence}");
}

/// A deal and the log it leads to.
async fn standing_at(until: Until) -> (Ledgerbox, Deal, Forger) {
    let ledgerbox = Ledgerbox::open().await;
    let deal = Deal::opened(&ledgerbox, until).await;
    let forger = Forger::at(&ledgerbox).await;
    (ledgerbox, deal, forger)
}

#[tokio::test]
async fn rec_4_a_hidden_request_is_found() {
    let (ledgerbox, deal, forger) = standing_at(Until::Pending).await;
    let mut next = Deal::between(
        &ledgerbox,
        &deal.initiator,
        &deal.provider,
        Account::new(0x46),
    );
    let request = next.request(&ledgerbox);
    is_hidden(forger, &next, &request);
}

#[tokio::test]
async fn rec_4_a_hidden_offer_is_found() {
    let (ledgerbox, mut deal, forger) = standing_at(Until::Pending).await;
    let offer = deal.offer(&ledgerbox);
    is_hidden(forger, &deal, &offer);
}

/// The initiator is bound, and the provider is never told.
#[tokio::test]
async fn rec_4_a_hidden_accept_is_found() {
    let (ledgerbox, mut deal, forger) = standing_at(Until::Offered).await;
    let accept = deal.accept(&ledgerbox);
    is_hidden(forger, &deal, &accept);
}

#[tokio::test]
async fn rec_4_a_hidden_reject_is_found() {
    let (ledgerbox, deal, forger) = standing_at(Until::Offered).await;
    let reject = deal.reject(&ledgerbox);
    is_hidden(forger, &deal, &reject);
}

#[tokio::test]
async fn rec_4_a_hidden_result_is_found() {
    let (ledgerbox, mut deal, forger) = standing_at(Until::Accepted).await;
    let result = deal.result(&ledgerbox);
    is_hidden(forger, &deal, &result);
}

#[tokio::test]
async fn rec_4_a_hidden_verify_is_found() {
    let (ledgerbox, mut deal, forger) = standing_at(Until::Delivered).await;
    let verify = deal.verify(&ledgerbox);
    is_hidden(forger, &deal, &verify);
}

/// Who paid is told that nothing was paid in time.
#[tokio::test]
async fn rec_4_a_hidden_payment_is_found() {
    let (ledgerbox, deal, forger) = standing_at(Until::Verified).await;
    let payment = deal.payment(&ledgerbox, 1);
    is_hidden(forger, &deal, &payment);
}

#[tokio::test]
async fn rec_4_a_hidden_error_about_an_open_interaction_is_found() {
    let (ledgerbox, deal, forger) = standing_at(Until::Accepted).await;
    let error = deal.error(&ledgerbox, Some(deal.offer_id));
    is_hidden(forger, &deal, &error);
}

/// An honest ledger refuses it: the interaction takes no more messages.
#[tokio::test]
async fn rec_4_an_error_about_a_finished_interaction_is_no_mail() {
    let mut ledgerbox = impatient().await;
    let deal = Deal::opened(&ledgerbox, Until::Verified).await;
    pay(&mut ledgerbox, &deal, 1, TOTAL_MICRO_USDC).await;
    ledgerbox.watch_ms(8_000).await;
    assert_eq!(ledgerbox.state(deal.id()), "completed");
    let error = deal.error(&ledgerbox, Some(deal.offer_id));
    ledgerbox.refuse(&error).await;
    let mut forger = Forger::at(&ledgerbox).await;
    let at = forger.put_message(&mail_of(&deal.initiator), &error);
    let sentence = forger.is_found(&[(at, "stream", DECISION)]);
    assert!(sentence.contains("takes no more messages"), "{sentence}");
}

#[tokio::test]
async fn rec_4_a_late_payment_of_a_finished_interaction_is_no_mail() {
    let (ledgerbox, deal, _) = standing_at(Until::Verified).await;
    ledgerbox.advance_ms(61_000).await;
    assert_eq!(ledgerbox.state(deal.id()), "disputed");
    let payment = deal.payment(&ledgerbox, 1);
    let mut forger = Forger::at(&ledgerbox).await;
    let at = forger.put_message(&mail_of(&deal.provider), &payment);
    let sentence = forger.is_found(&[(at, "stream", DECISION)]);
    assert!(sentence.contains("x811/payment"), "{sentence}");
}

/// It refers to nothing that the log knows, so the ledger refused it or lost what it refers to.
#[tokio::test]
async fn rec_4_an_offer_that_refers_to_nothing_is_no_mail() {
    let (ledgerbox, _, mut forger) = standing_at(Until::Pending).await;
    let mut unknown = Deal::between_new_parties(&ledgerbox).await;
    let _never_sent = unknown.request(&ledgerbox);
    let offer = unknown.offer(&ledgerbox);
    let registered = Forger::at(&ledgerbox).await;
    forger.parts = registered.parts;
    let at = forger.put_message(&mail_of(&unknown.initiator), &offer);
    let sentence = forger.is_found(&[(at, "stream", DECISION)]);
    assert!(sentence.contains("no open interaction"), "{sentence}");
}

/// Everything that an honest ledger mails.
#[tokio::test]
async fn rec_4_mail_of_an_honest_ledger_is_clean() {
    let (ledgerbox, deal, _) = standing_at(Until::Accepted).await;
    let (initiator, provider) = (&deal.initiator, &deal.provider);
    let greeting = ledgerbox.seal(provider, "x811.ext/greeting", initiator, json!({}));
    ledgerbox.accept(&greeting).await;
    let registration = ledgerbox
        .events()
        .await
        .into_iter()
        .find_map(|(_, event)| event.envelope().map(|envelope| envelope.id));
    let unknown = ledgerbox.letter("x811/error", provider, json!({})).id;
    let about = [None, Some(unknown), Some(greeting.header.id), registration];
    for related in about {
        ledgerbox.accept(&deal.error(&ledgerbox, related)).await;
    }
    let report = audit(&exported(&ledgerbox).await);
    assert_eq!(found(&report), []);
    let mail = mail_of(initiator);
    let mailed = ledgerbox.records().await;
    let mailed = mailed.iter().filter(|record| record.stream() == mail);
    assert_eq!(mailed.count(), 1 + about.len());
}

#[tokio::test]
async fn rec_4_a_custom_message_in_an_interaction_is_found() {
    let (ledgerbox, deal, mut forger) = standing_at(Until::Accepted).await;
    let (initiator, provider) = (&deal.initiator, &deal.provider);
    let greeting = ledgerbox.seal(provider, "x811.ext/greeting", initiator, json!({}));
    let at = forger.put_message(&of_interaction(deal.id()), &greeting);
    let report = forger.report();
    assert!(causes_at(&report, at).contains(&Cause::StateDiffers));
}

#[tokio::test]
async fn rec_4_an_error_in_another_interaction_than_it_is_about_is_found() {
    let (ledgerbox, first, _) = standing_at(Until::Accepted).await;
    let (initiator, provider) = (&first.initiator, &first.provider);
    let mut second = Deal::between(&ledgerbox, initiator, provider, Account::new(0x46));
    second.go(&ledgerbox, Until::Accepted).await;
    for related in [Some(first.offer_id), None] {
        let error = first.error(&ledgerbox, related);
        let mut forger = Forger::at(&ledgerbox).await;
        let at = forger.put_message(&of_interaction(second.id()), &error);
        forger.is_found(&[(at, "facts.related_message_id", DECISION)]);
    }
}

#[tokio::test]
async fn rec_4_mail_rests_on_nothing_and_is_its_recipients() {
    let (ledgerbox, deal, honest) = standing_at(Until::Pending).await;
    let (initiator, provider) = (&deal.initiator, &deal.provider);
    let greeting = ledgerbox.seal(provider, "x811.ext/greeting", initiator, json!({}));
    for (member, value) in [
        ("deadline_at_ms", json!(1_767_312_999_999_u64)),
        ("parameters", json!(1)),
        ("payer_binding", json!("wallet")),
        ("heads", json!([])),
    ] {
        let mut event = accepted(&greeting);
        event["derived"][member] = value;
        let mut forger = honest.clone();
        let at = forger.put(&mail_of(initiator), event, Some(&greeting.body));
        let field = format!("derived.{member}");
        forger.is_found(&[(at, &field, DECISION)]);
    }
    let mut forger = honest;
    let at = forger.put_message(&mail_of(provider), &greeting);
    forger.is_found(&[(at, "stream", DECISION)]);
}
