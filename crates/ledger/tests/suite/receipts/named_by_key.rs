//! Receipts of interactions whose messages refer to the REQUEST by its idempotency key, as the published
//! SDK's do (decision 0190): the REQUEST is in the file, and shows whose key it is.

use serde_json::json;
use x811_audit::receipt::{ClaimVerdict, Receipt};
use x811_protocol::canonical::to_canonical;
use x811_protocol::digest::Digest;
use x811_protocol::id::EnvelopeId;
use x811_protocol::parameters::Leniency;

use super::base::{Base, PAYEE, tx};
use super::deal::{Deal, TOTAL_MICRO_USDC};
use super::ledgerbox::{Ledgerbox, parameters};
use super::paper::{DEPTH, Paper, completed};

const KEY: &str = "5b3f0a52-8c1d-4e6f-9a7b-0c1d2e3f4a5b";

async fn lenient() -> Ledgerbox {
    let mut parameters = parameters();
    parameters.lenient = vec![Leniency::ReferenceSdk];
    parameters.networks[0].confirmed_depth = DEPTH;
    let ledgerbox = Ledgerbox::with(parameters).await;
    ledgerbox.sweep().await;
    ledgerbox
}

/// A deal of new parties under this key, paid by the transaction of that number. Every message behind the
/// REQUEST names the key alone.
async fn paid_under(ledgerbox: &mut Ledgerbox, key: &str, number: u16) -> Deal {
    let mut deal = Deal::between_new_parties(ledgerbox).await;
    let payload = Deal::request_payload(key);
    let letter = ledgerbox.letter("x811/request", &deal.provider, payload);
    ledgerbox.accept(&deal.initiator.seal(&letter)).await;
    let named = EnvelopeId::lenient(key).unwrap();
    deal.request_id = named;
    ledgerbox.accept(&deal.offer(ledgerbox)).await;
    deal.offer_id = named;
    for step in [Deal::accept, Deal::result, Deal::verify] {
        let envelope = step(&mut deal, ledgerbox);
        ledgerbox.accept(&envelope).await;
    }
    deal.mine(ledgerbox, number, &[TOTAL_MICRO_USDC]);
    ledgerbox.accept(&deal.payment(ledgerbox, number)).await;
    deal.request_id = letter.id;
    completed(ledgerbox, &deal).await;
    deal
}

#[tokio::test]
async fn sdk_a_receipt_holds_whose_messages_name_the_idempotency_key() {
    let mut ledgerbox = lenient().await;
    let deal = paid_under(&mut ledgerbox, KEY, 1).await;
    let paper = Paper::of(&ledgerbox, &deal).await;
    assert_eq!(paper.receipt.envelopes.len(), 5, "with the REQUEST");
    let checked = paper.holds(&paper.receipt);
    assert!(checked.trusted);
    assert_eq!(checked.paid.unwrap().terms.unwrap().contract, None);
    assert!(!checked.steps.iter().any(|step| step.about == "contract"));
}

/// Whoever holds the ledger's keys leaves the REQUEST out, or puts one there under whose key nothing was
/// said: that of somebody else under the same key, or of the same two under another.
#[tokio::test]
async fn sdk_a_receipt_without_the_request_of_that_key_is_broken() {
    let mut ledgerbox = lenient().await;
    let strange = paid_under(&mut ledgerbox, KEY, 1).await;
    let strange = Paper::of(&ledgerbox, &strange).await.receipt.envelopes[0].clone();
    let deal = paid_under(&mut ledgerbox, KEY, 2).await;
    let paper = Paper::of(&ledgerbox, &deal).await;
    let (about, _) = paper.breaks(|receipt| drop(receipt.envelopes.remove(0)));
    assert_eq!(about, "terms");
    paper.breaks(|receipt| receipt.envelopes[0] = strange);
    paper.breaks(|receipt| receipt.envelopes.swap(0, 1));
    let mut bad = paper.receipt.clone();
    bad.envelopes[0].body["payload"]["idempotency_key"] = json!("another");
    let checked = paper.verify(&bad.sign(&paper.receipt_key));
    let last = checked.steps.last().unwrap();
    assert_eq!(
        (last.about, last.verdict),
        ("messages", ClaimVerdict::Broken)
    );
}

/// What the leniency takes, a receipt takes only under it: the operator who issues one with parameters
/// that do not have it is found, and so is a fee that only the leniency allows.
#[tokio::test]
async fn sdk_a_receipt_takes_no_form_that_its_parameters_do_not() {
    let mut ledgerbox = lenient().await;
    let strict = |receipt: &mut Receipt| receipt.parameters.event["lenient"] = json!([]);
    let deal = paid_under(&mut ledgerbox, KEY, 1).await;
    let named = Paper::of(&ledgerbox, &deal).await;
    let (about, sentence) = named.breaks(strict);
    assert_eq!(about, "transfers");
    assert!(sentence.contains("idempotency key"), "{sentence}");
    let deal = paid_a_micro_usdc_less(&mut ledgerbox).await;
    let cheaper = Paper::of(&ledgerbox, &deal).await;
    let (about, sentence) = cheaper.breaks(strict);
    assert_eq!(about, "transfers");
    assert!(sentence.contains("the fee of the OFFER"), "{sentence}");
}

/// A deal whose fee is one micro-USDC below the exact one.
async fn paid_a_micro_usdc_less(ledgerbox: &mut Ledgerbox) -> Deal {
    let mut deal = Deal::between_new_parties(ledgerbox).await;
    ledgerbox.accept(&deal.request(ledgerbox)).await;
    let payload = json!({
        "request_id": deal.request_id, "price": "1", "protocol_fee": "0.024999",
        "total_cost": "1.024999", "currency": "USDC", "estimated_time": 10,
        "deliverables": ["the text in German"], "expiry": 300,
        "payment_address": PAYEE.to_checksum(),
    });
    deal.offer_hash = Digest::of(&to_canonical(&payload));
    let letter = ledgerbox.letter("x811/offer", &deal.initiator, payload);
    deal.offer_id = letter.id;
    ledgerbox.accept(&deal.provider.seal(&letter)).await;
    for step in [Deal::accept, Deal::result, Deal::verify] {
        let envelope = step(&mut deal, ledgerbox);
        ledgerbox.accept(&envelope).await;
    }
    let block = Base::head_number(ledgerbox.now()) + 1;
    let (payer, total) = (deal.account.address, TOTAL_MICRO_USDC - 1);
    ledgerbox.base.mine(tx(3), block, payer, &[total]);
    let payment = deal.payment_of(ledgerbox, &tx(3), "1.024999");
    ledgerbox.accept(&payment).await;
    completed(ledgerbox, &deal).await;
    deal
}
