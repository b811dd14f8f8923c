//! Who was paid, how much, and by what.

use serde_json::{Value, json};

use super::{Story, Told, hold};

/// Somebody whom nobody knows.
const STRANGER: &str = "0x00000000000000000000000000000000000000b1";
/// The transaction of an interaction that was paid in time, and `confirmed` of it.
const PAID: &str = "0x0001777777777777777777777777777777777777777777777777777777777777";
const SEEN: u64 = 10;
const CONFIRMED: u64 = 11;
/// That of one that was paid too little.
const SHORT_SEEN: u64 = 51;
const SHORT: u64 = 53;
const REVERTED: u64 = 54;
/// What came when an interaction was in dispute.
const LATE: u64 = 43;
/// What cost nothing.
const FREE: u64 = 86;

fn paid() -> Story {
    let story = Story::of_interactions();
    story.expect(SEEN, "seen").expect(CONFIRMED, "confirmed");
    story.expect(SHORT, "refuted").expect(REVERTED, "refuted");
    story.expect(LATE, "late").expect(FREE, "confirmed");
    assert_eq!(story.get(SEEN, "/tx_hash"), json!(PAID));
    story
}

/// What was short is refuted for another cause, and both parties are told that.
fn refuted_as(story: &mut Story, cause: &str, code: &str) {
    story.set(SHORT, "/cause", json!(cause));
    story.set(SHORT, "/code", json!(code));
    for notice in [55, 56] {
        story.expect(notice, "notice_issued");
        story.set(notice, "/code", json!(code));
    }
}

const STORIES: &[Told] = &[
    ("lc_5_more_is_confirmed_than_was_seen", |story| {
        story.set(
            CONFIRMED,
            "/evidence/0/transfers/0/amount",
            json!("2050000"),
        );
        story.set(CONFIRMED, "/surplus", json!("1025000"));
    }),
    (
        "lc_5_less_is_confirmed_than_was_seen_and_the_surplus_kept",
        |story| {
            story.set(
                CONFIRMED,
                "/evidence/0/transfers/0/amount",
                json!("1025000"),
            );
            story.unset(CONFIRMED, "/surplus");
        },
    ),
    ("lc_5_the_surplus_is_hidden", |story| {
        story.unset(CONFIRMED, "/surplus");
    }),
    ("lc_5_the_surplus_is_the_whole_payment", |story| {
        story.set(CONFIRMED, "/surplus", json!("1025001"));
    }),
    ("lc_5_the_payee_is_the_operator", |story| {
        story.set(5, "/derived/payee", json!(STRANGER));
        for pointer in ["/transfers/0/to", "/evidence/0/transfers/0/to"] {
            let name = if pointer.starts_with("/e") {
                CONFIRMED
            } else {
                SEEN
            };
            story.set(name, pointer, json!(STRANGER));
        }
    }),
    ("lc_5_the_transfer_of_a_stranger_pays", |story| {
        story.set(SEEN, "/transfers/0/from", json!(STRANGER));
        story.set(CONFIRMED, "/evidence/0/transfers/0/from", json!(STRANGER));
    }),
    ("lc_5_a_transfer_to_a_stranger_pays", |story| {
        story.set(SEEN, "/transfers/0/to", json!(STRANGER));
        story.set(CONFIRMED, "/evidence/0/transfers/0/to", json!(STRANGER));
    }),
    ("lc_5_the_price_goes_to_the_treasury", |story| {
        let treasury = story.get(1, "/networks/0/treasury");
        story.set(SEEN, "/transfers/0/to", treasury.clone());
        story.set(CONFIRMED, "/evidence/0/transfers/0/to", treasury);
    }),
    ("lc_5_one_transfer_is_split_in_two", |story| {
        let half = |ordinal: u64, amount: &str, whole: &Value| {
            let mut half = whole.clone();
            (half["ordinal"], half["amount"]) = (json!(ordinal), json!(amount));
            half
        };
        let whole = story.get(SEEN, "/transfers/0");
        let halves = json!([half(0, "1000000", &whole), half(1, "25001", &whole)]);
        story.set(CONFIRMED, "/evidence/0/transfers", halves);
        story.set(CONFIRMED, "/evidence/0/transfer_count", json!(2));
        let claim = story.get(CONFIRMED, "/claims/0");
        let second =
            json!({"chain_id": claim["chain_id"], "tx_hash": claim["tx_hash"], "ordinal": 1});
        story.set(CONFIRMED, "/claims", json!([claim, second]));
    }),
    (
        "lc_5_a_transfer_is_claimed_that_no_evidence_shows",
        |story| {
            story.set(CONFIRMED, "/claims/0/ordinal", json!(1));
        },
    ),
    ("lc_5_the_claim_is_of_another_chain", |story| {
        story.set(CONFIRMED, "/claims/0/chain_id", json!(1));
    }),
    ("lc_5_what_is_dear_is_confirmed_for_nothing", |story| {
        story.set(CONFIRMED, "/claims", json!([]));
        story.set(CONFIRMED, "/evidence", json!([]));
        story.unset(CONFIRMED, "/surplus");
    }),
    ("lc_5_what_costs_nothing_claims_a_payment", |story| {
        for member in ["/claims", "/evidence"] {
            let used = story.get(CONFIRMED, member);
            story.set(FREE, member, used);
        }
    }),
    ("lc_5_one_transfer_pays_and_comes_late_too", |story| {
        for member in ["/claims", "/evidence"] {
            let used = story.get(CONFIRMED, member);
            story.set(LATE, member, used);
        }
    }),
    ("lc_5_a_late_transfer_is_bound_twice", |story| {
        story.again(LATE, 44);
    }),
    ("lc_5_a_late_transfer_of_others_is_bound", |story| {
        story.expect(66, "late");
        let stream = story.record(LATE).stream.clone();
        story.in_stream(66, &stream);
    }),
    ("lc_5_it_was_short_and_is_confirmed", |story| {
        // The evidence says enough; what was seen does not.
        let mut confirmed = story.record(CONFIRMED).event.clone();
        let mut evidence = story.get(SHORT, "/evidence");
        evidence["transfers"][0]["amount"] = json!("1025000");
        confirmed["evidence"] = json!([evidence]);
        confirmed["claims"][0]["tx_hash"] = story.get(SHORT, "/tx_hash");
        confirmed.as_object_mut().unwrap().remove("surplus");
        let stream = story.record(SHORT).stream.clone();
        let records = [44, 45, 46, 47, 48].map(|name| story.record(name).was.clone().unwrap().1);
        let payments = [49, 50].map(|name| story.record(name).was.clone().unwrap().1);
        let [request, offer, accept, result, verify] = records;
        confirmed["records"] = json!({
            "request": request, "offer": offer, "accept": accept, "result": result,
            "verify": verify, "payments": payments,
        });
        story.without(53..=66);
        story.put(67, &stream, confirmed);
    }),
    ("lc_5_it_was_enough_and_is_refuted_as_short", |story| {
        story.set(SHORT_SEEN, "/transfers/0/amount", json!("1025000"));
        story.set(SHORT, "/evidence/transfers/0/amount", json!("1025000"));
    }),
    (
        "lc_5_it_was_seen_as_enough_and_is_refuted_as_short",
        |story| {
            story.set(SHORT_SEEN, "/transfers/0/amount", json!("1025000"));
        },
    ),
    (
        "lc_5_it_fits_and_is_refuted_as_paid_to_somebody_else",
        |story| {
            refuted_as(story, "other_payee", "X811-5002");
        },
    ),
    (
        "lc_5_it_is_young_and_is_refuted_as_older_than_the_accept",
        |story| {
            refuted_as(story, "older_than_accept", "X811-5003");
        },
    ),
    (
        "lc_5_it_is_unclaimed_and_is_refuted_as_used_already",
        |story| {
            refuted_as(story, "used_already", "X811-5003");
        },
    ),
    (
        "lc_5_what_transferred_something_is_refuted_as_reverted",
        |story| {
            refuted_as(story, "reverted", "X811-5003");
        },
    ),
    (
        "lc_5_its_transfers_are_left_out_and_it_is_refuted_as_reverted",
        |story| {
            refuted_as(story, "reverted", "X811-5003");
            story.set(SHORT, "/evidence/transfers", json!([]));
            story.set(SHORT, "/evidence/transfer_count", json!(0));
        },
    ),
    ("lc_5_it_is_refuted_twice_to_fill_the_counter", |story| {
        story.again(SHORT, 55);
    }),
    ("lc_5_it_is_refuted_though_nobody_declared_it", |story| {
        for pointer in ["/tx_hash", "/evidence/tx_hash"] {
            story.set(REVERTED, pointer, json!(PAID));
        }
    }),
    ("lc_5_the_receipts_of_a_provider_change_numbers", |story| {
        story.expect(13, "reversed");
        story.set(CONFIRMED, "/provider_seq", json!(1));
        story.set(13, "/provider_seq", json!(0));
    }),
    (
        "lc_5_a_receipt_of_a_provider_is_left_out_of_the_count",
        |story| {
            story.set(FREE, "/provider_seq", json!(0));
            story.unset(FREE, "/provider_prev");
        },
    ),
    (
        "lc_5_a_payment_rests_on_messages_of_another_interaction",
        |story| {
            let verify = story.record(23).was.clone().unwrap().1;
            story.set(CONFIRMED, "/records/verify", json!(verify));
        },
    ),
    ("lc_5_a_payment_rests_on_fewer_payments", |story| {
        story.set(CONFIRMED, "/records/payments", json!([]));
    }),
    ("lc_4_a_payer_is_not_asked_for", |story| {
        story.set(9, "/derived/payer_binding", json!("unchecked"));
    }),
];

#[test]
fn lc_4_and_lc_5_no_story_of_who_was_paid_holds() {
    hold(&paid(), STORIES);
}
