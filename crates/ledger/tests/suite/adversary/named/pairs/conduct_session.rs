//! Exclusions, and the sessions that they forbid (CC-113). A friend of the excluded provider lets a session in, by an
//! exclusion that never was, that ended or was lifted before.

use serde_json::{Value, json};
use x811_protocol::facts::CapabilityVerb as Verb;
use x811_protocol::parameters::Exclusion;

use super::super::super::bargain::Bargain;
use super::super::super::conduct::{Scene, broken, excluding, exclusion_of, lift};
use super::super::super::ledgerbox::Ledgerbox;
use super::super::Story;
use super::{Lie, Pair, WORD, hold};

pub(super) const PAIR: Pair = Pair {
    cause: "conduct",
    effect: "session",
    lies: &[LIES],
};

/// How long an exclusion is for.
const FOR_MS: u64 = 120_000;

/// A session that its initiator closes.
async fn opened(ledgerbox: &Ledgerbox, bargain: &Bargain) {
    let mut session = bargain.clone();
    session.agreement = None;
    let (consumer, provider) = (bargain.consumer.clone(), bargain.provider.clone());
    for (from, verb) in [
        (&consumer, Verb::Request),
        (&provider, Verb::Response),
        (&consumer, Verb::Close),
    ] {
        session.say(ledgerbox, from, verb, &Value::Null).await;
        ledgerbox.advance_ms(1_000).await;
    }
}

/// A provider is excluded twice, the first time until an operator lifts it, the second time until it ends. A session
/// is opened behind each.
pub(super) async fn honest() -> Story {
    let ledgerbox = excluding(Some(Exclusion {
        breaches: 2,
        for_ms: FOR_MS,
        ..Exclusion::DEFAULT
    }))
    .await;
    let operator = ledgerbox.provider().await;
    let scene = Scene::set(&ledgerbox).await;
    let mut last = scene.other.clone();
    last.agreement = None;
    last.agree(&ledgerbox, &Bargain::terms(31_536_000, 10))
        .await;
    for bargain in [&scene.first, &scene.other] {
        broken(&ledgerbox, bargain).await;
    }
    let provider = &scene.first.provider;
    let excluded = exclusion_of(&ledgerbox, provider).unwrap();
    let order = lift(&ledgerbox, &operator, provider, excluded);
    ledgerbox.ledger().lift_exclusion(order).await.unwrap();
    ledgerbox.advance_ms(1_000).await;
    opened(&ledgerbox, &scene.first).await;
    for bargain in [&scene.again, &last] {
        broken(&ledgerbox, bargain).await;
    }
    ledgerbox.advance_ms(FOR_MS + 1_000).await;
    opened(&ledgerbox, &scene.first).await;
    Story::at_rest(ledgerbox).await
}

/// The messages of the session behind the exclusion of that number.
fn session(story: &Story, number: usize) -> Vec<u64> {
    let close = story.messages(Verb::Close.as_str())[number];
    let stream = story.stream(close);
    story.names(|it| it.stream == stream && !it.message_type().is_empty())
}

fn excluded(story: &Story, number: usize) -> u64 {
    story.events("excluded")[number]
}

/// The order, and what was told of it, never were.
fn not_lifted(story: &mut Story) {
    let gone = story.with_notices(story.events("exclusion_lifted")[0]);
    story.without(gone);
}

/// The second session was asked for and answered some seconds earlier.
fn asked_earlier(story: &mut Story, by_ms: u64) {
    for message in &session(story, 1)[..2] {
        let at_ms = story.time(*message) - by_ms;
        story.retimed(*message, at_ms);
    }
}

const LIES: &[Lie] = &[
    (
        "cc_113_a_session_is_let_in_that_no_order_allows",
        "broke agreements and may take part in no new session",
        not_lifted,
    ),
    (
        "cc_113_a_session_is_let_in_before_its_order",
        "broke agreements and may take part in no new session",
        |story| {
            let (request, order) = (session(story, 0)[0], story.events("exclusion_lifted")[0]);
            story.retimed_before(request, order);
        },
    ),
    (
        "cc_113_there_was_no_exclusion_and_no_order",
        "the effect `excluded`",
        |story| {
            not_lifted(story);
            let gone = story.with_notices(excluded(story, 0));
            story.without(gone);
        },
    ),
    (
        "cc_113_a_session_is_let_in_before_the_exclusion_ends",
        "broke agreements and may take part in no new session",
        |story| {
            asked_earlier(story, 2_000);
        },
    ),
    (
        "cc_113_an_exclusion_ends_before_the_session_that_is_let_in",
        "or it is for another time",
        |story| {
            let excluded = excluded(story, 1);
            let until_ms = story.get(excluded, "/until_ms").as_u64().unwrap() - 2_000;
            story.set(excluded, "/until_ms", json!(until_ms));
            asked_earlier(story, 2_000);
        },
    ),
    // The order that lifted the first one is used once more.
    (
        "cc_113_one_order_lifts_two_exclusions",
        "the key that the order names did not sign",
        |story| {
            let order = story.events("exclusion_lifted")[0];
            let next = story.next(*story.notices(excluded(story, 1)).last().unwrap());
            let again = story.again(order, next);
            let place = story.position(excluded(story, 1));
            let at_ms = story.time(excluded(story, 1));
            story
                .at(again, at_ms)
                .set(again, "/excluded", json!(place))
                .told_like((order, again), next, &[]);
            asked_earlier(story, 2_000);
        },
    ),
    // What excluded the provider is said to have been under no agreement.
    (
        "cc_112_no_agreement_was_broken_before_the_session",
        "it was not held to the agreement it names",
        |story| {
            let request = story.messages("x811/request")[1];
            let gone = [story.events("used")[1], story.events("breach_recorded")[1]];
            let exclusion = story.with_notices(excluded(story, 0));
            not_lifted(story);
            story
                .unset(request, "/derived/agreement")
                .without(gone)
                .without(exclusion);
        },
    ),
    // It was asked for in time: which of two streams came first, the ledger says.
    (
        "lc_9_a_session_is_asked_for_before_the_breach_that_excludes",
        WORD,
        |story| {
            let breach = story.events("breach_recorded")[3];
            let lapse = story.get(breach, "/cause").as_u64().unwrap();
            let stream = story.stream(session(story, 1)[0]);
            let at_ms = story.time(lapse) - 1;
            for name in story.names(|it| it.stream == stream) {
                story
                    .retimed(name, at_ms)
                    .moved(name, lapse)
                    .at(name, at_ms);
            }
        },
    ),
];

#[tokio::test]
async fn cc_113_no_lie_about_conduct_and_sessions_holds() {
    hold(&honest().await, LIES);
}
