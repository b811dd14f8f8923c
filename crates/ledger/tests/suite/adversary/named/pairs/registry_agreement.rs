//! Who is registered, and what they sign and use (capability.md, "agreement"). A signature counts by the key of its
//! envelope at that moment.

use serde_json::Value;
use x811_protocol::facts::CapabilityVerb as Verb;
use x811_protocol::parameters::Capabilities;

use super::super::super::bargain::{Bargain, taking};
use super::super::super::deal::Deal;
use super::super::super::party::Account;
use super::super::Story;
use super::registrar::{has_another_key, is_away, is_revoked, leave};
use super::{Lie, Pair, hold};

pub(super) const PAIR: Pair = Pair {
    cause: "registry",
    effect: "agreement",
    lies: &[LIES],
};

/// An agreement that is used, negotiated again and revoked. Then both leave.
async fn honest() -> Story {
    let ledgerbox = taking(Capabilities::DEFAULT).await;
    let mut bargain = Bargain::new(&ledgerbox).await;
    let (consumer, provider) = (bargain.consumer.clone(), bargain.provider.clone());
    let terms = Bargain::terms(600, 3);
    bargain.agree(&ledgerbox, &terms).await;
    let (id, request) = bargain.use_it(&ledgerbox, |_| {});
    ledgerbox.accept(&request).await;
    let mut deal = Deal::between(&ledgerbox, &consumer, &provider, Account::new(0x46));
    deal.request_id = id;
    let offer = deal.offer(&ledgerbox);
    ledgerbox.accept(&offer).await;
    ledgerbox.accept(&deal.reject(&ledgerbox)).await;
    bargain.agree(&ledgerbox, &terms).await;
    bargain
        .say(&ledgerbox, &provider, Verb::Revoke, &Value::Null)
        .await;
    leave(&ledgerbox, &consumer, &provider).await;
    Story::at_rest(ledgerbox).await
}

/// Consumer and provider.
fn parties(story: &Story) -> [Value; 2] {
    let request = story.messages(Verb::Request.as_str())[0];
    ["/envelope/from", "/envelope/to"].map(|party| story.get(request, party))
}

/// Signatures: of the consumer and the provider, twice.
fn signature(story: &Story, number: usize) -> u64 {
    story.messages(Verb::Agree.as_str())[number]
}

fn away_at(story: &mut Story, agent: &Value, message: u64) {
    is_away(story, agent, message, story.next(message));
}

const LIES: &[Lie] = &[
    (
        "cc_086_an_agent_that_is_away_signs_an_agreement",
        "the sender's DID was not active",
        |story| {
            let [consumer, _] = parties(story);
            away_at(story, &consumer, signature(story, 0));
        },
    ),
    (
        "cc_086_an_agreement_is_signed_by_a_key_of_before",
        "is not among the keys the sender had then",
        |story| {
            let [_, provider] = parties(story);
            has_another_key(story, &provider, signature(story, 1));
        },
    ),
    (
        "cc_090_an_agreement_is_used_while_its_provider_is_away",
        "the provider is not registered or not active",
        |story| {
            let ([_, provider], request) = (parties(story), story.messages("x811/request")[0]);
            is_away(story, &provider, request, story.messages("x811/offer")[0]);
        },
    ),
    (
        "cc_090_an_agent_that_is_revoked_uses_an_agreement",
        "the sender's DID was not active",
        |story| {
            let ([consumer, _], request) = (parties(story), story.messages("x811/request")[0]);
            is_revoked(story, &consumer, request);
        },
    ),
    (
        "cc_088_an_agreement_is_renewed_while_its_provider_is_away",
        "the target is not active",
        |story| {
            let ([_, provider], renewal) =
                (parties(story), story.messages(Verb::Request.as_str())[1]);
            away_at(story, &provider, renewal);
        },
    ),
    (
        "cc_087_an_agreement_is_revoked_by_a_key_of_before",
        "is not among the keys the sender had then",
        |story| {
            let ([_, provider], revoked) =
                (parties(story), story.messages(Verb::Revoke.as_str())[0]);
            has_another_key(story, &provider, revoked);
        },
    ),
];

#[tokio::test]
async fn cc_086_cc_087_and_cc_090_no_lie_about_the_registry_and_agreements_holds() {
    hold(&honest().await, LIES);
}
