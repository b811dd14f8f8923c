//! The good files of a contract: the bundle of its negotiation, and bundle and receipt of the
//! interaction that it opened and that was paid; and of a negotiation whose messages have every
//! member there is (contract.md).

use serde_json::{Value, json};
use x811_protocol::canonical::to_canonical;
use x811_protocol::digest::Digest;
use x811_protocol::facts::NegotiationVerb;
use x811_protocol::id::ContractId;
use x811_protocol::parameters::Contracts;
use x811_protocol::stream::Subject;

use super::bundles::{bundle, bundle_of};
use super::deal::{Deal, TOTAL_MICRO_USDC};
use super::golden::{Golden, receipts_of, settled};
use super::ledgerbox::{Ledgerbox, impatient_parameters};
use super::party::Account;
use super::talks::Talks;

/// The interaction that an agreed contract opens, verified.
async fn engaged(ledgerbox: &Ledgerbox, talks: &Talks) -> Deal {
    let (payer, payee) = (&talks.payer, &talks.payee);
    let mut deal = Deal::between(ledgerbox, payer, payee, Account::new(0x46));
    let (id, request) = talks.request(ledgerbox, |_| {});
    ledgerbox.accept(&request).await;
    deal.request_id = id;
    for step in [Deal::offer, Deal::accept, Deal::result, Deal::verify] {
        let envelope = step(&mut deal, ledgerbox);
        ledgerbox.accept(&envelope).await;
    }
    deal
}

async fn ledger_with_contracts() -> Ledgerbox {
    let mut parameters = impatient_parameters();
    parameters.contracts = Some(Contracts::DEFAULT);
    Ledgerbox::with(parameters).await
}

/// Two that negotiate again: at most three turns, after another negotiation, each message with words
/// for a person. Who made the last terms takes them back.
async fn with_every_member() -> Vec<u8> {
    let ledgerbox = ledger_with_contracts().await;
    let mut talks = Talks::new(&ledgerbox).await;
    let (payer, payee) = (talks.payer.clone(), talks.payee.clone());
    let mut before = Talks::between(payer.clone(), payee.clone(), talks.stranger.clone());
    before
        .say(&ledgerbox, &payer, NegotiationVerb::Offer, "4.1")
        .await;
    before
        .say(&ledgerbox, &payee, NegotiationVerb::Reject, "")
        .await;
    for (from, verb, value, message) in [
        (
            &payer,
            NegotiationVerb::Offer,
            "0.41",
            "As little as last time.",
        ),
        (
            &payee,
            NegotiationVerb::Counter,
            "2.05",
            "Für Eilaufträge: mehr.",
        ),
        (
            &payee,
            NegotiationVerb::Withdraw,
            "",
            "Sold to somebody else.",
        ),
    ] {
        let mut payload: Value = talks.payload(&ledgerbox, verb, value);
        payload["message"] = message.into();
        if verb == NegotiationVerb::Offer {
            payload["max_rounds"] = json!(3);
            payload["parent_negotiation_id"] = before.id.unwrap().to_public().into();
        }
        let terms = payload.get("terms").map(to_canonical);
        let envelope = talks.seal(&ledgerbox, from, verb, payload);
        let accepted = ledgerbox.accept(&envelope).await;
        if verb == NegotiationVerb::Offer {
            talks.id = Some(ContractId::from(accepted.envelope_id));
        }
        if let Some(terms) = terms {
            talks.step = Some((accepted.envelope_id, Digest::of(&terms)));
        }
    }
    assert_eq!(talks.state(&ledgerbox), "rejected");
    bundle_of(&ledgerbox, Subject::Contract(talks.id.unwrap())).await
}

pub(crate) async fn files() -> Golden {
    let mut ledgerbox = ledger_with_contracts().await;
    let mut talks = Talks::new(&ledgerbox).await;
    talks.agree(&ledgerbox).await;
    let deal = engaged(&ledgerbox, &talks).await;
    settled(&mut ledgerbox, &deal, 1, TOTAL_MICRO_USDC, "completed").await;
    let mut files = receipts_of(&ledgerbox, &deal, "contract").await;
    let negotiation = bundle_of(&ledgerbox, Subject::Contract(talks.id.unwrap())).await;
    let interaction = bundle(&ledgerbox, deal.id()).await;
    files.push(("bundle/negotiation.x811".to_owned(), negotiation));
    files.push(("bundle/contract.x811".to_owned(), interaction));
    let withdrawn = with_every_member().await;
    files.push(("bundle/negotiation-withdrawn.x811".to_owned(), withdrawn));
    files
}
