//! Every honest way to pay gives a receipt that holds (ledger-contract.md sections 4 and 5).

use serde_json::{Value, json};
use x811_audit::receipt::{ClaimVerdict, verify_compact};
use x811_protocol::authorization::payment_nonce;
use x811_protocol::digest::Digest;
use x811_protocol::money::MicroUsdc;
use x811_protocol::observation::{Observation, TransactionStatus};
use x811_protocol::parameters::PayerBindingRule;

use super::base::{Base, tx};
use super::covers::{PRICE_MICRO_USDC, at};
use super::deal::{Deal, TOTAL_MICRO_USDC, Until};
use super::ledgerbox::{Ledgerbox, parameters};
use super::paper::{FEE_MICRO_USDC, Paper, again, completed, impatient, pay};
use super::party::Account;

/// A deal whose payer nobody knows: what proves it is the nonce of this interaction.
async fn authorized() -> (Ledgerbox, Deal, Digest) {
    let mut ledgerbox = impatient().await;
    let mut deal = Deal::opened(&ledgerbox, Until::Verified).await;
    deal.account = Account::new(0x47);
    let unnamed = deal.payment(&ledgerbox, 1);
    let mut payload: Value = serde_json::from_slice(&unnamed.json).unwrap();
    let mut payload = payload["payload"].take();
    let events = ledgerbox.events().await;
    let offer_hash = events
        .iter()
        .find_map(|(record, _)| record.event()["facts"]["offer_hash"].as_str()?.parse().ok());
    let nonce = payment_nonce(ledgerbox.identity.did, deal.id(), offer_hash.unwrap());
    payload["authorization_nonce"] = json!(nonce);
    let payment = ledgerbox.seal(&deal.initiator, "x811/payment", &deal.provider, payload);
    deal.mine(&mut ledgerbox, 1, &[TOTAL_MICRO_USDC]);
    ledgerbox.accept(&payment).await;
    ledgerbox.advance_ms(8_000).await;
    let head = Base::head_number(ledgerbox.now());
    let Observation::Sweep(mut sweep) = ledgerbox.base.sweep(head, ledgerbox.watched()) else {
        unreachable!("a look is a sweep");
    };
    let Some(TransactionStatus::Mined(mined)) = sweep.transactions.get_mut(&tx(1)) else {
        unreachable!("it is mined");
    };
    mined.authorizations.insert(0, nonce);
    ledgerbox.observe(Observation::Sweep(sweep)).await;
    assert_eq!(ledgerbox.state(deal.id()), "completed");
    (ledgerbox, deal, nonce)
}

#[tokio::test]
async fn lc_4_a_payer_bound_by_an_authorization_alone_has_this_interactions_nonce() {
    let (ledgerbox, deal, nonce) = authorized().await;
    let paper = Paper::of(&ledgerbox, &deal).await;
    let steps = paper.holds(&paper.receipt).steps;
    assert!(
        steps.iter().all(|step| step.about != "elsewhere"),
        "{steps:?}"
    );
    let member = "/evidence/0/transfers/0/authorization_nonce";
    let evidence = paper.receipt.confirmed.event.pointer(member);
    assert_eq!(evidence, Some(&json!(nonce)));
    let words = "was not made under this interaction's nonce";
    paper.on("transfers").breaks(&[
        ("no nonce", words, &|bad| {
            let evidence = at(bad, "/evidence/0/transfers/0").as_object_mut().unwrap();
            evidence.remove("authorization_nonce");
        }),
        ("the nonce of another interaction", words, &|bad| {
            *at(bad, member) = json!(Digest::of(b"another"))
        }),
    ]);
    // Whoever signed the nonce meant this interaction, whenever that was.
    let head = paper.receipt.envelopes[1].derived.heads.as_ref().unwrap()[0].number;
    let old = paper.forged(|old| *at(old, "/evidence/0/block/number") = json!(head));
    paper.holds(&old);
}

/// Every way that is honest holds, and says what a plain transfer leaves open.
#[tokio::test]
async fn lc_5_every_honest_way_to_pay_gives_a_receipt_that_holds() {
    let mut ledgerbox = impatient().await;
    let mut free = Deal::between_new_parties(&ledgerbox).await;
    ledgerbox.accept(&free.request(&ledgerbox)).await;
    let offer = free.free_offer(&ledgerbox);
    ledgerbox.accept(&offer).await;
    for step in [Deal::accept, Deal::result, Deal::verify] {
        let message = step(&mut free, &ledgerbox);
        ledgerbox.accept(&message).await;
    }
    ledgerbox
        .accept(&free.payment_of(&ledgerbox, &tx(1), "0"))
        .await;
    let mut deals = vec![(free, false)];
    let ways: [&[u64]; 4] = [
        &[TOTAL_MICRO_USDC],
        &[TOTAL_MICRO_USDC + 7],
        &[1, PRICE_MICRO_USDC, FEE_MICRO_USDC - 1],
        &[400_000, 400_000, 400_000],
    ];
    for (amounts, number) in ways.into_iter().zip(2..) {
        let mut deal = again(&ledgerbox, &deals[0].0);
        deal.go(&ledgerbox, Until::Verified).await;
        pay(&mut ledgerbox, &deal, number, amounts).await;
        deals.push((deal, true));
    }
    for (deal, is_plain) in &deals {
        let paper = Paper::of(&ledgerbox, deal).await;
        let checked = paper.holds(&paper.receipt);
        let elsewhere = checked.steps.iter().find(|step| step.about == "elsewhere");
        let verdict = elsewhere.map(|step| step.verdict);
        assert_eq!(verdict, is_plain.then_some(ClaimVerdict::NotChecked));
        let compact = verify_compact(&paper.compact, Some(&paper.policy));
        assert!(compact.paid.is_some(), "{:?}", compact.steps.last());
    }
}

/// Where payers are not checked, and totals wait for *safe*.
#[tokio::test]
async fn lc_5_a_receipt_holds_under_other_parameters_of_its_ledger() {
    let mut parameters = parameters();
    parameters.payer_binding = PayerBindingRule::Unchecked;
    parameters.networks[0].treasury = None;
    parameters.networks[0].safe_above = Some(MicroUsdc::from_micro_usdc(1).unwrap());
    let mut ledgerbox = Ledgerbox::with(parameters).await;
    let mut deal = Deal::opened(&ledgerbox, Until::Verified).await;
    deal.account = Account::new(0x48);
    let block = Base::head_number(ledgerbox.now()) + 1;
    ledgerbox.base.finalized = Some(block);
    let payer = deal.account.address;
    ledgerbox
        .base
        .mine(tx(1), block, payer, &[TOTAL_MICRO_USDC]);
    ledgerbox.accept(&deal.payment(&ledgerbox, 1)).await;
    ledgerbox.watch_ms(20_000).await;
    completed(&ledgerbox, &deal).await;
    let paper = Paper::of(&ledgerbox, &deal).await;
    let (_, sentence) = paper.breaks(|bad| *at(bad, "/evidence/0/level") = json!("confirmed"));
    assert!(sentence.contains("safe"), "{sentence}");
}
