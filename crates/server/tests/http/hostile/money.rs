//! Money in every form it must not have (AX-3): never a float in a string's place, never rounded.

use super::{Case, MALFORMED, Stage, case};
use crate::world::Deal;
use serde_json::{Value, json};
use x811_protocol::envelope::SealedEnvelope;

/// Decimal strings that are none.
const NO_DECIMALS: [&str; 24] = [
    "",
    " ",
    "1e1",
    "1E1",
    "10.0000001",
    "0.0000000",
    "-10",
    "-0",
    "+10",
    "010",
    "00",
    "10.",
    ".5",
    " 10",
    "10 ",
    "10,25",
    "1_000",
    "0x10",
    "NaN",
    "Infinity",
    "１０",
    "10\u{0}",
    "10.25 USDC",
    "99999999999999999999999999999999",
];

/// The same message with one member of its payload changed, properly signed.
fn with(stage: &Stage, sealed: &SealedEnvelope, name: &str, value: &Value) -> Vec<u8> {
    let mut body: Value = serde_json::from_slice(&sealed.body).unwrap();
    body["payload"][name] = value.clone();
    let by = if sealed.header.from == stage.a.did {
        &stage.a
    } else {
        &stage.b
    };
    let kind = sealed.header.message_type.to_string();
    by.say(
        &stage.world,
        sealed.header.to,
        &kind,
        body["payload"].take(),
    )
    .json
}

fn cases(stage: &Stage, sealed: &SealedEnvelope, name: &str, values: &[Value]) -> Vec<Case> {
    values
        .iter()
        .map(|value| {
            let body = with(stage, sealed, name, value);
            case(format!("{name} = {value}"), body, MALFORMED)
        })
        .collect()
}

/// Values that are no decimal string.
fn no_decimals() -> Vec<Value> {
    let texts = NO_DECIMALS.iter().map(|text| json!(text));
    let others = [
        json!(10),
        json!(10.25),
        json!(true),
        json!(null),
        json!(["10"]),
        json!({}),
    ];
    texts.chain(others).collect()
}

#[tokio::test]
async fn ax_003_amounts_as_numbers() {
    let stage = Stage::open().await;
    let deal = Deal::new(&stage.world, &stage.a, &stage.b);
    let bad = [
        json!("10.25"),
        json!(-1),
        json!(-0.000_001),
        json!(1e-7),
        json!(0.123_456_7),
        json!(10.000_000_1),
        json!(5e-324),
        json!(1_000_000_000_001_u64),
        json!(9_007_199_254_740_991_u64),
        json!(null),
        json!(true),
        json!([10]),
        json!({ "amount": 10 }),
    ];
    for name in ["max_budget", "threshold_amount"] {
        stage
            .refuse_spent(cases(&stage, &deal.request, name, &bad))
            .await;
    }
    for good in [
        json!(0),
        json!(-0.0),
        json!(1e-6),
        json!(0.1),
        json!(1_000_000_000_000_u64),
    ] {
        let mut payload = Deal::request_payload(&format!("key of {good}"));
        payload["max_budget"] = good;
        let request = stage
            .a
            .say(&stage.world, stage.b.did, "x811/request", payload);
        stage.world.accept(&request).await;
    }
}

#[tokio::test]
async fn ax_003_amounts_as_decimal_strings() {
    let stage = Stage::open().await;
    let deal = Deal::new(&stage.world, &stage.a, &stage.b);
    stage.world.accept(&deal.request).await;
    for name in ["price", "protocol_fee", "total_cost"] {
        stage
            .refuse_spent(cases(&stage, &deal.offer(), name, &no_decimals()))
            .await;
    }
    let wrong_sums = [
        ("price", "10.000001"),
        ("protocol_fee", "0.250001"),
        ("protocol_fee", "0.249999"),
        ("total_cost", "10.250001"),
        ("total_cost", "1000000000000"),
    ];
    let cases = wrong_sums.map(|(name, text)| {
        let body = with(&stage, &deal.offer(), name, &json!(text));
        case(format!("{name} = {text}"), body, (422, "X811-4001"))
    });
    stage.refuse_spent(cases.into()).await;
    // The same amount with its zeros is the same amount.
    let spelled = with(&stage, &deal.offer(), "price", &json!("10.000000"));
    stage.world.post(spelled).await.expect(202);
}

#[tokio::test]
async fn ax_003_the_amount_of_a_payment() {
    let stage = Stage::open().await;
    let deal = Deal::new(&stage.world, &stage.a, &stage.b);
    let offer = deal.verified().await;
    let payment = deal.payment(&offer, &format!("0x{}", "aa".repeat(32)));
    stage
        .refuse_spent(cases(&stage, &payment, "amount", &no_decimals()))
        .await;
    let short = ["0", "10.249999", "0.000001"].map(|text| {
        let body = with(&stage, &payment, "amount", &json!(text));
        case(format!("amount = {text}"), body, (402, "X811-5001"))
    });
    stage.refuse_spent(short.into()).await;
    let hashes = ["", "0x", "0xaa", "aa", "0xgg", "0X", " 0x"].map(|text| {
        let padded = format!("{text}{}", "aa".repeat(32).get(text.len()..).unwrap());
        let body = with(&stage, &payment, "tx_hash", &json!(padded));
        case(format!("tx_hash = {padded}"), body, (400, "X811-5001"))
    });
    stage.refuse_spent(hashes.into()).await;
    stage.world.accept(&payment).await;
}
