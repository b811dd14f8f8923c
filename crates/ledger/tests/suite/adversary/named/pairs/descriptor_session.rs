//! What an agent says that it can do, and the sessions about that (capability.md, "Descriptor"). A target's friend
//! gains by a descriptor that suits the session better than the one in force.

use serde_json::{Value, json};
use x811_protocol::facts::CapabilityVerb as Verb;
use x811_protocol::parameters::Capabilities;

use super::super::super::bargain::{Bargain, taking};
use super::super::super::descriptors::{ADVERTISE, descriptor};
use super::super::super::ledgerbox::Ledgerbox;
use super::super::Story;
use super::{Lie, Pair, WORD, hold};

pub(super) const PAIR: Pair = Pair {
    cause: "descriptor",
    effect: "session",
    lies: &[LIES],
};

/// Publishes the next descriptor, in which the capability that sessions are about is changed.
async fn advertised(
    ledgerbox: &Ledgerbox,
    bargain: &Bargain,
    revision: u64,
    change: impl FnOnce(&mut Value),
) {
    let mut advert = descriptor(&bargain.provider, revision);
    change(&mut advert["capabilities"][1]);
    let to = &ledgerbox.identity;
    let advert = ledgerbox.seal(&bargain.provider, ADVERTISE, to, advert);
    ledgerbox.advance_ms(1_000).await;
    ledgerbox.accept(&advert).await;
}

/// A session about `to`, which is asked for and, where it is answered, left.
async fn asked(ledgerbox: &Ledgerbox, bargain: &Bargain, to: &str, is_answered: bool) {
    let mut session = bargain.clone();
    (session.agreement, session.parameters) = (None, json!({ "to": to }));
    let (consumer, provider) = (bargain.consumer.clone(), bargain.provider.clone());
    let none = Value::Null;
    ledgerbox.advance_ms(1_000).await;
    session
        .say(ledgerbox, &consumer, Verb::Request, &none)
        .await;
    if is_answered {
        session
            .say(ledgerbox, &provider, Verb::Response, &none)
            .await;
        session.say(ledgerbox, &consumer, Verb::Close, &none).await;
    }
}

/// Sessions under six descriptors of one provider: of version 2.1.0, of 2.0.0, with another schema, unavailable, of
/// another type, and as at first, under which it does not answer.
async fn honest() -> Story {
    let ledgerbox = taking(Capabilities::DEFAULT).await;
    let mut bargain = Bargain::new(&ledgerbox).await;
    bargain.agree(&ledgerbox, &Bargain::terms(600, 3)).await;
    let older = |it: &mut Value| {
        it["max_version"] = json!("2.0.0");
        it["deprecated_versions"] = json!([]);
    };
    let stricter = |it: &mut Value| {
        older(it);
        it["parameters_schema"]["properties"]["to"] = json!({ "enum": ["en"] });
    };
    advertised(&ledgerbox, &bargain, 2, older).await;
    asked(&ledgerbox, &bargain, "en", true).await;
    advertised(&ledgerbox, &bargain, 3, stricter).await;
    asked(&ledgerbox, &bargain, "en", true).await;
    advertised(&ledgerbox, &bargain, 4, |it| {
        stricter(it);
        it["availability"] = json!("unavailable");
    })
    .await;
    asked(&ledgerbox, &bargain, "en", false).await;
    advertised(&ledgerbox, &bargain, 5, |it| {
        it["type"] = json!("com.example.read")
    })
    .await;
    advertised(&ledgerbox, &bargain, 6, |_| {}).await;
    asked(&ledgerbox, &bargain, "en", false).await;
    ledgerbox.watch_ms(31_000).await;
    Story::at_rest(ledgerbox).await
}

/// The descriptor of that revision.
fn advert(story: &Story, revision: usize) -> u64 {
    story.messages(ADVERTISE)[revision - 1]
}

/// The request of that number, which was made under the descriptor of that revision.
fn request(story: &Story, number: usize) -> u64 {
    story.messages(Verb::Request.as_str())[number - 1]
}

/// The request is under the descriptor of that revision, which was published before it with those between.
fn under(story: &mut Story, number: usize, revision: usize, version: &str) {
    let request = request(story, number);
    for revision in number + 1..=revision {
        story.moved(advert(story, revision), request);
    }
    story
        .set(
            request,
            "/derived/descriptor",
            json!(advert(story, revision)),
        )
        .set(request, "/derived/version", json!(version));
}

const LIES: &[Lie] = &[
    // Another version is in force than both have signed.
    (
        "cc_074_an_agreement_is_of_a_version_that_was_offered_later",
        "it signs something else than the session came to",
        |story| {
            under(story, 1, 2, "2.0.0");
            story.set(story.events("agreed")[0], "/version", json!("2.0.0"));
        },
    ),
    (
        "cc_068_parameters_do_not_fit_a_schema_that_was_published_before",
        "parameters do not fit the schema",
        |story| {
            under(story, 1, 3, "2.0.0");
            story.set(story.events("agreed")[0], "/version", json!("2.0.0"));
        },
    ),
    (
        "cc_074_a_session_is_under_the_descriptor_before",
        "derived.descriptor: the record says",
        |story| {
            under(story, 2, 1, "2.1.0");
        },
    ),
    // The descriptor that says less is left out.
    (
        "cc_065_a_descriptor_is_left_out_and_the_session_is_under_the_one_before",
        "its revision is not the next",
        |story| {
            let gone = advert(story, 2);
            under(story, 2, 1, "2.1.0");
            story.without([gone]);
        },
    ),
    (
        "cc_076_a_session_is_open_with_a_target_that_was_unavailable",
        "derived.deadline_at_ms: the record says",
        |story| {
            under(story, 3, 4, "2.0.0");
        },
    ),
    (
        "cc_076_a_session_is_about_a_type_that_was_withdrawn",
        "has no such type",
        |story| {
            under(story, 3, 5, "2.0.0");
        },
    ),
    // Nobody answered, since nobody was there: the ledger's own answer is left out.
    (
        "cc_076_an_unavailable_target_is_asked_and_leaves_the_session",
        "derived.deadline_at_ms: the record says",
        |story| {
            let request = request(story, 4);
            let closed = story.events("session_closed");
            let [.., declined, like] = closed[..] else {
                panic!("one is declined, one lapses");
            };
            let gone = story.with_notices(declined);
            let deadline_ms = story.time(request) + Capabilities::DEFAULT.response_ms;
            story
                .set(request, "/derived/deadline_at_ms", json!(deadline_ms))
                .without(gone);
            let (lapse, stream) = (story.lapses("response")[0], story.stream(request));
            let next = story.names(|it| it.at_ms > deadline_ms)[0];
            let [mut closing, event] = [like, lapse].map(|name| story.record(name).event.clone());
            let over = story.put(next, &stream, event);
            closing["cause"] = json!(over);
            let closed = story.put(next, &stream, closing);
            let id = story.get(request, "/envelope/id");
            let members = [
                ("subject", json!({ "kind": "session", "id": id })),
                ("related_message_id", id),
            ];
            story
                .at(over, deadline_ms + 1)
                .at(closed, deadline_ms + 1)
                .told_like((like, closed), next, &members);
        },
    ),
    // The stricter schema was published a moment later: which of two streams came first, the ledger says.
    (
        "lc_9_a_descriptor_is_held_back_behind_a_session",
        WORD,
        |story| {
            let (advert, before) = (advert(story, 3), advert(story, 2));
            let request = request(story, 3);
            let next = story.next(request);
            story
                .moved(advert, next)
                .set(request, "/derived/descriptor", json!(before));
        },
    ),
];

#[tokio::test]
async fn cc_065_cc_074_and_cc_076_no_lie_about_descriptors_and_sessions_holds() {
    hold(&honest().await, LIES);
}
