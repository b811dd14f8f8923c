//! Windows, lapses, downtime and blindness.

use serde_json::json;

use super::{Story, Told, hold};

/// A lapse of each kind: the interaction's first record, what opened the window, the lapse.
const OFFER_LAPSED: u64 = 103;
const ACCEPT_LAPSED: u64 = 105;
const RESULT_LAPSED: u64 = 106;
const VERIFY_LAPSED: u64 = 102;
const PAYMENT_LAPSED: u64 = 104;
const CONFIRMATION_LAPSED: u64 = 25;

fn lapsing() -> Story {
    let story = Story::of_interactions();
    for lapse in [
        OFFER_LAPSED,
        ACCEPT_LAPSED,
        RESULT_LAPSED,
        VERIFY_LAPSED,
        PAYMENT_LAPSED,
        CONFIRMATION_LAPSED,
    ] {
        story.expect(lapse, "lapsed");
    }
    story
}

/// Without the notices of that record too.
fn notices(story: &Story, cause: u64) -> Vec<u64> {
    story.names(|written| written.event["cause"] == json!(cause) && written.event["to"].is_string())
}

const STORIES: &[Told] = &[
    ("lc_1_3_a_window_lapses_before_its_end", |story| {
        story.moved(OFFER_LAPSED, 88);
    }),
    ("lc_1_3_a_window_never_lapses", |story| {
        let told = notices(story, PAYMENT_LAPSED);
        assert_eq!(told.len(), 2);
        story.without([PAYMENT_LAPSED]).without(told);
    }),
    ("lc_1_3_no_window_ever_lapses", |story| {
        for lapse in story.events("lapsed") {
            let told = notices(story, lapse);
            story.without([lapse]).without(told);
        }
    }),
    ("lc_1_3_another_window_lapses", |story| {
        story.set(ACCEPT_LAPSED, "/window", json!("offer"));
        story.set(ACCEPT_LAPSED, "/code", json!("X811-4020"));
    }),
    ("lc_1_3_a_window_lapses_by_the_code_of_another", |story| {
        story.set(PAYMENT_LAPSED, "/code", json!("X811-4023"));
        for notice in notices(story, PAYMENT_LAPSED) {
            story.set(notice, "/code", json!("X811-4023"));
        }
    }),
    ("lc_1_3_a_window_lapses_twice", |story| {
        story.again(OFFER_LAPSED, 107);
    }),
    (
        "lc_1_3_the_confirmation_lapses_though_it_was_confirmed",
        |story| {
            let lapse = story.record(CONFIRMATION_LAPSED).event.clone();
            let stream = story.record(11).stream.clone();
            let lapse = story.put(19, &stream, lapse);
            story.told(lapse, 9, 19);
        },
    ),
    (
        "lc_1_3_a_request_has_less_time_than_it_was_given",
        |story| {
            let earlier = story.get(87, "/derived/deadline_at_ms").as_u64().unwrap() - 59_000;
            story.set(87, "/derived/deadline_at_ms", json!(earlier));
        },
    ),
    (
        "lc_1_3_a_provider_has_more_time_than_it_was_given",
        |story| {
            let later = story.get(95, "/derived/deadline_at_ms").as_u64().unwrap() + 3_600_000;
            story.set(95, "/derived/deadline_at_ms", json!(later));
        },
    ),
    (
        "lc_1_3_a_result_comes_behind_the_end_of_its_window",
        |story| {
            // No lapse, and the RESULT an hour and more after its ACCEPT.
            story.moved(96, 107);
            let told = notices(story, VERIFY_LAPSED);
            story.without([VERIFY_LAPSED]).without(told);
        },
    ),
    ("lc_1_3_a_payment_is_back_dated_by_an_hour", |story| {
        // It was made when it was late, and recorded as if in time.
        let later = story.get(85, "/envelope/created_ms").as_u64().unwrap() + 3_600_000;
        story.set(85, "/envelope/created_ms", json!(later));
    }),
    ("lc_1_4_a_downtime_is_longer_than_the_silence", |story| {
        story.expect(67, "ledger_resumed");
        story.set(67, "/gap_ms", json!(600_000));
    }),
    ("lc_1_4_a_downtime_is_left_out", |story| {
        story.expect(29, "ledger_resumed");
        story.without([29]);
    }),
    (
        "lc_1_4_a_downtime_is_invented_and_the_lapse_stays_where_it_was",
        |story| {
            story.put(
                CONFIRMATION_LAPSED,
                "ledger",
                json!({"type": "ledger_resumed", "gap_ms": 31_000}),
            );
        },
    ),
    (
        "lc_1_4_a_downtime_is_invented_while_records_were_written",
        |story| {
            let resumed = json!({"type": "ledger_resumed", "gap_ms": 30_000});
            story.put(97, "ledger", resumed);
        },
    ),
    ("lc_1_4_one_downtime_is_counted_twice", |story| {
        story.again(29, 30);
    }),
    (
        "lc_5_blindness_is_invented_and_the_confirmation_lapses_all_the_same",
        |story| {
            let (blind, sighted) = (
                story.record(26).event.clone(),
                story.record(30).event.clone(),
            );
            let stream = story.record(26).stream.clone();
            // Right behind the PAYMENT, until its window is over.
            let blind = story.put(CONFIRMATION_LAPSED, &stream, blind);
            story.at(blind, story.time(24));
            let sighted = story.put(CONFIRMATION_LAPSED, &stream, sighted);
            let blind_ms = story.time(CONFIRMATION_LAPSED) - story.time(24);
            story.set(sighted, "/blind_ms", json!(blind_ms));
        },
    ),
    ("lc_5_a_network_is_blind_twice", |story| {
        story.again(26, 27);
    }),
    ("lc_5_a_network_is_sighted_that_was_not_blind", |story| {
        story.without([40]);
    }),
    ("lc_5_blindness_was_longer_than_it_was", |story| {
        story.set(30, "/blind_ms", json!(30_000));
    }),
    ("lc_5_a_network_is_sighted_by_an_old_head", |story| {
        let old_s = story.time(41) / 1_000 - 3_600;
        story.set(41, "/head/timestamp_s", json!(old_s));
    }),
    (
        "lc_5_a_look_is_answered_while_the_network_is_blind",
        |story| {
            story.expect(30, "network_sighted").expect(31, "looked");
            story.moved(30, 32);
            let blind_ms = story.time(32) - 77_000 - 1_767_312_000_000;
            story.set(30, "/blind_ms", json!(blind_ms));
        },
    ),
    ("rec_1_the_clock_runs_back", |story| {
        let before = story.time(85) - 60_000;
        story.at(86, before);
    }),
];

#[test]
fn lc_1_3_lc_1_4_lc_5_and_rec_1_no_story_of_time_holds() {
    hold(&lapsing(), STORIES);
}
