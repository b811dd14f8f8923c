//! Each member of an envelope, changed after it was signed, and each in a form it must not have
//! (AE-69 to AE-79, AX-46).

use super::{Case, MALFORMED, MISSING, Stage, UNSIGNED, UNTIMELY, case};
use crate::world::{Agent, Deal, sign_members};
use serde_json::{Value, json};
use x811_ledger::clock::Clock as _;

/// JSON pointers to every value in `value`, itself not counted.
fn pointers(value: &Value, at: &str, found: &mut Vec<String>) {
    let children: Vec<(String, &Value)> = match value {
        Value::Object(members) => members
            .iter()
            .map(|(key, member)| (key.replace('~', "~0").replace('/', "~1"), member))
            .collect(),
        Value::Array(elements) => elements
            .iter()
            .enumerate()
            .map(|(index, element)| (index.to_string(), element))
            .collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => Vec::new(),
    };
    for (step, child) in children {
        let pointer = format!("{at}/{step}");
        pointers(child, &pointer, found);
        found.push(pointer);
    }
}

/// Another value of the same type.
fn another(value: &Value) -> Value {
    match value {
        Value::Null => json!(0),
        Value::Bool(yes) => json!(!yes),
        Value::Number(number) => json!(number.as_f64().unwrap() + 1.0),
        Value::String(text) => match text.strip_suffix(|c: char| c.is_ascii_alphanumeric()) {
            // The last character alone, so that ids, hashes and times stay what they are.
            Some(rest) if text.ends_with('1') => json!(format!("{rest}2")),
            Some(rest) => json!(format!("{rest}1")),
            None => json!(format!("{text}1")),
        },
        Value::Array(elements) => json!([elements.as_slice(), &[json!(0)]].concat()),
        Value::Object(members) => {
            let mut members = members.clone();
            members.insert("added".to_owned(), json!(1));
            Value::Object(members)
        }
    }
}

/// Every envelope that differs from `wire` in one value.
fn tampered(wire: &[u8]) -> Vec<(String, Vec<u8>)> {
    let envelope: Value = serde_json::from_slice(wire).unwrap();
    let mut places = Vec::new();
    pointers(&envelope, "", &mut places);
    let mut spoilt = Vec::new();
    for place in places {
        let original = envelope.pointer(&place).unwrap();
        for put in [
            another(original),
            json!(null),
            json!({}),
            json!([]),
            json!(""),
        ] {
            if put == *original {
                continue;
            }
            let mut envelope = envelope.clone();
            *envelope.pointer_mut(&place).unwrap() = put.clone();
            spoilt.push((
                format!("{place} = {put}"),
                envelope.to_string().into_bytes(),
            ));
        }
    }
    spoilt
}

/// The codes a tampered envelope may get: nobody signed it, or it is not even one.
const NOT_AUTHENTIC: [&str; 8] = [
    "X811-1001",
    "X811-1004",
    "X811-1005",
    "X811-2002",
    "X811-2003",
    "X811-2004",
    "X811-4001",
    "X811-9003",
];

#[tokio::test]
async fn ae_079_every_member_is_covered_by_the_signature() {
    let stage = Stage::open().await;
    let (world, newcomer) = (&stage.world, Agent::new());
    let deal = Deal::new(world, &stage.a, &stage.b);
    let mut sent = 0;
    for good in [
        newcomer.registration(world),
        deal.request.clone(),
        deal.offer(),
    ] {
        let before = stage.look().await;
        for (name, body) in tampered(&good.json) {
            let answer = world.post(body).await;
            let code = answer.json()["code"].as_str().unwrap().to_owned();
            assert!(
                (400..500).contains(&answer.status),
                "{name}: {}",
                answer.text
            );
            assert!(
                NOT_AUTHENTIC.contains(&code.as_str()),
                "{name}: {}",
                answer.text
            );
            super::is_safe_answer(&name, &answer);
            sent += 1;
        }
        assert_eq!(stage.look().await, before);
        world.accept(&good).await;
    }
    assert!(sent > 250, "{sent} envelopes were tampered with");
}

#[tokio::test]
async fn ae_085_every_character_of_the_signature_counts() {
    let stage = Stage::open().await;
    let wire = stage.ping();
    let envelope: Value = serde_json::from_slice(&wire).unwrap();
    let signature = envelope["signature"].as_str().unwrap();
    let mut cases: Vec<Case> = Vec::new();
    let mut spoilt = |name: String, text: String| {
        let mut envelope = envelope.clone();
        envelope["signature"] = json!(text);
        cases.push(case(name, envelope.to_string(), UNSIGNED));
    };
    for place in 0..signature.len() {
        let mut text = signature.to_owned();
        let other = if &text[place..=place] == "A" {
            "B"
        } else {
            "A"
        };
        text.replace_range(place..=place, other);
        spoilt(format!("character {place}"), text);
    }
    spoilt("padding".to_owned(), format!("{signature}=="));
    spoilt("a blank".to_owned(), format!("{signature} "));
    spoilt("cut".to_owned(), signature[..85].to_owned());
    spoilt("empty".to_owned(), String::new());
    spoilt("the other alphabet".to_owned(), "+/".repeat(43));
    spoilt("zeros".to_owned(), "A".repeat(86));
    stage.refuse_unspent(cases).await;
    // The bits that the last character leaves over must be zero: one signature, one text.
    stage.world.post(wire).await.expect(202);
}

/// A good ping with one member set, or removed by `null` at the top, and signed as it is then.
fn resigned(stage: &Stage, name: &str, value: Value) -> Vec<u8> {
    let mut members = stage.ping_members();
    members[name] = value;
    sign_members(&members, &stage.a.key)
}

#[tokio::test]
async fn ax_046_members_that_are_signed_and_still_wrong() {
    const VERSION: (u16, &str) = (400, "X811-9003");
    let stage = Stage::open().await;
    let (a, b) = (stage.a.did.to_string(), stage.b.did.to_string());
    let stranger = Agent::new().did.to_string();
    let now = stage.world.clock.wall().to_rfc3339();
    let in_a_zone_without_name = now.trim_end_matches('Z').to_owned();
    let v4 = "a1b2c3d4-e5f6-4890-abcd-ef1234567890";
    let v7 = "019b76da-a800-7707-8707-070707070707";
    let long_type = format!("x811.ext/{}", "a".repeat(200));
    let table: Vec<(&str, Value, (u16, &'static str))> = vec![
        ("version", json!("1.0.0"), VERSION),
        ("version", json!("0.1"), VERSION),
        ("version", json!("0.1.0 "), VERSION),
        ("version", json!(""), VERSION),
        ("version", json!("9".repeat(10_000)), VERSION),
        ("version", json!(1), MALFORMED),
        ("version", json!(null), MALFORMED),
        ("type", json!("x811/cancel"), MALFORMED),
        ("type", json!("x811/heartbeat"), MALFORMED),
        ("type", json!("x811/REQUEST"), MALFORMED),
        ("type", json!("x811.ext/"), MALFORMED),
        ("type", json!("x811.ext/a\0b"), MALFORMED),
        ("type", json!(long_type), MALFORMED),
        ("type", json!(null), MALFORMED),
        ("id", json!(v4), MALFORMED),
        ("id", json!(v7.to_uppercase()), MALFORMED),
        ("id", json!(format!("{{{v7}}}")), MALFORMED),
        ("id", json!(v7.replace('-', "")), MALFORMED),
        (
            "id",
            json!("019b0000-0000-7000-8000-000000000000"),
            MALFORMED,
        ),
        ("id", json!(null), MALFORMED),
        ("from", json!(stranger), (404, "X811-1001")),
        ("from", json!(stage.world.ledger()), UNSIGNED),
        ("from", json!(a.to_uppercase()), MALFORMED),
        ("from", json!(a.replace("x811", "web")), MALFORMED),
        ("from", json!(null), MALFORMED),
        ("to", json!(a), MALFORMED),
        ("to", json!("did:x811:"), MALFORMED),
        ("to", json!(format!("{b} ")), MALFORMED),
        ("to", json!([b]), MALFORMED),
        ("to", json!(null), MALFORMED),
        ("created", json!(in_a_zone_without_name), UNTIMELY),
        ("created", json!("2026-13-01T00:00:00Z"), UNTIMELY),
        ("created", json!("2026-01-01"), UNTIMELY),
        ("created", json!("1970-01-01T00:00:00Z"), MALFORMED),
        ("created", json!(1_767_225_600_000_u64), MALFORMED),
        ("created", json!(null), MALFORMED),
        ("expires", json!(null), MALFORMED),
        ("expires", json!(""), UNTIMELY),
        ("expires", json!(now), UNTIMELY),
        ("nonce", json!(v7), MISSING),
        ("nonce", json!(v4.to_uppercase()), MISSING),
        ("nonce", json!(""), MISSING),
        ("nonce", json!(7), MISSING),
        ("nonce", json!(null), MISSING),
        ("payload", json!(null), MALFORMED),
        ("payload", json!([]), MALFORMED),
        ("payload", json!("{}"), MALFORMED),
    ];
    let cases = table
        .into_iter()
        .map(|(name, value, refused)| {
            let shown: String = value.to_string().chars().take(60).collect();
            let body = resigned(&stage, name, value);
            case(format!("{name} = {shown}"), body, refused)
        })
        .collect();
    stage.refuse_unspent(cases).await;
}

#[tokio::test]
async fn ax_021_unknown_members_are_signed_stored_and_delivered() {
    let stage = Stage::open().await;
    let mut members = stage.ping_members();
    members["signatura"] = json!("before it");
    members["signature\u{0}"] = json!("behind it");
    members["\u{1F600}"] = json!({ "signature": [null] });
    let wire = sign_members(&members, &stage.a.key);
    stage.world.post(wire.clone()).await.expect(202);
    let path = format!("/api/v1/messages/{}", stage.b.uuid());
    let inbox = stage.world.get(&path).await.text;
    assert!(inbox.contains(std::str::from_utf8(&wire).unwrap()));
}

#[tokio::test]
async fn ax_039_unknown_types_of_somebody_are_delivered_and_change_nothing() {
    let stage = Stage::open().await;
    let world = &stage.world;
    let deal = Deal::new(world, &stage.a, &stage.b);
    let opened = world.accept(&deal.request).await;
    let path = format!(
        "/api/v1/interactions/{}?min_position={}",
        deal.id(),
        opened["position"]
    );
    let before = world.get(&path).await.expect(200);
    for kind in ["x811.ext/cancel", "x811.registrar/update", "x811.0/0"] {
        let about = json!({ "request_id": deal.id(), "offer_id": deal.id() });
        let custom = stage.a.say(world, stage.b.did, kind, about);
        world.accept(&custom).await;
    }
    assert_eq!(world.get(&path).await.expect(200), before);
    assert_eq!(world.inbox(&stage.b).await.len(), 4);
}
