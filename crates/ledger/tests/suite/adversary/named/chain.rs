//! Blocks, depths, heads and looks.

use serde_json::json;

use super::{Story, Told, hold};

const SEEN: u64 = 10;
const CONFIRMED: u64 = 11;
/// Watched through blindness, disputed after four looks, paid late.
const LOOKS: [u64; 5] = [31, 33, 35, 36, 37];
const SEEN_AGAIN: u64 = 32;
const UNSEEN: u64 = 34;
/// Two transactions that were refuted, and two looks behind.
const REFUTED: [u64; 2] = [53, 54];
const LOOKS_BEHIND: [u64; 2] = [62, 63];

fn watched() -> Story {
    let story = Story::of_interactions();
    story.expect(SEEN, "seen").expect(CONFIRMED, "confirmed");
    for look in LOOKS.into_iter().chain(LOOKS_BEHIND) {
        story.expect(look, "looked");
    }
    for refuted in REFUTED {
        story.expect(refuted, "refuted");
    }
    story.expect(SEEN_AGAIN, "seen").expect(UNSEEN, "unseen");
    story
}

const STORIES: &[Told] = &[
    ("lc_5_it_is_confirmed_at_depth_one", |story| {
        story.set(CONFIRMED, "/evidence/0/depth", json!(1));
    }),
    (
        "lc_5_it_is_confirmed_at_a_depth_that_no_time_was_for",
        |story| {
            let at_ms = story.time(SEEN);
            story.at(CONFIRMED, at_ms);
        },
    ),
    ("lc_5_it_is_confirmed_and_only_seen", |story| {
        story.set(CONFIRMED, "/evidence/0/level", json!("seen"));
    }),
    ("lc_5_it_is_confirmed_by_no_endpoint", |story| {
        story.set(CONFIRMED, "/evidence/0/endpoints", json!([]));
    }),
    (
        "lc_5_it_is_confirmed_by_one_endpoint_named_twice",
        |story| {
            story.set(CONFIRMED, "/evidence/0/endpoints", json!(["one", "one"]));
        },
    ),
    ("lc_5_it_is_refuted_by_no_endpoint", |story| {
        story.set(REFUTED[0], "/evidence/endpoints", json!([]));
    }),
    (
        "lc_5_it_is_confirmed_in_another_block_than_it_was_seen_in",
        |story| {
            let other = story.get(16, "/block");
            story.set(CONFIRMED, "/evidence/0/block", other);
        },
    ),
    ("lc_5_it_is_confirmed_and_was_never_seen", |story| {
        story.without([SEEN]);
    }),
    ("lc_5_it_is_refuted_and_was_never_seen", |story| {
        story.without([51]);
    }),
    ("lc_5_its_block_is_younger_than_its_record", |story| {
        let later_s = story.time(CONFIRMED) / 1_000 + 3_600;
        story.set(SEEN, "/block/timestamp_s", json!(later_s));
        story.set(CONFIRMED, "/evidence/0/block/timestamp_s", json!(later_s));
    }),
    (
        "lc_5_its_block_is_higher_than_any_head_of_its_time",
        |story| {
            for (name, pointer) in [
                (SEEN, "/block/number"),
                (CONFIRMED, "/evidence/0/block/number"),
            ] {
                story.set(name, pointer, json!(99_999_999));
            }
        },
    ),
    ("lc_5_one_hash_is_at_two_heights", |story| {
        // The hash of an earlier head stands at the height of a later block.
        let head = story.get(LOOKS[1], "/head");
        let mut other = story.get(SEEN_AGAIN, "/block");
        assert_eq!(head, other, "one block, in two records");
        other["hash"] = story.get(LOOKS[0], "/head/hash");
        story.set(SEEN_AGAIN, "/block", other);
    }),
    ("lc_5_two_hashes_are_at_one_height", |story| {
        // A look finds the transaction in a block of its head's height, which has another hash.
        let (head, block) = (
            story.get(LOOKS[1], "/head"),
            story.get(SEEN_AGAIN, "/block"),
        );
        assert_eq!(head, block, "one block, in two records");
        let other = json!(format!("0x{}", "ab".repeat(32)));
        story.set(SEEN_AGAIN, "/block/hash", other);
    }),
    ("lc_5_one_block_has_two_times", |story| {
        let second_s = story
            .get(SEEN_AGAIN, "/block/timestamp_s")
            .as_u64()
            .unwrap()
            - 1;
        story.set(SEEN_AGAIN, "/block/timestamp_s", json!(second_s));
    }),
    ("lc_5_heads_go_down_while_time_goes_on", |story| {
        let mut head = story.get(LOOKS[3], "/head");
        head["number"] = json!(100);
        story.set(LOOKS[3], "/head", head);
    }),
    ("lc_5_one_transaction_has_two_amounts", |story| {
        story.expect(42, "seen").expect(43, "late");
        // What was seen first of it, and went away.
        story.set(SEEN_AGAIN, "/transfers/0/amount", json!("7"));
    }),
    (
        "lc_5_a_transaction_reverted_when_it_was_seen_as_paying",
        |story| {
            let transfers = story.get(51, "/transfers");
            story.set(52, "/transfers", transfers);
        },
    ),
    ("lc_5_it_is_confirmed_while_the_network_is_blind", |story| {
        let (blind, sighted) = (
            story.record(26).event.clone(),
            story.record(30).event.clone(),
        );
        let stream = story.record(26).stream.clone();
        story.put(CONFIRMED, &stream, blind);
        let sighted = story.put(12, &stream, sighted);
        let blind_ms = story.time(12) - story.time(CONFIRMED);
        story.set(sighted, "/blind_ms", json!(blind_ms));
        let head_s = story.time(12) / 1_000 - 1;
        story.set(sighted, "/head/timestamp_s", json!(head_s));
    }),
    ("lc_5_a_look_finds_nothing_of_what_was_seen", |story| {
        // Four looks find nothing: the interaction is disputed at the fourth.
        story.without([UNSEEN]);
        story.set(LOOKS[1], "/finding/0/status", json!("not_found"));
        story.unset(LOOKS[1], "/finding/0/depth");
    }),
    ("lc_5_a_look_finds_too_little_of_what_is_enough", |story| {
        story.set(LOOKS[1], "/finding/0/status", json!("insufficient"));
    }),
    ("lc_5_a_look_finds_what_nobody_saw", |story| {
        story.set(LOOKS[0], "/finding/0/status", json!("insufficient"));
        story.set(LOOKS[0], "/finding/0/depth", json!(2));
    }),
    ("lc_5_a_look_finds_refuted_what_is_not", |story| {
        story.set(LOOKS[0], "/finding/0/status", json!("refuted"));
    }),
    ("lc_5_a_look_says_a_depth_that_its_head_has_not", |story| {
        story.set(LOOKS[1], "/finding/0/depth", json!(7));
    }),
    (
        "lc_5_a_look_says_a_depth_of_what_is_refuted_that_its_head_has_not",
        |story| {
            story.set(LOOKS_BEHIND[1], "/finding/0/depth", json!(700));
        },
    ),
    ("lc_5_a_look_comes_before_it_is_due", |story| {
        let due_ms = story.time(LOOKS[4]) - 4_000;
        story.set(LOOKS[4], "/due_at_ms", json!(due_ms));
    }),
    ("lc_5_a_look_is_left_out_to_dispute_early", |story| {
        story.without([LOOKS[3]]);
        story.set(LOOKS[4], "/look", json!(3));
    }),
    ("lc_5_a_look_is_counted_twice_to_dispute_early", |story| {
        story.again(LOOKS[3], LOOKS[4]);
    }),
    ("lc_5_a_look_is_answered_by_an_old_head", |story| {
        let old = story.get(LOOKS[2], "/head");
        story.set(LOOKS[4], "/head", old);
    }),
    ("lc_5_a_look_is_answered_by_a_head_of_the_future", |story| {
        let later_s = story.time(LOOKS[4]) / 1_000 + 600;
        story.set(LOOKS[4], "/head/timestamp_s", json!(later_s));
    }),
    ("lc_5_a_look_leaves_out_a_transaction", |story| {
        let first = story.get(LOOKS_BEHIND[0], "/finding/0");
        story.set(LOOKS_BEHIND[0], "/finding", json!([first]));
    }),
    (
        "lc_5_what_paid_is_reversed_and_was_there_all_the_time",
        |story| {
            story.expect(12, "unseen");
            story.without([12]);
        },
    ),
    ("lc_5_what_never_paid_is_reversed", |story| {
        story.expect(13, "reversed");
        let other = story.get(SEEN_AGAIN, "/tx_hash");
        story.set(13, "/tx_hash", other);
    }),
    (
        "lc_5_what_was_reversed_is_back_and_nobody_saw_it",
        |story| {
            story.expect(16, "seen").expect(17, "returned");
            story.without([16]);
        },
    ),
    ("lc_5_it_is_final_while_it_is_reversed", |story| {
        story.expect(18, "final");
        story.moved(18, 16);
    }),
    ("lc_5_it_is_final_below_its_block", |story| {
        story.set(18, "/head/number", json!(1));
    }),
    ("lc_5_it_is_reversed_again_and_again", |story| {
        story.again(13, 16);
    }),
    (
        "lc_5_the_accept_had_a_head_of_the_future_to_make_payments_old",
        |story| {
            let head = story.get(46, "/derived/heads/0");
            let number = story.get(51, "/block/number").as_u64().unwrap() + 1;
            story.set(46, "/derived/heads/0/number", json!(number));
            assert!(head["number"].as_u64().unwrap() < number);
            for refuted in REFUTED {
                story.set(refuted, "/cause", json!("older_than_accept"));
                story.set(refuted, "/code", json!("X811-5003"));
            }
            for notice in 55..=58 {
                story.set(notice, "/code", json!("X811-5003"));
            }
        },
    ),
];

#[test]
fn lc_5_no_story_of_blocks_and_looks_holds() {
    hold(&watched(), STORIES);
}
