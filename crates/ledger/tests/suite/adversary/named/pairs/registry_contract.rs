//! Who is registered, and what they negotiate (contract.md; ledger-contract.md section 4). Whoever wants out of a
//! contract was never there, or not with that key.

use super::super::super::deal::Deal;
use super::super::super::party::Account;
use super::super::super::talks::{Talks, talking};
use super::super::Story;
use super::registrar::{has_another_key, is_away, is_new_behind, is_revoked, leave};
use super::{Lie, Pair, hold};
use serde_json::Value;
use x811_protocol::parameters::Contracts;

pub(super) const PAIR: Pair = Pair {
    cause: "registry",
    effect: "contract",
    lies: &[LIES],
};

/// A negotiation of four turns that opens an interaction, which is rejected. Then both leave.
async fn honest() -> Story {
    let ledgerbox = talking(Contracts::DEFAULT).await;
    let mut talks = Talks::new(&ledgerbox).await;
    let (payer, payee) = (talks.payer.clone(), talks.payee.clone());
    talks.agree(&ledgerbox).await;
    let (id, request) = talks.request(&ledgerbox, |_| {});
    ledgerbox.accept(&request).await;
    let mut deal = Deal::between(&ledgerbox, &payer, &payee, Account::new(0x46));
    deal.request_id = id;
    let offer = deal.offer(&ledgerbox);
    ledgerbox.accept(&offer).await;
    ledgerbox.accept(&deal.reject(&ledgerbox)).await;
    leave(&ledgerbox, &payer, &payee).await;
    Story::at_rest(ledgerbox).await
}

fn first(story: &Story, message: &str) -> u64 {
    story.messages(message)[0]
}

const OFFER: &str = "x811.negotiation/offer";
const COUNTER: &str = "x811.negotiation/counter";
const ACCEPT: &str = "x811.negotiation/accept";

/// Payer and payee.
fn parties(story: &Story) -> [Value; 2] {
    ["/envelope/from", "/envelope/to"].map(|party| story.get(first(story, OFFER), party))
}

const LIES: &[Lie] = &[
    (
        "xn_5_terms_are_offered_to_an_agent_that_is_away",
        "the recipient is not active",
        |story| {
            let (offer, [_, payee]) = (first(story, OFFER), parties(story));
            is_away(story, &payee, offer, story.next(offer));
        },
    ),
    (
        "xn_5_an_agent_that_is_away_agrees",
        "the sender's DID was not active",
        |story| {
            let (accept, [_, payee]) = (first(story, ACCEPT), parties(story));
            is_away(story, &payee, accept, story.next(accept));
        },
    ),
    (
        "xn_5_an_agent_that_is_revoked_counters",
        "the sender's DID was not active",
        |story| {
            let (counter, [payer, _]) = (story.messages(COUNTER)[1], parties(story));
            is_revoked(story, &payer, counter);
        },
    ),
    (
        "xn_5_a_counter_is_signed_by_a_key_of_before",
        "is not among the keys the sender had then",
        |story| {
            let (counter, [_, payee]) = (first(story, COUNTER), parties(story));
            has_another_key(story, &payee, counter);
        },
    ),
    (
        "xn_5_terms_are_offered_to_an_agent_that_is_not_registered_yet",
        "the recipient is not active",
        |story| {
            let (offer, [_, payee]) = (first(story, OFFER), parties(story));
            is_new_behind(story, &payee, offer);
        },
    ),
    (
        "xn_9_a_contract_is_asked_under_while_its_payee_is_away",
        "the provider is not registered or not active",
        |story| {
            let (request, [_, payee]) = (first(story, "x811/request"), parties(story));
            is_away(story, &payee, request, story.messages("x811/offer")[0]);
        },
    ),
];

#[tokio::test]
async fn xn_5_and_xn_9_no_lie_about_the_registry_and_contracts_holds() {
    hold(&honest().await, LIES);
}
