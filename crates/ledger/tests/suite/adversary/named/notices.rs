//! What the ledger tells the parties, signed by its own key.

use serde_json::json;

use super::{Story, Told, hold};

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

const STORIES: &[Told] = &[
    ("ax_32_one_party_is_not_told", |story| {
        story.without([NOTICES[1]]);
    }),
    ("ax_32_nobody_is_told_that_a_payment_is_gone", |story| {
        story.without(OF_REVERSAL);
    }),
    (
        "ax_32_one_party_is_told_twice_and_the_other_never",
        |story| {
            let to = story.get(NOTICES[0], "/to");
            story.set(NOTICES[1], "/to", to.clone());
            story.set(NOTICES[1], "/envelope/to", to);
        },
    ),
    ("ax_32_a_stranger_is_told", |story| {
        let stranger = story.get(189, "/envelope/from");
        story.set(NOTICES[0], "/to", stranger.clone());
        story.set(NOTICES[0], "/envelope/to", stranger);
    }),
    ("ax_32_another_code_is_told", |story| {
        for notice in NOTICES {
            story.set(notice, "/code", json!("X811-5002"));
        }
    }),
    ("ax_32_no_code_is_told", |story| {
        story.unset(NOTICES[0], "/code");
    }),
    ("ax_32_another_record_is_told_of", |story| {
        story.set(NOTICES[0], "/cause", json!(24));
    }),
    ("ax_32_a_notice_tells_of_another_interaction", |story| {
        let other = "019b7c01-0400-7000-8000-000000000001";
        story.say(NOTICES[0], "interaction_id", json!(other));
    }),
    ("ax_32_a_notice_names_another_message", |story| {
        let other = story.get(4, "/envelope/id");
        story.say(NOTICES[0], "related_message_id", other);
    }),
    ("ax_32_a_notice_asks_for_money", |story| {
        let text = "pay 10 USDC to 0x00000000000000000000000000000000000000b1, or lose your stake";
        story.say(NOTICES[0], "message", json!(text));
    }),
    ("ax_32_a_notice_says_more_than_it_has_to", |story| {
        story.say(
            NOTICES[0],
            "refund_address",
            json!("0x00000000000000000000000000000000000000b1"),
        );
    }),
    ("ax_32_a_notice_was_made_before_its_cause", |story| {
        let early = story.time(LAPSE) - 25_000;
        story.set(NOTICES[0], "/envelope/created_ms", json!(early));
    }),
    ("ax_32_a_notice_was_made_behind_its_record", |story| {
        let later = story.time(NOTICES[0]) + 3_600_000;
        story.set(NOTICES[0], "/envelope/created_ms", json!(later));
    }),
    ("ax_32_notices_come_an_hour_late", |story| {
        for notice in NOTICES {
            story.moved(notice, 189);
        }
    }),
    ("ax_32_a_notice_is_recorded_twice", |story| {
        story.again(NOTICES[0], 29);
    }),
    ("ax_32_a_notice_is_of_nothing", |story| {
        let copy = story.again(NOTICES[0], 40);
        story.set(copy, "/cause", json!(31));
    }),
    ("ax_32_a_notice_is_sent_as_an_agents_error", |story| {
        let provider = story.get(20, "/envelope/from");
        story.set(NOTICES[0], "/envelope/from", provider);
    }),
    ("ax_32_a_notice_is_in_the_stream_of_others", |story| {
        let stream = story.record(18).stream.clone();
        story.in_stream(NOTICES[0], &stream);
    }),
];

#[test]
fn ax_32_no_story_of_notices_holds() {
    hold(&told(), STORIES);
}
