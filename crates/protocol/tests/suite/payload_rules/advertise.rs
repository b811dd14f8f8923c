//! `x811.capability/advertise`: CC-63 to CC-72, CC-89 to CC-92.

use serde_json::{Value, json};
use x811_protocol::code::Code;
use x811_protocol::digest::Digest;
use x811_protocol::facts::{AdvertiseFacts, Availability, CapabilityFacts, Category, Facts};
use x811_protocol::refusal::Refusal;

use super::{INITIATOR, PROVIDER_ADDRESS, facts};

const ADVERTISE: &str = "x811.capability/advertise";

fn custom() -> Value {
    json!({
        "type": "com.example.translate",
        "category": "knowledge",
        "version": "0.9.0",
        "description": "translates texts",
        "parameters": {},
        "parameters_schema": {"type": "object"},
        "constraints": {"requests_per_minute": 5.0, "max_payload_bytes": 7, "region": "eu"},
        "availability": "degraded",
    })
}

fn descriptor() -> Value {
    json!({
        "agent_id": INITIATOR,
        "revision": 1,
        "min_version": "1.0.0",
        "max_version": "2.0.0",
        "deprecated_versions": [],
        "capabilities": [
            {
                "type": "tool.api",
                "category": "tool_access",
                "version": "1.0.0",
                "parameters": {},
                "constraints": {},
                "availability": "busy",
            },
            custom(),
        ],
    })
}

fn read(payload: &Value) -> Result<AdvertiseFacts, Refusal> {
    let facts = facts(ADVERTISE, payload)?;
    let Facts::Capability(CapabilityFacts::Advertise(advert)) = facts else {
        panic!("{facts:?}");
    };
    Ok(*advert)
}

/// How the descriptor with another value there is answered.
fn code(pointer: &str, value: Value) -> Code {
    let mut payload = descriptor();
    let (parent, name) = pointer.rsplit_once('/').unwrap();
    let parent = payload.pointer_mut(parent).unwrap();
    match parent.as_array_mut() {
        Some(array) => array[name.parse::<usize>().unwrap()] = value,
        None => parent[name] = value,
    }
    let refusal = read(&payload).unwrap_err();
    assert_eq!(refusal.http_status(), 400, "{refusal:?}");
    refusal.code
}

#[test]
fn cc_066_to_cc_072_a_descriptor_is_read_into_facts() {
    let payload = descriptor();
    let advert = read(&payload).unwrap();
    let hash = Digest::of(&x811_protocol::canonical::to_canonical(&payload));
    assert_eq!((advert.revision, advert.payload_hash), (1, hash));
    assert_eq!(advert.protocol.max.to_string(), "2.0.0");
    let [api, custom] = &advert.capabilities[..] else {
        panic!("two of them");
    };
    assert_eq!(api.capability, "tool.api");
    assert_eq!(
        (api.category, api.availability),
        (Category::ToolAccess, Availability::Busy)
    );
    assert_eq!((api.requests_per_minute, api.schema_hash), (None, None));
    assert_eq!(
        (custom.requests_per_minute, custom.max_payload_bytes),
        (Some(5), Some(7))
    );
    assert_eq!(
        custom.schema_hash,
        Some(Digest::of(br#"{"type":"object"}"#))
    );
    let facts = Facts::Capability(CapabilityFacts::Advertise(Box::new(advert)));
    let message_type = ADVERTISE.parse().unwrap();
    assert_eq!(
        Facts::from_value(&message_type, &facts.to_value()),
        Ok(facts)
    );
}

#[test]
fn cc_065_to_cc_072_each_member_must_be_there() {
    for member in descriptor().as_object().unwrap().keys() {
        let mut payload = descriptor();
        payload.as_object_mut().unwrap().remove(member);
        let refusal = read(&payload).unwrap_err();
        assert_eq!(refusal.code, Code::Schema, "{member}");
        assert!(
            refusal.message.contains(member.as_str()),
            "{member}: {refusal:?}"
        );
    }
    for member in custom().as_object().unwrap().keys() {
        let mut payload = descriptor();
        let capability = payload.pointer_mut("/capabilities/1").unwrap();
        capability.as_object_mut().unwrap().remove(member);
        let refusal = read(&payload).unwrap_err();
        assert_eq!(refusal.code, Code::Schema, "{member}: {refusal:?}");
    }
}

#[test]
fn cx_33_to_cx_35_what_a_descriptor_may_not_say() {
    for (pointer, value, expected) in [
        (
            "/agent_id",
            json!("did:x811:019c8c61-8129-7511-9f31-aa5142e65449"),
            Code::Schema,
        ),
        ("/agent_id", json!(PROVIDER_ADDRESS), Code::Schema),
        ("/revision", json!(0), Code::Schema),
        ("/revision", json!(1.5), Code::Schema),
        ("/min_version", json!("3.0.0"), Code::Schema),
        ("/min_version", json!("1.0"), Code::Schema),
        ("/deprecated_versions", json!(["3.0.0"]), Code::Schema),
        ("/deprecated_versions", json!([1]), Code::Schema),
        ("/capabilities", json!({}), Code::Schema),
        ("/capabilities/0", json!("tool.api"), Code::Schema),
        ("/capabilities/1", json!("tool.api"), Code::Schema),
        (
            "/capabilities/0/type",
            json!("com.example.translate"),
            Code::Schema,
        ),
        ("/capabilities/0/type", json!("tool.other"), Code::Schema),
        ("/capabilities/0/category", json!("compute"), Code::Schema),
        (
            "/capabilities/0/category",
            json!("magic"),
            Code::UnknownValue,
        ),
        (
            "/capabilities/0/availability",
            json!("sometimes"),
            Code::UnknownValue,
        ),
        ("/capabilities/0/availability", json!(1), Code::Schema),
        ("/capabilities/0/min_version", json!("1.0.0"), Code::Schema),
        (
            "/capabilities/0/deprecated_versions",
            json!([]),
            Code::Schema,
        ),
        ("/capabilities/0/parameters", json!([]), Code::Schema),
        (
            "/capabilities/1/constraints/requests_per_minute",
            json!(0),
            Code::Schema,
        ),
        (
            "/capabilities/1/parameters_schema",
            json!({"$ref": "#"}),
            Code::Schema,
        ),
        (
            "/capabilities/1/parameters_schema",
            json!(true),
            Code::Schema,
        ),
    ] {
        assert_eq!(code(pointer, value.clone()), expected, "{pointer} {value}");
    }
}

/// What is refused of a body is refused of a record too: a ledger cannot write it either.
#[test]
fn cc_066_recorded_facts_are_held_to_the_same() {
    let message_type = ADVERTISE.parse().unwrap();
    let good = facts(ADVERTISE, &descriptor()).unwrap().to_value();
    for (pointer, value) in [
        ("/revision", json!(0)),
        ("/protocol/min", json!("3.0.0")),
        ("/capabilities/0/category", json!("compute")),
        ("/capabilities/0/type", json!("com.example.other")),
        ("/capabilities/1/requests_per_minute", json!(0)),
        ("/capabilities/1/version", json!("1")),
    ] {
        let mut bad = good.clone();
        *bad.pointer_mut(pointer).unwrap() = value;
        assert!(Facts::from_value(&message_type, &bad).is_err(), "{pointer}");
    }
}

/// What somebody else pays for: adverts that are long or deep where this is free of charge.
#[test]
fn cc_092_what_is_too_long_or_too_deep_is_refused() {
    let mut nested = json!({"type": "object"});
    for _ in 0..8 {
        nested = json!({"type": "object", "properties": {"inner": nested}});
    }
    let long = json!({"type": "string", "description": "a".repeat(16_384)});
    for schema in [nested, long] {
        let pointer = "/capabilities/1/parameters_schema";
        assert_eq!(code(pointer, schema), Code::Schema);
    }
    let versions: Vec<String> = (0..17).map(|patch| format!("1.0.{patch}")).collect();
    assert_eq!(code("/deprecated_versions", json!(versions)), Code::Schema);
    let kind = format!("com.example.{}", "a".repeat(117));
    assert_eq!(code("/capabilities/1/type", json!(kind)), Code::Schema);
    let many: Vec<Value> = (0..65)
        .map(|number| {
            let mut one = custom();
            one["type"] = json!(format!("com.example.number-{number}"));
            one
        })
        .collect();
    assert_eq!(code("/capabilities", json!(many)), Code::Schema);
}
