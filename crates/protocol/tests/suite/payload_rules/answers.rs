//! The short messages: `x811/accept`, `x811/reject`, `x811/verify`, `x811/error`.

use serde_json::json;
use x811_protocol::facts::{DisputeCode, RejectCode};

use super::offer::envelope_ids;
use super::*;

pub(crate) fn accept() -> Value {
    json!({
        "offer_id": OFFER_ID,
        "offer_hash": "8ebc1be1c28158c4e295023aa9dfbdf1e96ef9000c110c38fea7801df4e0ffbe"
    })
}

pub(crate) fn reject() -> Value {
    json!({
        "offer_id": OFFER_ID,
        "reason": "Offered price exceeds budget threshold for auto-acceptance",
        "code": "PRICE_TOO_HIGH"
    })
}

pub(crate) fn verified() -> Value {
    json!({
        "request_id": REQUEST_ID,
        "offer_id": OFFER_ID,
        "result_hash": RESULT_HASH,
        "verified": true
    })
}

pub(crate) fn dispute() -> Value {
    json!({
        "request_id": REQUEST_ID,
        "offer_id": OFFER_ID,
        "result_hash": RESULT_HASH,
        "verified": false,
        "dispute_reason": "Result missing volatility assessment with confidence intervals",
        "dispute_code": "INCOMPLETE"
    })
}

pub(crate) fn error() -> Value {
    json!({
        "code": "X811-4001",
        "message": "cannot send x811/accept when interaction is in 'pending' state",
        "related_message_id": "0190a1b2-e5f6-7071-8901-234567890def"
    })
}

/// The table for every SHA-256 hash on the wire.
pub(crate) fn hashes() -> Vec<(Option<Value>, Verdict)> {
    vec![
        (Some(json!("0".repeat(64))), ACCEPTED),
        (Some(json!(RESULT_HASH.to_uppercase())), MALFORMED),
        (Some(json!(format!("0x{RESULT_HASH}"))), MALFORMED),
        (Some(json!(RESULT_HASH[1..])), MALFORMED),
        (Some(json!(format!("{RESULT_HASH}0"))), MALFORMED),
        (Some(json!("")), MALFORMED),
        (Some(json!(0)), MALFORMED),
        (None, MALFORMED),
    ]
}

fn words(allowed: &[&str], absent: Verdict) -> Vec<(Option<Value>, Verdict)> {
    let allowed = allowed.iter().map(|word| (Some(json!(word)), ACCEPTED));
    let lower = allowed.clone().filter_map(|(word, _)| {
        let lower = word?.as_str()?.to_lowercase();
        Some((Some(json!(lower)), MALFORMED))
    });
    let others = [
        (Some(json!("WHATEVER")), MALFORMED),
        (Some(json!("")), MALFORMED),
        (Some(json!(3)), MALFORMED),
        (Some(Value::Null), MALFORMED),
        (None, absent),
    ];
    allowed.chain(lower).chain(others).collect()
}

fn texts(absent: Verdict) -> [(Option<Value>, Verdict); 5] {
    [
        (Some(json!("any text")), ACCEPTED),
        (Some(json!("x".repeat(10_000))), ACCEPTED),
        (Some(json!(["a"])), MALFORMED),
        (Some(Value::Null), MALFORMED),
        (None, absent),
    ]
}

#[test]
fn ae_057_accept() {
    check_member("x811/accept", &accept(), "offer_id", envelope_ids());
    check_member("x811/accept", &accept(), "offer_hash", hashes());
    assert_eq!(recorded("x811/accept", &accept()), accept());
}

#[test]
fn ae_058_reject() {
    let codes = [
        "PRICE_TOO_HIGH",
        "DEADLINE_TOO_SHORT",
        "TRUST_TOO_LOW",
        "POLICY_REJECTED",
        "OTHER",
    ];
    assert_eq!(
        RejectCode::ALL
            .iter()
            .map(|code| code.as_str())
            .collect::<Vec<_>>(),
        codes
    );
    check_member("x811/reject", &reject(), "offer_id", envelope_ids());
    check_member("x811/reject", &reject(), "reason", texts(MALFORMED));
    check_member("x811/reject", &reject(), "code", words(&codes, MALFORMED));
    let expected = json!({"offer_id": OFFER_ID, "code": "PRICE_TOO_HIGH"});
    assert_eq!(
        recorded("x811/reject", &reject()),
        expected,
        "the reason is no fact"
    );
}

#[test]
fn ae_061_verify() {
    for payload in [verified(), dispute()] {
        check_member("x811/verify", &payload, "request_id", envelope_ids());
        check_member("x811/verify", &payload, "offer_id", envelope_ids());
    }
    let verified_table = [
        (Some(json!("true")), MALFORMED),
        (Some(json!(1)), MALFORMED),
        (Some(Value::Null), MALFORMED),
        (None, MALFORMED),
    ];
    check_member("x811/verify", &verified(), "verified", verified_table);
    assert_eq!(recorded("x811/verify", &verified()), verified());
}

#[test]
fn ae_062_verify_repeats_the_hash_whatever_the_verdict() {
    for payload in [verified(), dispute()] {
        check_member("x811/verify", &payload, "result_hash", hashes());
        assert_eq!(
            recorded("x811/verify", &payload)["result_hash"],
            RESULT_HASH
        );
    }
}

#[test]
fn ae_063_ae_016_a_dispute_needs_reason_and_code() {
    let codes = ["WRONG_RESULT", "INCOMPLETE", "TIMEOUT", "QUALITY", "OTHER"];
    assert_eq!(
        DisputeCode::ALL
            .iter()
            .map(|code| code.as_str())
            .collect::<Vec<_>>(),
        codes
    );
    check_member("x811/verify", &dispute(), "dispute_reason", texts(GUARD));
    check_member(
        "x811/verify",
        &dispute(),
        "dispute_code",
        words(&codes, GUARD),
    );
    assert_eq!(
        recorded("x811/verify", &dispute())["dispute_code"],
        "INCOMPLETE"
    );
}

#[test]
fn ae_063_beside_verified_true_a_code_is_checked_and_means_nothing() {
    check_member(
        "x811/verify",
        &verified(),
        "dispute_reason",
        texts(ACCEPTED),
    );
    let codes = ["WRONG_RESULT", "OTHER"];
    check_member(
        "x811/verify",
        &verified(),
        "dispute_code",
        words(&codes, ACCEPTED),
    );
    let both = with(&verified(), "dispute_code", Some(json!("OTHER")));
    assert_eq!(
        facts("x811/verify", &both),
        facts("x811/verify", &verified())
    );
}

#[test]
fn ae_066_error() {
    let codes = [
        (Some(json!("X811-9002")), ACCEPTED),
        (Some(json!("X811-4030")), ACCEPTED),
        (Some(json!("X811-4002")), MALFORMED),
        (Some(json!("x811-4001")), MALFORMED),
        (Some(json!("4001")), MALFORMED),
        (Some(json!(4001)), MALFORMED),
        (None, MALFORMED),
    ];
    check_member("x811/error", &error(), "code", codes);
    check_member("x811/error", &error(), "message", texts(MALFORMED));
    let optional = envelope_ids().into_iter().filter(|(id, _)| id.is_some());
    let optional = optional.chain([(None, ACCEPTED)]);
    check_member("x811/error", &error(), "related_message_id", optional);
    let expected = with(&error(), "message", None);
    assert_eq!(
        recorded("x811/error", &error()),
        expected,
        "the message is no fact"
    );
}
