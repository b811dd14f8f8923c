//! `x811/request`: AE-40 to AE-48.

use serde_json::json;
use x811_protocol::digest::Digest;
use x811_protocol::facts::Facts;
use x811_protocol::refusal::Kind;

use super::*;

const KIND: &str = "x811/request";

pub(crate) fn example() -> Value {
    json!({
        "task_type": "financial-analysis",
        "parameters": {
            "ticker": "ETH",
            "period": "7d",
            "metrics": ["price", "volume", "volatility"]
        },
        "max_budget": 0.05,
        "currency": "USDC",
        "deadline": 60,
        "acceptance_policy": "auto",
        "idempotency_key": "a1b2c3d4-e5f6-4890-abcd-ef1234567890"
    })
}

fn check(name: &str, table: impl IntoIterator<Item = (Option<Value>, Verdict)>) {
    check_member(KIND, &example(), name, table);
}

#[test]
fn ae_040_task_type() {
    check(
        "task_type",
        [
            (Some(json!("a")), ACCEPTED),
            (Some(json!("é".repeat(128))), ACCEPTED),
            (Some(json!("é".repeat(129))), MALFORMED),
            (Some(json!("")), MALFORMED),
            (Some(json!("a\nb")), MALFORMED),
            (Some(json!(1)), MALFORMED),
            (Some(Value::Null), MALFORMED),
            (None, MALFORMED),
        ],
    );
}

#[test]
fn ae_041_parameters() {
    check(
        "parameters",
        [
            (Some(json!({})), ACCEPTED),
            (Some(json!([])), MALFORMED),
            (Some(json!("{}")), MALFORMED),
            (Some(Value::Null), MALFORMED),
            (None, MALFORMED),
        ],
    );
}

/// The table of AE-42 and AE-46: an amount as a JSON number.
fn number_amounts() -> Vec<(Option<Value>, Verdict)> {
    vec![
        (Some(json!(0)), ACCEPTED),
        (Some(json!(-0.0)), ACCEPTED),
        (Some(json!(0.000001)), ACCEPTED),
        (Some(json!(1_000_000_000_000_u64)), ACCEPTED),
        (Some(json!(1_000_000_000_001_u64)), MALFORMED),
        (Some(json!(1e-7)), MALFORMED),
        (Some(json!(0.1 + 0.2)), MALFORMED),
        (Some(json!(-0.05)), MALFORMED),
        (Some(json!(-1)), MALFORMED),
        (Some(json!("0.05")), MALFORMED),
        (Some(Value::Null), MALFORMED),
    ]
}

#[test]
fn ae_042_max_budget() {
    check(
        "max_budget",
        number_amounts().into_iter().chain([(None, MALFORMED)]),
    );
}

#[test]
fn ax_003_max_budget_is_the_decimal_that_was_signed() {
    for (number, micro_usdc) in [
        (json!(0.05), "50000"),
        (json!(0.1), "100000"),
        (json!(0.029725), "29725"),
        (json!(1e-6), "1"),
        (json!(123_456_789.123456), "123456789123456"),
        (json!(0), "0"),
    ] {
        let payload = with(&example(), "max_budget", Some(number));
        assert_eq!(recorded(KIND, &payload)["max_budget"], micro_usdc);
    }
}

#[test]
fn ae_043_currency() {
    check(
        "currency",
        [
            (Some(json!("usdc")), MALFORMED),
            (Some(json!("USD")), MALFORMED),
            (Some(json!("")), MALFORMED),
            (Some(json!(["USDC"])), MALFORMED),
            (None, MALFORMED),
        ],
    );
}

#[test]
fn ae_044_deadline() {
    check(
        "deadline",
        [
            (Some(json!(1)), ACCEPTED),
            (Some(json!(9_007_199_254_740_991_u64)), ACCEPTED),
            (Some(json!(9_007_199_254_740_992_u64)), MALFORMED),
            (Some(json!(0)), MALFORMED),
            (Some(json!(-1)), MALFORMED),
            (Some(json!(1.5)), MALFORMED),
            (Some(json!("60")), MALFORMED),
            (None, MALFORMED),
        ],
    );
}

#[test]
fn ae_045_acceptance_policy() {
    check(
        "acceptance_policy",
        [
            (Some(json!("auto")), ACCEPTED),
            (Some(json!("human_approval")), ACCEPTED),
            (Some(json!("threshold")), ACCEPTED),
            (Some(json!("Auto")), MALFORMED),
            (Some(json!("manual")), MALFORMED),
            (Some(json!(true)), MALFORMED),
            (None, MALFORMED),
        ],
    );
}

#[test]
fn ae_046_threshold_amount() {
    check(
        "threshold_amount",
        number_amounts().into_iter().chain([(None, ACCEPTED)]),
    );
}

#[test]
fn ax_013_absent_threshold_counts_as_zero() {
    let policy = with(&example(), "acceptance_policy", Some(json!("threshold")));
    for (amount, counted) in [(None, 0), (Some(json!(0)), 0), (Some(json!(0.01)), 10_000)] {
        let is_given = amount.is_some();
        let payload = with(&policy, "threshold_amount", amount);
        let Ok(Facts::Request(request)) = facts(KIND, &payload) else {
            panic!("a request");
        };
        assert_eq!(request.threshold().as_micro_usdc(), counted);
        assert_eq!(request.threshold_amount.is_some(), is_given);
    }
}

/// A REQUEST may name an agreement.
#[test]
fn mach_1_agreement_id() {
    let id = "0190a1b2-c3d4-7e5f-8901-234567890abc";
    let read = |given: Value| {
        let mut payload = example();
        payload["parameters"]["agreement_id"] = given;
        facts(KIND, &payload).map(|facts| facts.to_value()["agreement_id"].clone())
    };
    assert_eq!(read(json!(id)), Ok(json!(id)));
    for bad in [
        json!(format!("neg-{id}")),
        json!(id.to_uppercase()),
        json!(7),
        json!(null),
    ] {
        let refusal = read(bad.clone()).unwrap_err();
        assert_eq!(refusal.code, Code::InvalidStateTransition, "{bad}");
        assert_eq!(refusal.kind, Kind::Shape, "{bad}");
    }
}

#[test]
fn ae_047_callback_url() {
    check(
        "callback_url",
        [
            (None, ACCEPTED),
            (
                Some(json!("https://agent.example/x811?job=1#done")),
                ACCEPTED,
            ),
            (Some(json!("http://[::1]:8080/")), ACCEPTED),
            (Some(json!("urn:example:callback")), ACCEPTED),
            (
                Some(json!(format!("https://a.example/{}", "x".repeat(2_030)))),
                ACCEPTED,
            ),
            (
                Some(json!(format!("https://a.example/{}", "x".repeat(2_031)))),
                MALFORMED,
            ),
            (Some(json!("")), MALFORMED),
            (Some(json!("/relative")), MALFORMED),
            (Some(json!("agent.example")), MALFORMED),
            (Some(json!("https://agent.example/a b")), MALFORMED),
            (Some(json!("https://agent.example/%zz")), MALFORMED),
            (Some(json!("https://agent.example/é")), MALFORMED),
            (Some(json!(" https://agent.example/")), MALFORMED),
            (Some(json!(7)), MALFORMED),
            (Some(Value::Null), MALFORMED),
        ],
    );
}

#[test]
fn ae_048_idempotency_key() {
    check(
        "idempotency_key",
        [
            (Some(json!("1")), ACCEPTED),
            (Some(json!("any text, no UUID")), ACCEPTED),
            (Some(json!("é".repeat(128))), ACCEPTED),
            (Some(json!("é".repeat(129))), MALFORMED),
            (Some(json!("")), MALFORMED),
            (Some(json!(1)), MALFORMED),
            (None, MALFORMED),
        ],
    );
}

#[test]
fn ax_012_idempotency_tag_is_per_initiator_and_key() {
    let key = "a1b2c3d4-e5f6-4890-abcd-ef1234567890";
    let expected = Digest::of(format!("{INITIATOR}\0{key}").as_bytes()).to_string();
    assert_eq!(recorded(KIND, &example())["idempotency_tag"], expected);

    let rules = PayloadRules::default();
    let tag = |from: &str, key: &str| {
        let payload = with(&example(), "idempotency_key", Some(json!(key)));
        let facts =
            payload::facts(&KIND.parse().unwrap(), did(from), object(&payload), &rules).unwrap();
        facts.to_value()["idempotency_tag"].clone()
    };
    assert_ne!(tag(INITIATOR, key), tag(LEDGER, key));
    assert_ne!(tag(INITIATOR, key), tag(INITIATOR, "b"));
}
