//! The ledger's keys, its parameters and rules, and bodies that are erased.

use serde_json::{Value, json};
use x811_protocol::event::{LedgerKeyRotated, LedgerRole};
use x811_protocol::key::SecretKey;

use super::super::ledgers_hand::Hand;
use super::{Story, Told, hold};

/// Where keys were replaced: envelope, receipt; and parameters behind them.
const ROTATED: [u64; 2] = [68, 69];
const PARAMETERS: u64 = 70;
const ERASED: u64 = 411;

fn governed() -> Story {
    let story = Story::golden();
    for rotated in ROTATED {
        story.expect(rotated, "ledger_key_rotated");
    }
    story
        .expect(1, "parameters_set")
        .expect(PARAMETERS, "parameters_set");
    story.expect(ERASED, "bodies_erased");
    story
}

/// The event by which `old` ends.
fn rotation(story: &Story, role: LedgerRole, old: &SecretKey, new: &SecretKey) -> Value {
    let ledger = story.get(0, "/did").as_str().unwrap().parse().unwrap();
    let rotation = LedgerKeyRotated::sign(ledger, role, old, new.public());
    let mut event = serde_json::to_value(&rotation).unwrap();
    event["type"] = json!("ledger_key_rotated");
    event
}

const STORIES: &[Told] = &[
    ("lc_4_a_key_is_replaced_that_was_not_in_force", |story| {
        let (old, new) = (SecretKey::from_seed([77; 32]), Hand::forgers_own());
        let event = rotation(story, LedgerRole::Envelope, &old, &new);
        story.put(71, "ledger", event);
    }),
    (
        "lc_4_a_key_is_replaced_by_somebody_who_does_not_have_it",
        |story| {
            let (own, new) = (Hand::forgers_own(), SecretKey::from_seed([78; 32]));
            let mut event = rotation(story, LedgerRole::Envelope, &own, &new);
            event["old_key"] = story.get(ROTATED[0], "/new_key");
            let name = story.put(71, "ledger", event.clone());
            let mut written = story.record(name).clone();
            story.without([name]);
            written.follows = false;
            story.put_written(71, written);
        },
    ),
    ("lc_4_a_rotation_is_left_out", |story| {
        // In its place the ledger says that it was away for no time: the notices behind it are by a key
        // that nobody named.
        story.put(71, "ledger", json!({"type": "ledger_resumed", "gap_ms": 0}));
        story.without([ROTATED[0]]);
    }),
    ("lc_4_one_role_takes_the_key_of_another", |story| {
        story.set(ROTATED[1], "/role", json!("envelope"));
    }),
    (
        "lc_8_checkpoints_are_signed_by_another_key_from_some_place_on",
        |story| {
            let checkpoint = super::super::ledgerbox::checkpoint_key();
            let event = rotation(
                story,
                LedgerRole::Checkpoint,
                &checkpoint,
                &Hand::forgers_own(),
            );
            story.put(71, "ledger", event);
        },
    ),
    (
        "lc_8_the_log_names_another_checkpoint_key_from_the_beginning",
        |story| {
            let own = Hand::forgers_own().public();
            story.set(0, "/keys/checkpoint", json!(own));
        },
    ),
    ("lc_8_the_log_has_another_name", |story| {
        story.set(0, "/origin", json!("ledger.example/another"));
    }),
    ("lc_4_the_ledger_is_another", |story| {
        let other = "did:x811:019b76da-a800-7000-8000-0000000000d1";
        story.set(0, "/did", json!(other));
    }),
    ("rec_2_rules_change_that_nobody_knows", |story| {
        story.put(
            71,
            "ledger",
            json!({"type": "rules_changed", "rules_version": 99}),
        );
    }),
    ("rec_2_rules_change_and_change_back", |story| {
        // In between a window does not lapse, and nobody decides again.
        story.put(
            102,
            "ledger",
            json!({"type": "rules_changed", "rules_version": 99}),
        );
        story.put(
            107,
            "ledger",
            json!({"type": "rules_changed", "rules_version": 2, "reader": 2}),
        );
    }),
    ("rec_2_rules_change_at_the_last_record", |story| {
        let rules = story.put(
            ERASED,
            "ledger",
            json!({"type": "rules_changed", "rules_version": 99, "reader": 99}),
        );
        story.moved_to_the_end(rules);
    }),
    ("rec_2_the_log_begins_under_unknown_rules", |story| {
        story.set(0, "/rules_version", json!(7));
    }),
    ("rec_2_the_log_begins_twice", |story| {
        story.again(0, 71);
    }),
    ("rec_2_the_log_begins_without_parameters", |story| {
        story.without([1]);
    }),
    (
        "rec_2_the_depth_is_lowered_while_an_interaction_runs",
        |story| {
            let mut parameters = story.record(1).event.clone();
            parameters["networks"][0]["confirmed_depth"] = json!(1);
            story.put(10, "ledger", parameters);
            story.set(11, "/evidence/0/depth", json!(1));
        },
    ),
    (
        "rec_2_the_treasury_is_changed_while_an_interaction_runs",
        |story| {
            let own = json!("0x00000000000000000000000000000000000000b1");
            let mut parameters = story.record(1).event.clone();
            parameters["networks"][0]["treasury"] = own.clone();
            story.put(10, "ledger", parameters);
            story.set(10, "/transfers/0/to", own.clone());
            story.set(11, "/evidence/0/transfers/0/to", own);
        },
    ),
    (
        "rec_2_an_interaction_is_opened_under_parameters_that_are_over",
        |story| {
            story.set(80, "/derived/parameters", json!(1));
        },
    ),
    ("rec_2_windows_are_shortened_for_one_interaction", |story| {
        let mut parameters = story.record(PARAMETERS).event.clone();
        parameters["windows"]["payment_ms"] = json!(1_000);
        story.put(97, "ledger", parameters);
    }),
    ("rec_3_a_body_is_left_out", |story| {
        story.without_body(49);
    }),
    ("rec_3_the_body_of_an_offer_is_erased", |story| {
        story
            .set(ERASED, "/positions", json!([4, 5, 7]))
            .without_body(5);
    }),
    ("rec_3_bodies_of_a_dispute_are_erased", |story| {
        story.set(ERASED, "/positions", json!([4, 7, 75, 78]));
        story.without_body(75).without_body(78);
    }),
    ("rec_3_bodies_of_an_open_interaction_are_erased", |story| {
        let erased = story.record(ERASED).event.clone();
        let erased = story.put(11, "ledger", erased);
        story
            .set(erased, "/positions", json!([4, 7]))
            .without([ERASED]);
    }),
    ("rec_3_bodies_are_erased_that_are_still_there", |story| {
        story.set(ERASED, "/positions", json!([4, 7, 80, 83]));
    }),
    ("rec_3_bodies_are_erased_twice", |story| {
        let again = story.again(ERASED, ERASED);
        story.moved_to_the_end(again);
    }),
    (
        "rec_3_bodies_are_erased_by_nobody_that_the_ledger_knows",
        |story| {
            let nobody = "did:x811:019b76da-a800-7000-8000-0000000000d1";
            story.set(ERASED, "/operator", json!(nobody));
        },
    ),
    ("rec_3_bodies_are_erased_by_one_who_was_revoked", |story| {
        let revoked = story.get(194, "/envelope/from");
        story.set(ERASED, "/operator", revoked);
    }),
    (
        "rec_3_bodies_are_gone_and_the_erasure_is_left_out",
        |story| {
            story.without([ERASED]);
        },
    ),
];

#[test]
fn lc_4_lc_8_rec_2_and_rec_3_no_story_of_keys_and_bodies_holds() {
    hold(&governed(), STORIES);
}
