//! The record form of facts (record.md sections 1 and 3): written, read back, and refused when a
//! log says what no payload could.

use proptest::prelude::*;
use serde_json::json;
use x811_protocol::canonical::to_canonical;
use x811_protocol::facts::Facts;

use super::*;

/// Of the members that the examples have.
const MAY_BE_ABSENT: [&str; 3] = ["payment_address", "fee_tx_hash", "related_message_id"];

#[test]
fn rec_3_unknown_and_missing_members_are_refused() {
    for (kind, payload) in messages::examples() {
        let value = recorded(kind, &payload);
        let kind = kind.parse().unwrap();
        assert_eq!(Facts::from_value(&kind, &value).unwrap().to_value(), value);
        let unknown = with(&value, "surplus", Some(json!(1)));
        assert_eq!(
            verdict(&Facts::from_value(&kind, &unknown)),
            MALFORMED,
            "{kind}"
        );
        for name in object(&value).keys() {
            let null = with(&value, name, Some(Value::Null));
            let outcome = Facts::from_value(&kind, &null);
            assert_eq!(verdict(&outcome), MALFORMED, "{kind} {name} is never null");
            let missing = Facts::from_value(&kind, &with(&value, name, None));
            let may_be_absent = MAY_BE_ABSENT.contains(&name.as_str());
            assert_eq!(missing.is_ok(), may_be_absent, "{kind} without {name}");
        }
    }
}

#[test]
fn rec_1_caps_and_forms_hold_for_what_is_read_from_a_log() {
    let table = [
        (
            "x811/request",
            "task_type",
            json!("x".repeat(129)),
            MALFORMED,
        ),
        ("x811/request", "task_type", json!(""), MALFORMED),
        ("x811/request", "deadline_s", json!(0), MALFORMED),
        (
            "x811/request",
            "deadline_s",
            json!(9_007_199_254_740_992_u64),
            MALFORMED,
        ),
        ("x811/request", "max_budget", json!("0.05"), MALFORMED),
        ("x811/request", "max_budget", json!(50_000), MALFORMED),
        ("x811/offer", "total_cost", json!("29726"), GUARD),
        ("x811/offer", "protocol_fee", json!("724"), GUARD),
        (
            "x811/offer",
            "payment_address",
            json!(PROVIDER_ADDRESS),
            MALFORMED,
        ),
        (
            "x811/offer",
            "payment_address",
            json!(ZERO_ADDRESS),
            BAD_ADDRESS,
        ),
        ("x811/offer", "expiry_s", json!(0), MALFORMED),
        ("x811/accept", "offer_hash", json!("0x00"), MALFORMED),
        ("x811/reject", "code", json!("CHEAP"), MALFORMED),
        ("x811/result", "content_type", json!("json"), MALFORMED),
        ("x811/result", "location", json!("url"), MALFORMED),
        (
            "x811/result",
            "result_size",
            json!(9_007_199_254_740_992_u64),
            MALFORMED,
        ),
        ("x811/verify", "verified", json!(true), MALFORMED),
        ("x811/payment", "network", json!("x".repeat(33)), MALFORMED),
        (
            "x811/payment",
            "payee_address",
            json!(INITIATOR_ADDRESS.to_lowercase()),
            BAD_ADDRESS,
        ),
        ("x811/error", "code", json!("X811-0000"), MALFORMED),
    ];
    for (kind, name, value, expected) in table {
        let (_, payload) = messages::examples()
            .into_iter()
            .find(|(k, _)| *k == kind)
            .unwrap();
        let changed = with(&recorded(kind, &payload), name, Some(value));
        let outcome = Facts::from_value(&kind.parse().unwrap(), &changed);
        freeze::refusal(kind, &changed, outcome.as_ref().err());
        assert_eq!(verdict(&outcome), expected, "{kind} {name}: {outcome:?}");
    }
}

fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        (0_u64..1_000_000).prop_map(|micro| json!(micro as f64 / 1e6)),
        ".{0,8}".prop_map(Value::from),
        "[0-9]{1,3}(\\.[0-9]{1,7})?".prop_map(Value::from),
        "(0x)?[0-9a-fA-F]{38,66}".prop_map(Value::from),
    ];
    leaf.prop_recursive(2, 8, 4, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            proptest::collection::hash_map(".{0,4}", inner, 0..4)
                .prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
}

proptest! {
    /// Any value in the place of any member: never a panic; what is accepted can be recorded, read
    /// back, and computed again from the canonical body, as an auditor does.
    #[test]
    fn rec_3_facts_are_a_pure_function_of_the_canonical_body(
        example in 0_usize..8,
        member in any::<prop::sample::Index>(),
        value in any_json(),
    ) {
        let (kind, payload) = messages::examples()[example].clone();
        let names: Vec<&str> = object(&payload).keys().map(String::as_str).collect();
        let name = member.get(&names);
        let changed = with(&payload, name, Some(value));
        let rules = PayloadRules::default();
        match read_under(&rules, kind, &changed) {
            Ok(from_payload) => {
                let written = to_canonical(&from_payload.to_value());
                let written = serde_json::from_slice(&written).unwrap();
                let read = Facts::from_value(&kind.parse().unwrap(), &written);
                prop_assert_eq!(read.as_ref(), Ok(&from_payload));
                let body: Value = serde_json::from_slice(&to_canonical(&changed)).unwrap();
                prop_assert_eq!(read_under(&rules, kind, &body), Ok(from_payload));
            }
            Err(refusal) => prop_assert!(refusal.http_status() < 500),
        }
    }
}
