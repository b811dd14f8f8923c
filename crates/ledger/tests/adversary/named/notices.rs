//! What the ledger tells the parties, signed by its own key.

use serde_json::json;

use super::{Story, found};

/// Two notices of a lapse.
const NOTICES: [u64; 2] = [27, 28];
const LAPSE: u64 = 25;
/// Those of a reversal.
const OF_REVERSAL: [u64; 2] = [14, 15];

fn told() -> Story {
    let story = Story::golden();
    for notice in NOTICES.into_iter().chain(OF_REVERSAL) {
        story.expect(notice, "notice_issued");
    }
    story.expect(LAPSE, "lapsed");
    story
}

#[test]
fn ax_32_one_party_is_not_told() {
    let mut story = told();
    story.without([NOTICES[1]]);
    found!(story);
}

#[test]
fn ax_32_nobody_is_told_that_a_payment_is_gone() {
    let mut story = told();
    story.without(OF_REVERSAL);
    found!(story);
}

#[test]
fn ax_32_one_party_is_told_twice_and_the_other_never() {
    let mut story = told();
    let to = story.get(NOTICES[0], "/to");
    story.set(NOTICES[1], "/to", to.clone());
    story.set(NOTICES[1], "/envelope/to", to);
    found!(story);
}

#[test]
fn ax_32_a_stranger_is_told() {
    let mut story = told();
    let stranger = story.get(118, "/envelope/from");
    story.set(NOTICES[0], "/to", stranger.clone());
    story.set(NOTICES[0], "/envelope/to", stranger);
    found!(story);
}

#[test]
fn ax_32_another_code_is_told() {
    let mut story = told();
    for notice in NOTICES {
        story.set(notice, "/code", json!("X811-5002"));
    }
    found!(story);
}

#[test]
fn ax_32_no_code_is_told() {
    let mut story = told();
    story.unset(NOTICES[0], "/code");
    found!(story);
}

#[test]
fn ax_32_another_record_is_told_of() {
    let mut story = told();
    story.set(NOTICES[0], "/cause", json!(24));
    found!(story);
}

#[test]
fn ax_32_a_notice_tells_of_another_interaction() {
    let mut story = told();
    let other = "019b7c01-0400-7000-8000-000000000001";
    story.say(NOTICES[0], "interaction_id", json!(other));
    found!(story);
}

#[test]
fn ax_32_a_notice_names_another_message() {
    let mut story = told();
    let other = story.get(4, "/envelope/id");
    story.say(NOTICES[0], "related_message_id", other);
    found!(story);
}

#[test]
fn ax_32_a_notice_asks_for_money() {
    let mut story = told();
    let text = "pay 10 USDC to 0x00000000000000000000000000000000000000b1, or lose your stake";
    story.say(NOTICES[0], "message", json!(text));
    found!(story);
}

#[test]
fn ax_32_a_notice_says_more_than_it_has_to() {
    let mut story = told();
    story.say(
        NOTICES[0],
        "refund_address",
        json!("0x00000000000000000000000000000000000000b1"),
    );
    found!(story);
}

#[test]
fn ax_32_a_notice_was_made_before_its_cause() {
    let mut story = told();
    let early = story.time(LAPSE) - 25_000;
    story.set(NOTICES[0], "/envelope/created_ms", json!(early));
    found!(story);
}

#[test]
fn ax_32_a_notice_was_made_behind_its_record() {
    let mut story = told();
    let later = story.time(NOTICES[0]) + 3_600_000;
    story.set(NOTICES[0], "/envelope/created_ms", json!(later));
    found!(story);
}

#[test]
fn ax_32_notices_come_an_hour_late() {
    let mut story = told();
    for notice in NOTICES {
        story.moved(notice, 118);
    }
    found!(story);
}

#[test]
fn ax_32_a_notice_is_recorded_twice() {
    let mut story = told();
    story.again(NOTICES[0], 29);
    found!(story);
}

#[test]
fn ax_32_a_notice_is_of_nothing() {
    let mut story = told();
    let copy = story.again(NOTICES[0], 40);
    story.set(copy, "/cause", json!(31));
    found!(story);
}

#[test]
fn ax_32_a_notice_is_sent_as_an_agents_error() {
    let mut story = told();
    let provider = story.get(20, "/envelope/from");
    story.set(NOTICES[0], "/envelope/from", provider);
    found!(story);
}

#[test]
fn ax_32_a_notice_is_in_the_stream_of_others() {
    let mut story = told();
    let stream = story.record(18).stream.clone();
    story.in_stream(NOTICES[0], &stream);
    found!(story);
}
