//! Lies about authorizations: who is bound by one alone pays with what was made under it, and a nonce
//! stands for one interaction (ledger-contract.md sections 4 and 5, settlement-watcher.md rule 18).

use serde_json::{Value, json};
use x811_audit::Cause;
use x811_protocol::authorization::{fee_nonce, payment_nonce};
use x811_protocol::digest::Digest;
use x811_protocol::event::{Event, PayerBinding, SettlementEvent};
use x811_protocol::evm::EvmAddress;
use x811_protocol::facts::Facts;
use x811_protocol::observation::{Observation, TransactionStatus};

use super::base::{Base, PAYEE, tx};
use super::deal::{Deal, TOTAL_MICRO_USDC, Until};
use super::ledgerbox::{Ledgerbox, impatient};
use super::resealing::{first, resealed};
use super::scene::{Parts, audit, exported, found, names};

const NONCE: &str = "/evidence/0/transfers/0/authorization_nonce";
const FIELD: &str = "evidence[0].transfers[0].authorization_nonce";
/// Nobody's wallet.
const STRANGER: EvmAddress = EvmAddress::from_bytes([0x99; 20]);

async fn offer_hash(ledgerbox: &Ledgerbox) -> Digest {
    let events = ledgerbox.events().await.into_iter();
    let mut offers = events.filter_map(|(_, event)| {
        if let Event::EnvelopeAccepted(accepted) = event
            && let Facts::Offer(offer) = accepted.facts
        {
            return Some(offer.payload_hash);
        }
        None
    });
    offers.next().unwrap()
}

/// An interaction that was paid by a stranger's wallet under its nonce, and its two nonces.
async fn authorized(amounts: &[u64]) -> (Vec<u8>, Digest, Digest) {
    let mut ledgerbox = impatient().await;
    ledgerbox.sweep().await;
    let deal = Deal::opened(&ledgerbox, Until::Verified).await;
    let (ledger, id) = (ledgerbox.identity.did, deal.id());
    let offer_hash = offer_hash(&ledgerbox).await;
    let nonce = payment_nonce(ledger, id, offer_hash);
    let block = Base::head_number(ledgerbox.now()) + 1;
    ledgerbox.base.mine(tx(1), block, STRANGER, amounts);
    let payload = json!({
        "request_id": deal.request_id,
        "offer_id": deal.offer_id,
        "tx_hash": tx(1).to_string(),
        "amount": "1.025",
        "currency": "USDC",
        "network": "base",
        "payer_address": STRANGER.to_checksum(),
        "payee_address": PAYEE.to_checksum(),
        "authorization_nonce": nonce,
    });
    let payment = ledgerbox.seal(&deal.initiator, "x811/payment", &deal.provider, payload);
    ledgerbox.accept(&payment).await;
    for _ in 0..8 {
        ledgerbox.advance_ms(1_000).await;
        let head = Base::head_number(ledgerbox.now());
        let Observation::Sweep(mut sweep) = ledgerbox.base.sweep(head, ledgerbox.watched()) else {
            unreachable!("it is a sweep");
        };
        for status in sweep.transactions.values_mut() {
            if let TransactionStatus::Mined(mined) = status {
                mined.authorizations.insert(0, nonce);
            }
        }
        ledgerbox.observe(Observation::Sweep(sweep)).await;
    }
    assert_eq!(ledgerbox.state(deal.id()), "completed");
    let events = ledgerbox.events().await;
    let by_authorization = events.iter().any(|(_, event)| {
        matches!(event, Event::EnvelopeAccepted(accepted)
            if accepted.derived.payer_binding == Some(PayerBinding::Authorization))
    });
    assert!(by_authorization);
    let bytes = exported(&ledgerbox).await;
    (bytes, nonce, fee_nonce(ledger, id, offer_hash))
}

#[tokio::test]
async fn sw_18_an_honest_payment_by_authorization_is_clean() {
    let (bytes, nonce, _) = authorized(&[TOTAL_MICRO_USDC]).await;
    let mut parts = Parts::of(&bytes);
    let at = parts.find_event("confirmed");
    assert_eq!(*parts.records[at].member(NONCE), json!(nonce));
    assert_eq!(found(&audit(&bytes)), []);
}

/// What was made under the interaction's own nonce was made for it: no head says that it is too old.
#[tokio::test]
async fn lc_5_under_its_own_nonce_nothing_is_too_old() {
    let (bytes, ..) = authorized(&[TOTAL_MICRO_USDC]).await;
    let mut parts = Parts::of(&bytes);
    let (accept, confirmed) = (
        parts.find_message("x811/accept"),
        parts.find_event("confirmed"),
    );
    let mut head = parts.records[confirmed].member("/evidence/0/block").clone();
    head["network"] = json!("base");
    *parts.records[accept].member("/derived/heads/0") = head;
    assert_eq!(found(&audit(&resealed(parts.clone()))), []);
    let evidence = parts.records[confirmed].member("/evidence/0/transfers/0");
    drop(
        evidence
            .as_object_mut()
            .unwrap()
            .remove("authorization_nonce"),
    );
    names(
        &audit(&resealed(parts)),
        confirmed,
        "evidence[0].block",
        Cause::NoEvidence,
    );
}

/// The machine and the audit say the same of a block that was there at the ACCEPT, and of what lies
/// beside the authorised transfer.
#[tokio::test]
async fn rule_19_a_transfer_under_its_own_nonce_in_an_old_block_is_clean() {
    let mut ledgerbox = impatient().await;
    ledgerbox.sweep().await;
    let deal = Deal::opened(&ledgerbox, Until::Verified).await;
    let (ledger, id) = (ledgerbox.identity.did, deal.id());
    let nonce = payment_nonce(ledger, id, offer_hash(&ledgerbox).await);
    let accepted_at = Base::head_number(ledgerbox.now());
    let (base, payer) = (&mut ledgerbox.base, deal.account.address);
    let amounts = [TOTAL_MICRO_USDC, TOTAL_MICRO_USDC];
    base.mine(tx(1), accepted_at, payer, &amounts);
    base.authorize(tx(1), &[(1, nonce)]);
    ledgerbox.accept(&deal.payment(&ledgerbox, 1)).await;
    ledgerbox.watch_ms(4_000).await;
    assert_eq!(ledgerbox.state(id), "completed");
    let events = ledgerbox.events().await;
    let claimed: Vec<u64> = events
        .iter()
        .filter_map(|(_, event)| claimed(event))
        .collect();
    assert_eq!(claimed, [1], "the plain one is older than the ACCEPT");
    assert_eq!(found(&audit(&exported(&ledgerbox).await)), []);
}

/// The ordinal that a confirmation claims.
fn claimed(event: &Event) -> Option<u64> {
    if let Event::Settlement(SettlementEvent::Confirmed(confirmed)) = event {
        return Some(confirmed.claims[0].ordinal);
    }
    None
}

/// The token lets everybody see that no transfer was made under it, so that the payer is a stranger.
#[tokio::test]
async fn lc_9_a_payment_by_authorization_without_a_nonce_is_found() {
    let (bytes, ..) = authorized(&[TOTAL_MICRO_USDC]).await;
    first(&bytes, "confirmed")
        .set(NONCE, Value::Null)
        .finds(FIELD, Cause::NoEvidence);
}

#[tokio::test]
async fn lc_9_a_payment_under_another_interactions_nonce_is_found() {
    let (bytes, ..) = authorized(&[TOTAL_MICRO_USDC]).await;
    first(&bytes, "confirmed")
        .set(NONCE, json!(Digest::of(b"another interaction")))
        .finds(FIELD, Cause::NoEvidence);
}

/// What goes to the payee is not made under the nonce of the fee.
#[tokio::test]
async fn lc_9_a_payment_under_the_nonce_of_the_fee_is_found() {
    let (bytes, _, fee) = authorized(&[TOTAL_MICRO_USDC]).await;
    first(&bytes, "confirmed")
        .set(NONCE, json!(fee))
        .finds(FIELD, Cause::NoEvidence);
}

#[tokio::test]
async fn lc_9_two_transfers_under_one_authorization_are_found() {
    let (bytes, ..) = authorized(&[TOTAL_MICRO_USDC, 5]).await;
    let mut parts = Parts::of(&bytes);
    for event in ["seen", "confirmed"] {
        let at = parts.find_event(event);
        let transfers = match event {
            "seen" => "/transfers",
            _ => "/evidence/0/transfers",
        };
        let transfers = parts.records[at].member(transfers).as_array_mut().unwrap();
        let mut second = transfers[0].clone();
        second["ordinal"] = json!(1);
        transfers.push(second);
    }
    let report = audit(&resealed(parts.clone()));
    let (seen, confirmed) = (parts.find_event("seen"), parts.find_event("confirmed"));
    let expected = [
        (seen as u64, "transfers", Cause::NoEvidence),
        (
            confirmed as u64,
            "evidence[0].transfers[1].authorization_nonce",
            Cause::NoEvidence,
        ),
        (confirmed as u64, "evidence[0].transfers", Cause::NoEvidence),
    ];
    assert_eq!(found(&report), expected);
}

/// Where a wallet is bound a nonce is not needed; one that is named must be the interaction's.
#[tokio::test]
async fn lc_9_a_foreign_nonce_beside_a_bound_wallet_is_found() {
    let bytes = exported(&super::scene::settled_and_disputed().await).await;
    first(&bytes, "confirmed")
        .set(NONCE, json!(Digest::of(b"another interaction")))
        .finds(FIELD, Cause::NoEvidence);
}

#[tokio::test]
async fn lc_9_a_late_payment_under_a_foreign_nonce_is_found() {
    let bytes = exported(&super::scene::settled_and_disputed().await).await;
    first(&bytes, "late")
        .set(NONCE, json!(Digest::of(b"another interaction")))
        .finds(FIELD, Cause::NoEvidence);
}

/// The PAYMENT's own nonce: the rules refuse another one.
#[tokio::test]
async fn lc_9_a_payment_message_that_names_another_nonce_is_found() {
    let (bytes, _, fee) = authorized(&[TOTAL_MICRO_USDC]).await;
    let mut parts = Parts::of(&bytes);
    let at = parts.find_message("x811/payment");
    *parts.records[at].member("/facts/authorization_nonce") = json!(fee);
    names(
        &audit(&resealed(parts)),
        at,
        "event",
        Cause::ReDecisionDiffers,
    );
}

/// A stranger's wallet that is called the initiator's own needs no nonce, so that is held to the
/// registry.
#[tokio::test]
async fn lc_9_a_stranger_who_is_called_bound_is_found() {
    let (bytes, ..) = authorized(&[TOTAL_MICRO_USDC]).await;
    let at = Parts::of(&bytes).find_message("x811/payment");
    let mut parts = Parts::of(&bytes);
    *parts.records[at].member("/derived/payer_binding") = json!("wallet");
    let report = audit(&resealed(parts));
    let here = found(&report);
    let is_named = |(position, field, cause): &(u64, &str, Cause)| {
        *position == at as u64 && field.starts_with("derived") && *cause == Cause::ReDecisionDiffers
    };
    assert!(here.iter().any(is_named), "{here:?}");
    // Such a binding hides nothing: the nonce that is left is still the interaction's.
    first(&bytes, "confirmed")
        .set(NONCE, json!(Digest::ZERO))
        .finds_also(FIELD, Cause::NoEvidence);
}
