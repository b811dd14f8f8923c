//! The good files of a contract: the bundle of its negotiation, and bundle and receipt of the
//! interaction that it opened and that was paid (contract.md).

use x811_protocol::parameters::Contracts;
use x811_protocol::stream::Subject;

use crate::bundles::{bundle, bundle_of};
use crate::deal::{Deal, TOTAL_MICRO_USDC};
use crate::golden::{Golden, receipts_of, settled};
use crate::ledgerbox::Ledgerbox;
use crate::party::Account;
use crate::scene::impatient_parameters;
use crate::talks::Talks;

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

pub(crate) async fn files() -> Golden {
    let mut parameters = impatient_parameters();
    parameters.contracts = Some(Contracts::DEFAULT);
    let mut ledgerbox = Ledgerbox::with(parameters).await;
    let mut talks = Talks::new(&ledgerbox).await;
    talks.agree(&ledgerbox).await;
    let deal = engaged(&ledgerbox, &talks).await;
    settled(&mut ledgerbox, &deal, 1, TOTAL_MICRO_USDC, "completed").await;
    let mut files = receipts_of(&ledgerbox, &deal, "contract").await;
    let negotiation = bundle_of(&ledgerbox, Subject::Contract(talks.id.unwrap())).await;
    let interaction = bundle(&ledgerbox, deal.id()).await;
    files.push(("bundle/negotiation-v3.x811".to_owned(), negotiation));
    files.push(("bundle/contract-v3.x811".to_owned(), interaction));
    files
}
