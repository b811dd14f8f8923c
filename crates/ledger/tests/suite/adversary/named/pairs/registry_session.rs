//! Who is registered, and what sessions they hold (capability.md, "session"). A session counts by the keys and the
//! standing of both at each message.

use serde_json::Value;
use x811_protocol::facts::CapabilityVerb as Verb;
use x811_protocol::parameters::Capabilities;

use super::super::super::bargain::{Bargain, taking};
use super::super::Story;
use super::registrar::{has_another_key, is_away, is_new_behind, is_revoked, leave};
use super::{Lie, Pair, hold};

pub(super) const PAIR: Pair = Pair {
    cause: "registry",
    effect: "session",
    lies: &[LIES],
};

/// A session that comes to terms and is closed before they are signed. Then both leave.
async fn honest() -> Story {
    let ledgerbox = taking(Capabilities::DEFAULT).await;
    let mut bargain = Bargain::new(&ledgerbox).await;
    let (consumer, provider) = (bargain.consumer.clone(), bargain.provider.clone());
    let terms = Bargain::terms(600, 3);
    bargain.accept(&ledgerbox, &consumer, &terms).await;
    bargain
        .say(&ledgerbox, &consumer, Verb::Close, &Value::Null)
        .await;
    leave(&ledgerbox, &consumer, &provider).await;
    Story::at_rest(ledgerbox).await
}

fn message(story: &Story, verb: Verb) -> u64 {
    story.messages(verb.as_str())[0]
}

/// Consumer and provider.
fn parties(story: &Story) -> [Value; 2] {
    let request = message(story, Verb::Request);
    ["/envelope/from", "/envelope/to"].map(|party| story.get(request, party))
}

/// That party is away while it, or the other one, says that.
fn away_at(story: &mut Story, agent: &Value, verb: Verb) {
    let message = message(story, verb);
    is_away(story, agent, message, story.next(message));
}

const LIES: &[Lie] = &[
    (
        "cc_076_a_session_is_asked_for_while_its_target_is_away",
        "the target is not active",
        |story| {
            let [_, provider] = parties(story);
            away_at(story, &provider, Verb::Request);
        },
    ),
    (
        "cc_076_an_agent_that_is_away_is_willing",
        "the sender's DID was not active",
        |story| {
            let [_, provider] = parties(story);
            away_at(story, &provider, Verb::Response);
        },
    ),
    (
        "cc_077_an_agent_that_is_away_names_terms",
        "the sender's DID was not active",
        |story| {
            let [consumer, _] = parties(story);
            away_at(story, &consumer, Verb::Offer);
        },
    ),
    (
        "cc_077_terms_are_accepted_by_a_key_of_before",
        "is not among the keys the sender had then",
        |story| {
            let [_, provider] = parties(story);
            has_another_key(story, &provider, message(story, Verb::Accept));
        },
    ),
    (
        "cc_078_an_agent_that_is_revoked_closes_a_session",
        "the sender's DID was not active",
        |story| {
            let [consumer, _] = parties(story);
            is_revoked(story, &consumer, message(story, Verb::Close));
        },
    ),
    (
        "cc_076_an_agent_asks_that_is_not_registered_yet",
        "is not among the keys the sender had then",
        |story| {
            let [consumer, _] = parties(story);
            is_new_behind(story, &consumer, message(story, Verb::Request));
        },
    ),
];

#[tokio::test]
async fn cc_076_cc_077_and_cc_078_no_lie_about_the_registry_and_sessions_holds() {
    hold(&honest().await, LIES);
}
