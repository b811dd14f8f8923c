//! Messages that are hidden where nobody looks for them, or come at another place.

use serde_json::json;

use super::{Story, Told, hold};

/// An interaction that was accepted, delivered and refused.
const ACCEPT: u64 = 77;
const RESULT: u64 = 78;
const VERIFY: u64 = 79;
/// One that was offered, complained of and rejected.
const OFFER: u64 = 72;
const ERROR: u64 = 73;
const REJECT: u64 = 74;
/// One that was paid too little.
const PAYMENTS: [u64; 2] = [49, 50];
/// One that lapsed before any OFFER.
const REQUEST: u64 = 87;

fn said() -> Story {
    let story = Story::golden();
    let messages = [
        (ACCEPT, "x811/accept"),
        (RESULT, "x811/result"),
        (VERIFY, "x811/verify"),
        (OFFER, "x811/offer"),
        (ERROR, "x811/error"),
        (REJECT, "x811/reject"),
        (PAYMENTS[0], "x811/payment"),
        (REQUEST, "x811/request"),
    ];
    for (name, message_type) in messages {
        assert_eq!(story.record(name).message_type(), message_type);
    }
    story
}

/// Puts a message into its recipient's mail, as if it belonged to nothing.
fn into_mail(story: &mut Story, name: u64) {
    let to = story.get(name, "/envelope/to");
    let stream = format!("mail:{}", to.as_str().unwrap());
    story
        .in_stream(name, &stream)
        .set(name, "/derived", json!({}));
}

/// The window of `window` lapses in the interaction of `of`, an hour and more later, with notices.
fn lapses(story: &mut Story, of: u64, opener: u64, window: &str, code: &str) {
    let stream = story.record(of).stream.clone();
    let lapse = json!({"type": "lapsed", "window": window, "code": code});
    let lapse = story.put(107, &stream, lapse);
    story.told(lapse, opener, 108);
}

const STORIES: &[Told] = &[
    (
        "lc_6_an_accept_is_hidden_and_the_provider_lapses",
        |story| {
            let stream = story.record(ACCEPT).stream.clone();
            into_mail(story, ACCEPT);
            story.without([RESULT, VERIFY]);
            lapses(story, 75, 76, "accept", "X811-4021");
            assert!(stream.starts_with("interaction:"));
        },
    ),
    ("lc_6_a_result_is_hidden_and_the_provider_lapses", |story| {
        into_mail(story, RESULT);
        story.without([VERIFY]);
        lapses(story, 75, ACCEPT, "result", "X811-4022");
    }),
    (
        "lc_6_a_verdict_is_hidden_and_the_initiator_lapses",
        |story| {
            into_mail(story, VERIFY);
            lapses(story, 75, RESULT, "verify", "X811-4023");
        },
    ),
    (
        "lc_6_a_payment_is_hidden_and_the_initiator_lapses",
        |story| {
            story.without(51..=66);
            for payment in PAYMENTS {
                into_mail(story, payment);
            }
            let stream = story.record(48).stream.clone();
            let lapse = json!({"type": "lapsed", "window": "payment", "code": "X811-4024"});
            let lapse = story.put(107, &stream, lapse);
            story.told(lapse, 48, 108);
        },
    ),
    ("lc_6_an_offer_is_hidden_and_the_request_lapses", |story| {
        into_mail(story, OFFER);
        story.without([ERROR, REJECT]);
        lapses(story, 71, 71, "offer", "X811-4020");
    }),
    ("lc_6_a_reject_is_hidden_and_the_offer_lapses", |story| {
        into_mail(story, REJECT);
        lapses(story, 71, OFFER, "accept", "X811-4021");
    }),
    (
        "lc_6_an_error_is_hidden_though_its_reference_is_known",
        |story| {
            into_mail(story, ERROR);
        },
    ),
    ("lc_6_a_request_is_hidden_and_nothing_opens", |story| {
        story.ends_with(REQUEST);
        into_mail(story, REQUEST);
    }),
    ("lc_6_a_second_payment_is_hidden", |story| {
        // Of the two that were declared the one that fails is hidden, so that one counts.
        story.without(51..=66);
        into_mail(story, PAYMENTS[1]);
    }),
    ("lc_6_a_message_to_the_registry_is_hidden", |story| {
        story.expect(194, "agent_revoked");
        let envelope = story.get(194, "/envelope");
        let did = envelope["from"].as_str().unwrap().to_owned();
        let body = story.record(194).body.clone();
        let digest = x811_protocol::digest::Digest::of(b"{}");
        let event = json!({
            "type": "envelope_accepted",
            "envelope": envelope,
            "facts": {"payload_hash": digest},
            "derived": {},
        });
        let hidden = story.put(195, &format!("mail:{did}"), event);
        story.without([194]);
        let hidden = story.record(hidden).clone();
        let name = story.names(|written| written.event == hidden.event)[0];
        story.without([name]);
        story.put_written(195, super::super::log::Written { body, ..hidden });
    }),
    ("lc_6_mail_lies_with_somebody_else", |story| {
        story.expect(197, "envelope_accepted");
        let from = story.get(197, "/envelope/from");
        story.in_stream(197, &format!("mail:{}", from.as_str().unwrap()));
    }),
    ("lc_6_a_message_is_in_another_interaction", |story| {
        let stream = story.record(RESULT).stream.clone();
        story.in_stream(96, &stream);
    }),
    ("lc_6_an_offer_follows_its_accept", |story| {
        story.moved(76, RESULT);
    }),
    ("lc_6_two_payments_change_places", |story| {
        story.moved(PAYMENTS[1], PAYMENTS[0]);
    }),
    ("lc_6_a_reject_comes_before_the_offer", |story| {
        story.moved(REJECT, OFFER);
    }),
    ("lc_6_a_result_comes_before_the_accept", |story| {
        story.moved(RESULT, ACCEPT);
    }),
    ("lc_6_a_payment_comes_behind_the_end", |story| {
        // Of another interaction of the same two, which was completed for nothing.
        story.moved(85, 87);
    }),
    (
        "lc_6_an_error_belongs_to_an_interaction_that_it_does_not_name",
        |story| {
            let stream = story.record(80).stream.clone();
            story.in_stream(ERROR, &stream).moved(ERROR, 82);
        },
    ),
    ("lc_3_a_message_is_recorded_twice", |story| {
        story.again(197, 198);
    }),
    (
        "lc_3_an_error_is_replayed_in_another_interaction",
        |story| {
            let copy = story.again(ERROR, 82);
            let stream = story.record(80).stream.clone();
            story.in_stream(copy, &stream);
        },
    ),
    ("lc_3_a_request_opens_two_interactions", |story| {
        let copy = story.again(REQUEST, 88);
        let id = "019b7c03-0000-7000-8000-000000000001";
        story.set(copy, "/envelope/id", json!(id));
        story.in_stream(copy, &format!("interaction:{id}"));
    }),
    ("lc_3_a_nonce_is_spent_twice", |story| {
        let spent = story.get(81, "/envelope/nonce_tag");
        story.set(83, "/envelope/nonce_tag", spent);
    }),
];

#[test]
fn lc_3_and_lc_6_no_story_of_messages_holds() {
    hold(&said(), STORIES);
}
