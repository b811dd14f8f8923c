//! Who is registered, and what they deal in (ledger-contract.md section 4, AE-40, AX-30). A payer's friend gains by a
//! wallet that was bound in time, a provider's by having been there.

use serde_json::Value;

use super::super::super::deal::{Deal, TOTAL_MICRO_USDC, Until};
use super::super::super::ledgerbox::impatient;
use super::super::super::party::Account;
use super::super::super::scene::pay;
use super::super::Story;
use super::registrar::{ask, has_another_key, is_away, is_new_behind, is_revoked, leave, of_agent};
use super::{Lie, Pair, hold};

pub(super) const PAIR: Pair = Pair {
    cause: "registry",
    effect: "interaction",
    lies: &[LIES],
};

/// An interaction whose initiator binds its wallet before it pays. Then the provider withdraws its task, and both
/// leave.
pub(super) async fn honest() -> Story {
    let mut ledgerbox = impatient().await;
    let (initiator, provider) = (ledgerbox.party(), ledgerbox.provider().await);
    let registration = ledgerbox.registration(&initiator, &[], &[]);
    ledgerbox.accept(&registration).await;
    let account = Account::new(0x46);
    let wallet = account.bound_to(initiator.did, ledgerbox.identity.did);
    let mut deal = Deal::between(&ledgerbox, &initiator, &provider, account);
    deal.go(&ledgerbox, Until::Verified).await;
    ledgerbox.advance_ms(1_000).await;
    let bound = initiator.registration(&[], &[wallet]);
    ask(&ledgerbox, &initiator, "update", bound).await;
    pay(&mut ledgerbox, &deal, 1, TOTAL_MICRO_USDC).await;
    ledgerbox.watch_ms(20_000).await;
    assert_eq!(ledgerbox.state(deal.id()), "completed");
    ask(
        &ledgerbox,
        &provider,
        "update",
        provider.registration(&[], &[]),
    )
    .await;
    leave(&ledgerbox, &initiator, &provider).await;
    Story::at_rest(ledgerbox).await
}

fn message(story: &Story, message: &str) -> u64 {
    story.messages(message)[0]
}

/// Initiator and provider.
pub(super) fn parties(story: &Story) -> [Value; 2] {
    let request = message(story, "x811/request");
    ["/envelope/from", "/envelope/to"].map(|party| story.get(request, party))
}

/// The wallet is bound behind the PAYMENT.
pub(super) fn is_bound_late(story: &mut Story) {
    let [initiator, _] = parties(story);
    let bound = of_agent(story, &initiator, "update");
    let next = story.next(message(story, "x811/payment"));
    story.moved(bound, next);
}

const LIES: &[Lie] = &[
    (
        "ae_040_a_task_is_asked_for_that_was_withdrawn",
        "the provider does not offer this task_type",
        |story| {
            let [_, provider] = parties(story);
            let withdrawn = of_agent(story, &provider, "update");
            story.moved(withdrawn, message(story, "x811/request"));
        },
    ),
    (
        "ae_040_a_provider_is_asked_that_is_away",
        "the provider is not registered or not active",
        |story| {
            let [_, provider] = parties(story);
            let (from, until) = (message(story, "x811/request"), message(story, "x811/offer"));
            is_away(story, &provider, from, until);
        },
    ),
    (
        "ax_030_a_provider_that_is_away_offers",
        "the sender's DID was not active",
        |story| {
            let [_, provider] = parties(story);
            let (from, until) = (message(story, "x811/offer"), message(story, "x811/accept"));
            is_away(story, &provider, from, until);
        },
    ),
    (
        "ax_030_an_initiator_that_is_revoked_accepts",
        "the sender's DID was not active",
        |story| {
            let [initiator, _] = parties(story);
            is_revoked(story, &initiator, message(story, "x811/accept"));
        },
    ),
    (
        "ax_030_a_result_is_signed_by_a_key_of_before",
        "is not among the keys the sender had then",
        |story| {
            let [_, provider] = parties(story);
            has_another_key(story, &provider, message(story, "x811/result"));
        },
    ),
    (
        "ae_040_an_initiator_asks_that_is_not_registered_yet",
        "is not among the keys the sender had then",
        |story| {
            let [initiator, _] = parties(story);
            is_new_behind(story, &initiator, message(story, "x811/request"));
        },
    ),
    (
        "rule_18_a_wallet_pays_that_is_bound_later",
        "payer_address is not a wallet bound to the initiator",
        is_bound_late,
    ),
];

#[tokio::test]
async fn ae_040_ax_030_and_rule_18_no_lie_about_the_registry_and_interactions_holds() {
    hold(&honest().await, LIES);
}
