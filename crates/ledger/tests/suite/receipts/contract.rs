//! A receipt names the contract that opened the interaction (contract.md): its REQUEST is in the file.

use serde_json::{Value, json};
use x811_audit::receipt::{ClaimVerdict, Receipt};
use x811_protocol::id::ContractId;
use x811_protocol::parameters::Contracts;

use super::deal::{Deal, TOTAL_MICRO_USDC};
use super::keys::rotate;
use super::ledgerbox::{Ledgerbox, parameters};
use super::paper::{DEPTH, Paper, completed, paid};
use super::party::Account;
use super::talks::Talks;

/// An interaction that a contract opened, paid; the initiator has another key from the ACCEPT on if
/// asked for.
pub(crate) async fn paid_under_contract(rotates: bool) -> (Ledgerbox, Deal, ContractId) {
    let mut ledgerbox = opened().await;
    let (deal, id) = paid_next(&mut ledgerbox, rotates, 1).await;
    (ledgerbox, deal, id)
}

async fn opened() -> Ledgerbox {
    let mut parameters = parameters();
    parameters.contracts = Some(Contracts::DEFAULT);
    parameters.networks[0].confirmed_depth = DEPTH;
    let ledgerbox = Ledgerbox::with(parameters).await;
    ledgerbox.sweep().await;
    ledgerbox
}

/// The next of this ledger, paid by the transaction of that number.
async fn paid_next(ledgerbox: &mut Ledgerbox, rotates: bool, number: u16) -> (Deal, ContractId) {
    let mut talks = Talks::new(ledgerbox).await;
    talks.agree(ledgerbox).await;
    let (payer, payee) = (talks.payer.clone(), talks.payee.clone());
    let mut deal = Deal::between(ledgerbox, &payer, &payee, Account::new(0x46));
    let (id, request) = talks.request(ledgerbox, |_| {});
    ledgerbox.accept(&request).await;
    deal.request_id = id;
    let offer = deal.offer(ledgerbox);
    ledgerbox.accept(&offer).await;
    if rotates {
        rotate(ledgerbox, &mut deal).await;
    }
    for step in [Deal::accept, Deal::result, Deal::verify] {
        let envelope = step(&mut deal, ledgerbox);
        ledgerbox.accept(&envelope).await;
    }
    deal.mine(ledgerbox, number, &[TOTAL_MICRO_USDC]);
    ledgerbox.accept(&deal.payment(ledgerbox, number)).await;
    completed(ledgerbox, &deal).await;
    (deal, talks.id.unwrap())
}

fn contract(paper: &Paper, receipt: &Receipt) -> Option<ContractId> {
    paper.holds(receipt).paid.unwrap().terms.unwrap().contract
}

#[tokio::test]
async fn xn_9_a_receipt_names_the_contract_that_opened_the_interaction() {
    let (ledgerbox, deal, id) = paid_under_contract(false).await;
    let paper = Paper::of(&ledgerbox, &deal).await;
    assert_eq!(paper.receipt.envelopes.len(), 5, "with the REQUEST");
    assert_eq!(contract(&paper, &paper.receipt), Some(id));
    let checked = paper.holds(&paper.receipt);
    let step = checked.steps.iter().find(|step| step.about == "contract");
    assert_eq!(step.unwrap().verdict, ClaimVerdict::Proven);
    // Without it the receipt is one of the same payment, and says nothing of a contract.
    let without = paper.forged(|receipt| drop(receipt.envelopes.remove(0)));
    assert_eq!(contract(&paper, &without), None);

    let (other, plain) = paid().await;
    let plain = Paper::of(&other, &plain).await;
    assert_eq!(plain.receipt.envelopes.len(), 4);
    assert_eq!(contract(&plain, &plain.receipt), None);
}

/// Whoever holds the ledger's keys names another contract, or none, or takes the REQUEST of somebody
/// else.
#[tokio::test]
async fn xn_9_a_receipt_names_no_other_contract() {
    let mut ledgerbox = opened().await;
    let (strange, _) = paid_next(&mut ledgerbox, false, 1).await;
    let strange = Paper::of(&ledgerbox, &strange).await.receipt.envelopes[0].clone();
    let (deal, _) = paid_next(&mut ledgerbox, false, 2).await;
    let paper = Paper::of(&ledgerbox, &deal).await;
    let other = ContractId::from(deal.offer_id);
    let (about, _) = paper.breaks(|receipt| {
        let held_to = receipt.envelopes[0].derived.contract.as_mut();
        held_to.unwrap().id = other;
    });
    assert_eq!(about, "contract");
    let (about, _) = paper.breaks(|receipt| receipt.envelopes[0].derived.contract = None);
    assert_eq!(about, "contract");
    // What the REQUEST says is signed.
    let named: [fn(&mut Value, String); 2] = [
        |body, other| body["payload"]["parameters"]["negotiation_id"] = json!(other),
        |body, _| body["payload"]["max_budget"] = json!(7),
    ];
    for change in named {
        let mut bad = paper.receipt.clone();
        change(&mut bad.envelopes[0].body, other.to_public());
        let checked = paper.verify(&bad.sign(&paper.receipt_key));
        assert_eq!(checked.steps.last().unwrap().about, "messages");
        assert_eq!(checked.paid, None);
    }
    // An honest REQUEST of another interaction, and one message twice.
    paper.breaks(|receipt| receipt.envelopes[0] = strange);
    paper.breaks(|receipt| receipt.envelopes[0] = receipt.envelopes[1].clone());
    paper.breaks(|receipt| receipt.envelopes.swap(0, 1));
}

/// Its key is one of the initiator's, whose record is in the file with those of the others.
#[tokio::test]
async fn xn_9_the_request_of_a_contract_may_be_signed_by_an_earlier_key() {
    let (ledgerbox, deal, id) = paid_under_contract(true).await;
    let paper = Paper::of(&ledgerbox, &deal).await;
    assert_eq!(paper.receipt.agent_keys.len(), 2);
    assert_eq!(contract(&paper, &paper.receipt), Some(id));
    let (about, _) = paper.breaks(|receipt| drop(receipt.agent_keys.remove(0)));
    assert_eq!(about, "keys");
}
