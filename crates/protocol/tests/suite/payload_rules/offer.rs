//! `x811/offer`: AE-49 to AE-56.

use serde_json::json;

use super::*;

const KIND: &str = "x811/offer";

pub(crate) fn example() -> Value {
    json!({
        "request_id": REQUEST_ID,
        "price": "0.029",
        "protocol_fee": "0.000725",
        "total_cost": "0.029725",
        "currency": "USDC",
        "estimated_time": 30,
        "deliverables": [
            "7-day ETH price analysis with trend indicators",
            "Volume-weighted average price calculation",
            "Volatility assessment with confidence intervals"
        ],
        "expiry": 300,
        "payment_address": PROVIDER_ADDRESS
    })
}

fn check(name: &str, table: impl IntoIterator<Item = (Option<Value>, Verdict)>) {
    check_member(KIND, &example(), name, table);
}

#[test]
fn ae_049_request_id() {
    check("request_id", envelope_ids());
}

/// The table for every reference to an envelope.
pub(crate) fn envelope_ids() -> Vec<(Option<Value>, Verdict)> {
    vec![
        (Some(json!(OFFER_ID)), ACCEPTED),
        // Another version is read here and fits no envelope later (AX-11, AX-25).
        (
            Some(json!("a1b2c3d4-e5f6-4890-abcd-ef1234567890")),
            ACCEPTED,
        ),
        (Some(json!(REQUEST_ID.to_uppercase())), MALFORMED),
        (Some(json!(REQUEST_ID.replace('-', ""))), MALFORMED),
        (Some(json!(format!("urn:uuid:{REQUEST_ID}"))), MALFORMED),
        (Some(json!("")), MALFORMED),
        (Some(json!(1)), MALFORMED),
        (Some(Value::Null), MALFORMED),
        (None, MALFORMED),
    ]
}

#[test]
fn ae_050_amounts_are_decimal_strings() {
    for name in ["price", "protocol_fee", "total_cost"] {
        let malformed = [
            json!(0.029),
            json!(29_000),
            json!(""),
            json!("0.0290000"),
            json!("+0.029"),
            json!("-0.029"),
            json!(".029"),
            json!("00.029"),
            json!("2.9e-2"),
            json!("0.029 "),
            json!("1000000000000.000001"),
            Value::Null,
        ];
        let table = malformed.into_iter().map(|value| (Some(value), MALFORMED));
        check(name, table.chain([(None, MALFORMED)]));
    }
}

#[test]
fn ax_004_fee_and_total_follow_from_the_price() {
    let table = [
        ("0.029", "0.000725", "0.029725", ACCEPTED),
        ("0.029000", "0.000725", "0.029725", ACCEPTED),
        ("0", "0", "0", ACCEPTED),
        ("0.000019", "0", "0.000019", ACCEPTED),
        ("0.00002", "0.000001", "0.000021", ACCEPTED),
        ("0.00002", "0", "0.00002", GUARD),
        ("0.000019", "0.000001", "0.00002", GUARD),
        ("0.029", "0.000726", "0.029726", GUARD),
        ("0.029", "0.000724", "0.029724", GUARD),
        ("0.029", "0.000725", "0.029726", GUARD),
        ("0.029", "0.000725", "0.029", GUARD),
        ("0.029", "0", "0.029", GUARD),
        ("1000000000000", "25000000000", "1000000000000", GUARD),
        (
            "975609756097.560976",
            "24390243902.439024",
            "1000000000000",
            ACCEPTED,
        ),
    ];
    for (price, fee, total, expected) in table {
        let payload = [
            ("price", price),
            ("protocol_fee", fee),
            ("total_cost", total),
        ]
        .into_iter()
        .fold(example(), |payload, (name, text)| {
            with(&payload, name, Some(json!(text)))
        });
        let outcome = facts(KIND, &payload);
        assert_eq!(
            verdict(&outcome),
            expected,
            "{price} {fee} {total}: {outcome:?}"
        );
    }
}

#[test]
fn ae_051_currency() {
    check(
        "currency",
        [(Some(json!("EURC")), MALFORMED), (None, MALFORMED)],
    );
}

#[test]
fn ae_052_estimated_time() {
    check("estimated_time", seconds());
}

#[test]
fn ae_054_expiry() {
    let capped_later = [(Some(json!(301)), ACCEPTED)];
    check("expiry", seconds().into_iter().chain(capped_later));
}

fn seconds() -> Vec<(Option<Value>, Verdict)> {
    vec![
        (Some(json!(1)), ACCEPTED),
        (Some(json!(0)), MALFORMED),
        (Some(json!(-1)), MALFORMED),
        (Some(json!(0.5)), MALFORMED),
        (Some(json!("30")), MALFORMED),
        (None, MALFORMED),
    ]
}

#[test]
fn ae_053_deliverables() {
    check(
        "deliverables",
        [
            (Some(json!(["one"])), ACCEPTED),
            (Some(json!([])), MALFORMED),
            (Some(json!(["one", 2])), MALFORMED),
            (Some(json!([null])), MALFORMED),
            (Some(json!("one")), MALFORMED),
            (None, MALFORMED),
        ],
    );
}

#[test]
fn ae_055_terms() {
    check(
        "terms",
        [
            (None, ACCEPTED),
            (Some(json!("")), ACCEPTED),
            (Some(json!(["a"])), MALFORMED),
            (Some(Value::Null), MALFORMED),
        ],
    );
}

#[test]
fn ae_056_ax_015_payment_address() {
    check(
        "payment_address",
        [
            (None, ACCEPTED),
            (Some(json!(INITIATOR_ADDRESS)), ACCEPTED),
            (
                Some(json!("0x742d35Cc6634C0532925a3b844Bc9e7595f2bD18")),
                BAD_ADDRESS,
            ),
            (Some(json!(PROVIDER_ADDRESS.to_lowercase())), BAD_ADDRESS),
            (Some(json!(PROVIDER_ADDRESS[2..])), BAD_ADDRESS),
            (Some(json!(ZERO_ADDRESS)), BAD_ADDRESS),
            (Some(json!("vitalik.eth")), BAD_ADDRESS),
            (Some(json!(5)), BAD_ADDRESS),
            (Some(Value::Null), BAD_ADDRESS),
        ],
    );
}

#[test]
fn ax_015_lenient_addresses_are_a_setting() {
    let rules = PayloadRules {
        lenient_addresses: true,
        ..PayloadRules::default()
    };
    let printed = json!("0x742d35Cc6634C0532925a3b844Bc9e7595f2bD18");
    let payload = with(&example(), "payment_address", Some(printed));
    let facts = facts_under(&rules, KIND, &payload).unwrap().to_value();
    assert_eq!(facts["payment_address"], PROVIDER_ADDRESS.to_lowercase());
    // Part 13: the hash of the specification's example as it is printed.
    let printed = "44d95c722d4080cf6df6bcbf636967a795c152be8776016fda86965349f8b2c5";
    assert_eq!(facts["payload_hash"], printed);
}

#[test]
fn ae_057_offer_hash_of_the_specifications_example() {
    // Hashed with Python's `json` and `hashlib`, not with this crate.
    let deliverables = "a113b7114eeeee5d9d07443393556f767e22c9720bb1d84c8602b37160fec20c";
    let expected = json!({
        "deliverables_hash": deliverables,
        "request_id": REQUEST_ID,
        "price": "29000",
        "protocol_fee": "725",
        "total_cost": "29725",
        "estimated_time_s": 30,
        "expiry_s": 300,
        "payment_address": "0x742d35cc6634c0532925a3b844bc9e7595f2bd18",
        "payload_hash": "8ebc1be1c28158c4e295023aa9dfbdf1e96ef9000c110c38fea7801df4e0ffbe",
    });
    assert_eq!(recorded(KIND, &example()), expected);
}
