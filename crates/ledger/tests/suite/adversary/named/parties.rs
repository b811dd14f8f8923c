//! Agents, their keys and wallets, what they may do, and whose payment it is.

use serde_json::{Value, json};

use super::super::every_event::every_event;
use super::super::rarer::rarer;
use super::{Story, Told, hold};

/// An agent that registered, updated, took another key, went, came back and went for ever.
const REGISTERED: u64 = 189;
const UPDATED: u64 = 190;
const ROTATED: u64 = 191;
const DEACTIVATED: u64 = 192;
const REACTIVATED: u64 = 193;
const REVOKED: u64 = 194;
/// Parameters from which on several interactions of one pair are open.
const PARAMETERS: u64 = 70;

fn parties() -> Story {
    let story = Story::golden();
    story
        .expect(REGISTERED, "agent_registered")
        .expect(UPDATED, "agent_updated");
    story
        .expect(ROTATED, "key_rotated")
        .expect(DEACTIVATED, "agent_deactivated");
    story
        .expect(REACTIVATED, "agent_reactivated")
        .expect(REVOKED, "agent_revoked");
    story
}

const STORIES: &[Told] = &[
    ("lc_4_an_agent_goes_on_behind_its_end", |story| {
        story.moved(REVOKED, UPDATED);
    }),
    ("lc_4_an_agent_comes_back_from_its_end", |story| {
        story.moved(REVOKED, REACTIVATED);
    }),
    ("lc_4_an_agent_that_went_updates", |story| {
        story.moved(DEACTIVATED, UPDATED);
    }),
    ("lc_4_a_key_signs_behind_its_rotation", |story| {
        story.moved(ROTATED, UPDATED);
    }),
    ("lc_4_a_key_is_rotated_back", |story| {
        let back = story.again(ROTATED, DEACTIVATED);
        let (old, new) = (
            story.get(ROTATED, "/old_key"),
            story.get(ROTATED, "/new_key/key"),
        );
        story
            .set(back, "/old_key", new)
            .set(back, "/new_key/key", old);
        let id = story.get(DEACTIVATED, "/envelope/id");
        assert_ne!(story.get(back, "/envelope/id"), id);
    }),
    ("lc_4_a_did_registers_twice", |story| {
        story.again(REGISTERED, UPDATED);
    }),
    ("lc_4_a_wallet_belongs_to_two", |story| {
        let wallet = story.get(2, "/wallets/0");
        story.set(3, "/wallets", json!([wallet]));
    }),
    ("lc_4_a_did_expired_before_it_spoke", |story| {
        let before = story.time(UPDATED) - 1;
        story.set(UPDATED, "/expires_at_ms", json!(before));
    }),
    ("lc_4_somebody_else_signed", |story| {
        for member in ["/envelope/key", "/envelope/from"] {
            let provider = story.get(5, member);
            story.set(6, member, provider);
        }
    }),
    ("lc_3_more_are_open_between_two_than_may_be", |story| {
        story.set(PARAMETERS, "/limits/open_per_pair", json!(2));
    }),
    ("lc_3_more_are_open_of_one_than_may_be", |story| {
        story.set(PARAMETERS, "/limits/open_per_initiator", json!(2));
    }),
    ("lc_3_more_bytes_came_in_a_day_than_may", |story| {
        story.set(PARAMETERS, "/limits/body_bytes_per_day", json!(2_000));
    }),
    ("lc_5_more_transactions_are_declared_than_may_be", |story| {
        story.set(1, "/limits/hashes_per_interaction", json!(1));
    }),
    ("rec_3_a_budget_is_smaller_than_it_was", |story| {
        story.set(80, "/facts/max_budget", json!("1"));
    }),
    ("rec_3_a_verdict_is_turned", |story| {
        story
            .set(79, "/facts/verified", json!(true))
            .unset(79, "/facts/dispute_code");
        let deadline = story.time(79) + 60_000;
        story.set(79, "/derived", json!({"deadline_at_ms": deadline}));
    }),
    ("rec_3_a_price_is_doubled", |story| {
        for (member, amount) in [
            ("price", "2000000"),
            ("protocol_fee", "50000"),
            ("total_cost", "2050000"),
        ] {
            story.set(20, &format!("/facts/{member}"), json!(amount));
        }
    }),
    ("rec_3_a_payment_declares_another_transaction", |story| {
        let other = story.get(49, "/facts/tx_hash");
        story.set(24, "/facts/tx_hash", other);
    }),
];

#[test]
fn lc_3_lc_4_lc_5_and_rec_3_no_story_of_agents_holds() {
    hold(&parties(), STORIES);
}

/// The log with everything: who paid whom is of several pairs.
async fn whole() -> Story {
    let mut ledgerbox = every_event().await;
    rarer(&mut ledgerbox).await;
    Story::written_by(&ledgerbox).await
}

/// The one event of that type whose member holds that.
fn the(story: &Story, event_type: &str, pointer: &str, holds: &Value) -> u64 {
    let is_one = |name: &u64| story.record(*name).event.pointer(pointer) == Some(holds);
    let mut events = story.events(event_type);
    events.retain(is_one);
    let [name] = events[..] else {
        panic!("one {event_type} has {pointer} {holds}: {events:?}");
    };
    name
}

fn of_transaction(story: &Story, number: u16) -> u64 {
    let hash = json!(super::super::base::tx(number));
    the(story, "confirmed", "/evidence/0/tx_hash", &hash)
}

const OF_SEVERAL_PAIRS: &[Told] = &[
    (
        "rule_18_evidence_leaves_out_the_nonce_that_binds_the_payer",
        |story| {
            let confirmed = of_transaction(story, 22);
            story.unset(confirmed, "/evidence/0/transfers/0/authorization_nonce");
        },
    ),
    (
        "rule_18_evidence_has_the_nonce_of_another_interaction",
        |story| {
            let confirmed = of_transaction(story, 22);
            story.set(
                confirmed,
                "/evidence/0/transfers/0/authorization_nonce",
                json!("ab".repeat(32)),
            );
        },
    ),
    ("rule_18_an_authorized_payer_is_called_a_wallet", |story| {
        let nonce =
            story.names(|written| written.event["facts"]["authorization_nonce"].is_string());
        story.set(nonce[0], "/derived/payer_binding", json!("wallet"));
    }),
    ("lc_5_two_providers_have_each_others_receipts", |story| {
        let (one, other) = (of_transaction(story, 20), of_transaction(story, 26));
        let before = story.get(other, "/provider_prev");
        story
            .set(one, "/provider_prev", before)
            .set(one, "/provider_seq", json!(1));
    }),
    ("lc_5_what_another_was_paid_with_pays_again", |story| {
        let used = json!(super::super::base::tx(20));
        let refuted = the(story, "refuted", "/tx_hash", &used);
        let stream = story.record(refuted).stream.clone();
        let hash = |name: u64| story.record(name).was.clone().unwrap().1;
        let of_it = story.names(|written| written.stream == stream);
        let said: Vec<u64> = of_it.iter().copied().take(5).collect();
        let payments: Vec<u64> = story
            .messages("x811/payment")
            .into_iter()
            .filter(|name| of_it.contains(name))
            .collect();
        let mut confirmed = story.record(of_transaction(story, 28)).event.clone();
        let mut evidence = story.get(refuted, "/evidence");
        evidence["transfers"][0]["amount"] = json!("1025000");
        confirmed["evidence"] = json!([evidence]);
        confirmed["claims"][0]["tx_hash"] = used;
        confirmed["records"] = json!({
            "request": hash(said[0]), "offer": hash(said[1]), "accept": hash(said[2]),
            "result": hash(said[3]), "verify": hash(said[4]),
            "payments": payments.iter().map(|name| hash(*name)).collect::<Vec<_>>(),
        });
        let confirmed = story.put(refuted, &stream, confirmed);
        let behind: Vec<u64> = of_it.into_iter().filter(|name| *name >= refuted).collect();
        story.without(behind);
        assert_eq!(story.record(confirmed).event_type(), "confirmed");
    }),
    ("lc_5_the_fee_is_claimed_for_two", |story| {
        let (one, other) = (of_transaction(story, 20), of_transaction(story, 28));
        for member in ["/claims", "/evidence"] {
            let fee = story.get(one, &format!("{member}/1"));
            let price = story.get(other, &format!("{member}/0"));
            story.set(other, member, json!([price, fee]));
        }
    }),
    (
        "rec_3_an_order_to_erase_is_of_another_interaction",
        |story| {
            let erased = *story.events("bodies_erased").last().unwrap();
            let other = story.get(5, "/facts/request_id");
            story.set(erased, "/order/interaction", other);
        },
    ),
    (
        "rec_3_bodies_are_erased_for_another_reason_than_was_ordered",
        |story| {
            let erased = *story.events("bodies_erased").last().unwrap();
            story.set(erased, "/reason_code", json!("storage_full"));
        },
    ),
    ("rec_3_an_order_to_erase_is_used_hours_later", |story| {
        let erased = *story.events("bodies_erased").last().unwrap();
        story.moved_to_the_end(erased);
    }),
    ("lc_5_a_transfer_older_than_the_accept_pays", |story| {
        let old = json!(super::super::base::tx(23));
        let refuted = the(story, "refuted", "/tx_hash", &old);
        assert_eq!(story.get(refuted, "/cause"), json!("older_than_accept"));
        // What it is refuted for is not said, so that it would be enough.
        story
            .set(refuted, "/cause", json!("short"))
            .set(refuted, "/code", json!("X811-5001"));
    }),
];

#[tokio::test]
async fn rule_18_lc_5_and_rec_3_no_story_of_several_pairs_holds() {
    hold(&whole().await, OF_SEVERAL_PAIRS);
}
