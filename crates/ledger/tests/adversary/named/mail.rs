//! Messages that are hidden where nobody looks for them, or come at another place.

use serde_json::json;

use super::{Story, found};

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

#[test]
fn lc_6_an_accept_is_hidden_and_the_provider_lapses() {
    let mut story = said();
    let stream = story.record(ACCEPT).stream.clone();
    into_mail(&mut story, ACCEPT);
    story.without([RESULT, VERIFY]);
    lapses(&mut story, 75, 76, "accept", "X811-4021");
    assert!(stream.starts_with("interaction:"));
    found!(story);
}

#[test]
fn lc_6_a_result_is_hidden_and_the_provider_lapses() {
    let mut story = said();
    into_mail(&mut story, RESULT);
    story.without([VERIFY]);
    lapses(&mut story, 75, ACCEPT, "result", "X811-4022");
    found!(story);
}

#[test]
fn lc_6_a_verdict_is_hidden_and_the_initiator_lapses() {
    let mut story = said();
    into_mail(&mut story, VERIFY);
    lapses(&mut story, 75, RESULT, "verify", "X811-4023");
    found!(story);
}

#[test]
fn lc_6_a_payment_is_hidden_and_the_initiator_lapses() {
    let mut story = said();
    story.without(51..=66);
    for payment in PAYMENTS {
        into_mail(&mut story, payment);
    }
    let stream = story.record(48).stream.clone();
    let lapse = json!({"type": "lapsed", "window": "payment", "code": "X811-4024"});
    let lapse = story.put(107, &stream, lapse);
    story.told(lapse, 48, 108);
    found!(story);
}

#[test]
fn lc_6_an_offer_is_hidden_and_the_request_lapses() {
    let mut story = said();
    into_mail(&mut story, OFFER);
    story.without([ERROR, REJECT]);
    lapses(&mut story, 71, 71, "offer", "X811-4020");
    found!(story);
}

#[test]
fn lc_6_a_reject_is_hidden_and_the_offer_lapses() {
    let mut story = said();
    into_mail(&mut story, REJECT);
    lapses(&mut story, 71, OFFER, "accept", "X811-4021");
    found!(story);
}

#[test]
fn lc_6_an_error_is_hidden_though_its_reference_is_known() {
    let mut story = said();
    into_mail(&mut story, ERROR);
    found!(story);
}

#[test]
fn lc_6_a_request_is_hidden_and_nothing_opens() {
    let mut story = said();
    story.ends_with(REQUEST);
    into_mail(&mut story, REQUEST);
    found!(story);
}

#[test]
fn lc_6_a_second_payment_is_hidden() {
    let mut story = said();
    // Of the two that were declared the one that fails is hidden, so that one counts.
    story.without(51..=66);
    into_mail(&mut story, PAYMENTS[1]);
    found!(story);
}

#[test]
fn lc_6_a_message_to_the_registry_is_hidden() {
    let mut story = said();
    story.expect(123, "agent_revoked");
    let envelope = story.get(123, "/envelope");
    let did = envelope["from"].as_str().unwrap().to_owned();
    let body = story.record(123).body.clone();
    let digest = x811_protocol::digest::Digest::of(b"{}");
    let event = json!({
        "type": "envelope_accepted",
        "envelope": envelope,
        "facts": {"payload_hash": digest},
        "derived": {},
    });
    let hidden = story.put(124, &format!("mail:{did}"), event);
    story.without([123]);
    let hidden = story.record(hidden).clone();
    let name = story.names(|written| written.event == hidden.event)[0];
    story.without([name]);
    story.put_written(124, crate::log::Written { body, ..hidden });
    found!(story);
}

#[test]
fn lc_6_mail_lies_with_somebody_else() {
    let mut story = said();
    story.expect(126, "envelope_accepted");
    let from = story.get(126, "/envelope/from");
    story.in_stream(126, &format!("mail:{}", from.as_str().unwrap()));
    found!(story);
}

#[test]
fn lc_6_a_message_is_in_another_interaction() {
    let mut story = said();
    let stream = story.record(RESULT).stream.clone();
    story.in_stream(96, &stream);
    found!(story);
}

#[test]
fn lc_6_an_offer_follows_its_accept() {
    let mut story = said();
    story.moved(76, RESULT);
    found!(story);
}

#[test]
fn lc_6_two_payments_change_places() {
    let mut story = said();
    story.moved(PAYMENTS[1], PAYMENTS[0]);
    found!(story);
}

#[test]
fn lc_6_a_reject_comes_before_the_offer() {
    let mut story = said();
    story.moved(REJECT, OFFER);
    found!(story);
}

#[test]
fn lc_6_a_result_comes_before_the_accept() {
    let mut story = said();
    story.moved(RESULT, ACCEPT);
    found!(story);
}

#[test]
fn lc_6_a_payment_comes_behind_the_end() {
    let mut story = said();
    // Of another interaction of the same two, which was completed for nothing.
    story.moved(85, 87);
    found!(story);
}

#[test]
fn lc_6_an_error_belongs_to_an_interaction_that_it_does_not_name() {
    let mut story = said();
    let stream = story.record(80).stream.clone();
    story.in_stream(ERROR, &stream).moved(ERROR, 82);
    found!(story);
}

#[test]
fn lc_3_a_message_is_recorded_twice() {
    let mut story = said();
    story.again(126, 127);
    found!(story);
}

#[test]
fn lc_3_an_error_is_replayed_in_another_interaction() {
    let mut story = said();
    let copy = story.again(ERROR, 82);
    let stream = story.record(80).stream.clone();
    story.in_stream(copy, &stream);
    found!(story);
}

#[test]
fn lc_3_a_request_opens_two_interactions() {
    let mut story = said();
    let copy = story.again(REQUEST, 88);
    let id = "019b7c03-0000-7000-8000-000000000001";
    story.set(copy, "/envelope/id", json!(id));
    story.in_stream(copy, &format!("interaction:{id}"));
    found!(story);
}

#[test]
fn lc_3_a_nonce_is_spent_twice() {
    let mut story = said();
    let spent = story.get(81, "/envelope/nonce_tag");
    story.set(83, "/envelope/nonce_tag", spent);
    found!(story);
}
