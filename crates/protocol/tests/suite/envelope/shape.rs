//! What an envelope may look like: every member, every limit, every code.

use serde_json::{Value, json};
use x811_protocol::canonical::to_canonical;
use x811_protocol::envelope::{
    EnvelopeRules, Header, ParsedEnvelope, check_times, seal, verify, wire_json,
};
use x811_protocol::id::EnvelopeId;
use x811_protocol::key::{AgentKey, Profile, SecretKey};
use x811_protocol::refusal::Refusal;
use x811_protocol::time::TimestampMs;

use super::CREATED_MS;

const SIGNATURE: &str =
    "bh5WLUh1SKKd7E-un534XhRwGs0s_qRPxQlT-Tz7NKwRuqjWdfbMbwEk5bjySXk36rk8rYJBMcM1YZk6c9lmAw";

fn header() -> Header {
    super::header("x811/request")
}

/// A well-formed envelope; its signature is by nobody.
fn envelope() -> Value {
    let header = header();
    json!({
        "id": header.id,
        "version": header.version,
        "type": header.message_type,
        "from": header.from,
        "to": header.to,
        "created": "2026-01-01T00:00:00.000Z",
        "nonce": header.nonce,
        "payload": {"a": 1},
        "signature": SIGNATURE,
    })
}

fn parse(value: &Value) -> Result<ParsedEnvelope, Refusal> {
    parse_text(&value.to_string())
}

fn parse_text(text: &str) -> Result<ParsedEnvelope, Refusal> {
    ParsedEnvelope::parse(text.as_bytes(), &EnvelopeRules::default())
}

fn answer(refusal: &Refusal) -> (&'static str, u16) {
    (refusal.code.as_str(), refusal.http_status())
}

#[test]
fn ae_068_bare_and_wrapped_envelopes_are_the_same() {
    let bare = parse(&envelope()).unwrap();
    assert_eq!(bare.header, header());
    assert_eq!(bare.payload, *json!({"a": 1}).as_object().unwrap());
    assert_eq!(parse(&json!({"envelope": envelope()})), Ok(bare.clone()));
    // With a member beside it, `envelope` is an unknown member and not a wrapper.
    let mut odd = envelope();
    odd["envelope"] = json!({});
    assert_ne!(parse(&odd).unwrap().body, bare.body);
    for bad in [
        json!([envelope()]),
        json!({"envelope": [envelope()]}),
        json!("x"),
        json!({}),
    ] {
        assert!(parse(&bad).is_err(), "{bad}");
    }
}

#[test]
fn ax_046_an_absent_member_has_its_code() {
    for (requirement, name, code, status) in [
        ("AE-69", "version", "X811-4001", 400),
        ("AE-70", "id", "X811-4001", 400),
        ("AE-71", "type", "X811-4001", 400),
        ("AE-72", "from", "X811-2004", 401),
        ("AE-73", "to", "X811-4001", 400),
        ("AE-74", "created", "X811-4001", 400),
        ("AE-76", "nonce", "X811-2004", 401),
        ("AE-77", "payload", "X811-4001", 400),
        ("AE-78", "signature", "X811-2004", 401),
    ] {
        let mut value = envelope();
        value.as_object_mut().unwrap().remove(name);
        let refusal = parse(&value).unwrap_err();
        assert_eq!(answer(&refusal), (code, status), "{requirement}: {name}");
        assert!(
            refusal.message.contains(&format!("`{name}`")),
            "{requirement}: {}",
            refusal.message
        );
    }
}

#[test]
fn ax_046_a_malformed_member_has_its_code() {
    let same = envelope()["from"].clone();
    let (shape, signature) = (("X811-4001", 400), ("X811-2003", 401));
    let (time, credential, version) = (("X811-2002", 401), ("X811-2004", 401), ("X811-9003", 400));
    for (name, value, expected) in [
        ("version", json!("1.0.0"), version),
        ("version", json!("0.1"), version),
        ("version", json!(0.1), shape),
        ("id", json!("a1b2c3d4-e5f6-4890-abcd-ef1234567890"), shape),
        ("id", json!("0190A1B2-C3D4-7E5F-8901-234567890ABC"), shape),
        ("id", json!(null), shape),
        // A UUIDv7 of another day (ledger-contract.md section 3).
        ("id", json!("0190a1b2-c3d4-7e5f-8901-234567890abc"), shape),
        ("type", json!("x811/cancel"), shape),
        ("type", json!(1), shape),
        (
            "from",
            json!("did:x811:019C8C61-8129-7511-9f31-aa5142e65448"),
            shape,
        ),
        ("from", json!(null), shape),
        ("to", json!("did:web:example.com"), shape),
        ("to", same, shape),
        (
            "nonce",
            json!("a1b2c3d4-e5f6-7890-abcd-ef1234567890"),
            credential,
        ),
        (
            "nonce",
            json!("A1B2C3D4-E5F6-4890-ABCD-EF1234567890"),
            credential,
        ),
        ("nonce", json!(7), credential),
        ("created", json!("2026-01-01T00:00:00"), time),
        ("created", json!("2026-01-01"), time),
        ("created", json!(CREATED_MS), shape),
        ("expires", json!("tomorrow"), time),
        ("expires", json!(null), shape),
        ("payload", json!([]), shape),
        ("payload", json!(null), shape),
        ("signature", json!(null), shape),
        ("signature", json!(""), signature),
        ("signature", json!(format!("{SIGNATURE}==")), signature),
    ] {
        let mut altered = envelope();
        altered[name] = value.clone();
        let refusal = parse(&altered).unwrap_err();
        assert_eq!(
            answer(&refusal),
            expected,
            "{name} = {value}: {}",
            refusal.message
        );
    }
}

#[test]
fn ae_071_type_is_a_core_type_or_one_in_a_namespace() {
    for (name, fits) in [
        ("x811/request", true),
        ("x811/error", true),
        ("x811.ext/counter-offer", true),
        ("x811.a.b-1/c.d", true),
        ("x811/cancel", false),
        ("x811/Request", false),
        ("x811.ext", false),
        ("acme/request", false),
        ("", false),
    ] {
        let mut value = envelope();
        value["type"] = json!(name);
        match parse(&value) {
            Ok(parsed) => {
                assert!(fits, "{name}");
                assert_eq!(parsed.header.message_type.as_str(), name);
            }
            Err(refusal) => {
                assert!(!fits, "{name}: {}", refusal.message);
                assert_eq!(answer(&refusal), ("X811-4001", 400), "{name}");
            }
        }
    }
}

#[test]
fn ae_073_to_names_another_agent() {
    for value in [
        json!("did:web:example.com"),
        json!("019c8c61-8129-7511-9f31-aa5142e65449"),
        json!("did:x811:019C8C61-8129-7511-9F31-AA5142E65449"),
        json!("did:x811:00000000-0000-0000-0000-000000000000"),
        json!(["did:x811:019c8c61-8129-7511-9f31-aa5142e65449"]),
        json!(header().from),
    ] {
        let mut altered = envelope();
        altered["to"] = value.clone();
        let refusal = parse(&altered).unwrap_err();
        assert_eq!(answer(&refusal), ("X811-4001", 400), "{value}");
        assert!(refusal.message.contains("`to`"), "{}", refusal.message);
    }
    assert_eq!(parse(&envelope()).unwrap().header.to, header().to);
}

#[test]
fn ae_074_and_ax_026_created_is_a_moment_with_its_offset() {
    for (text, expected_ms) in [
        ("2026-01-01T00:00:00Z", Some(CREATED_MS)),
        ("2026-01-01T00:00:00.250Z", Some(CREATED_MS + 250)),
        ("2026-01-01T01:00:00.000+01:00", Some(CREATED_MS)),
        ("2026-01-01T00:00:00", None),
        ("2026-01-01", None),
        ("2026-02-30T00:00:00Z", None),
        ("1767225600", None),
    ] {
        let mut value = envelope();
        value["created"] = json!(text);
        match parse(&value) {
            Ok(parsed) => {
                let found_ms = parsed.header.created_ms.as_ms();
                assert_eq!(Some(found_ms), expected_ms, "{text}");
            }
            Err(refusal) => {
                assert_eq!(expected_ms, None, "{text}: {}", refusal.message);
                assert_eq!(answer(&refusal), ("X811-2002", 401), "{text}");
            }
        }
    }
}

#[test]
fn ae_069_the_version_is_there_and_a_semantic_one() {
    let with = |version: Value| {
        let mut value = envelope();
        value["version"] = version;
        parse(&value)
    };
    assert_eq!(with(json!("0.1.0")).unwrap().header, header());
    for version in ["0.1", "0.1.0.0", "v0.1.0", "", "1.0.0"] {
        let refusal = with(json!(version)).unwrap_err();
        assert_eq!(answer(&refusal), ("X811-9003", 400), "{version}");
    }
    let mut without = envelope();
    without.as_object_mut().unwrap().remove("version");
    assert_eq!(answer(&parse(&without).unwrap_err()), ("X811-4001", 400));
}

#[test]
fn ax_028_the_version_is_judged_before_the_rest() {
    let refusal = parse(&json!({"version": "1.0.0", "id": "?"})).unwrap_err();
    assert_eq!(answer(&refusal), ("X811-9003", 400));
    // From the id on, a refusal says which envelope it is about.
    let mut value = envelope();
    value["to"] = json!("?");
    assert_eq!(parse(&value).unwrap_err().related, Some(header().id));
}

#[test]
fn ax_025_lenient_ids_lift_versions_and_the_time_inside_the_id() {
    let lenient = EnvelopeRules {
        lenient_ids: true,
        ..EnvelopeRules::default()
    };
    for (name, value) in [
        ("id", "a1b2c3d4-e5f6-4890-abcd-ef1234567890"),
        ("id", "0190a1b2-c3d4-7e5f-8901-234567890abc"),
        ("nonce", "a1b2c3d4-e5f6-7890-abcd-ef1234567890"),
    ] {
        let mut altered = envelope();
        altered[name] = json!(value);
        assert!(parse(&altered).is_err(), "{name}");
        let text = altered.to_string();
        assert!(
            ParsedEnvelope::parse(text.as_bytes(), &lenient).is_ok(),
            "{name}"
        );
    }
}

#[test]
fn ae_070_the_id_is_made_within_5_minutes_of_created() {
    for (offset_ms, fits) in [
        (-300_001, false),
        (-300_000, true),
        (300_000, true),
        (300_001, false),
    ] {
        let mut value = envelope();
        let id_ms = CREATED_MS.saturating_add_signed(offset_ms);
        value["id"] = json!(EnvelopeId::from_parts(id_ms, &[1; 10]));
        assert_eq!(parse(&value).is_ok(), fits, "{offset_ms}");
    }
}

#[test]
fn ax_022_ambiguous_json_is_refused_before_the_signature() {
    let text = envelope().to_string();
    for (from, to) in [
        (r#""a":1"#, r#""a":1,"a":1"#),
        (r#""a":1"#, r#""a":1,"\u0061":1"#),
        (r#""a":1"#, r#""a":"\ud800""#),
        (r#""a":1"#, r#""a":9007199254740992"#),
        (r#""a":1"#, r#""a":9007199254740993.0"#),
        (r#""a":1"#, r#""a":1e21"#),
        (
            r#""version":"0.1.0""#,
            r#""version":"0.1.0","version":"0.1.0""#,
        ),
    ] {
        assert!(text.contains(from));
        let refusal = parse_text(&text.replace(from, to)).unwrap_err();
        assert_eq!(answer(&refusal), ("X811-4001", 400), "{to}");
    }
}

#[test]
fn ae_089_created_within_300_s_of_the_clock() {
    for (offset_ms, fits) in [
        (-300_001, false),
        (-300_000, true),
        (0, true),
        (300_000, true),
        (300_001, false),
    ] {
        let now = TimestampMs::new(CREATED_MS.saturating_add_signed(offset_ms));
        let checked = check_times(&header(), now, 300_000);
        assert_eq!(checked.is_ok(), fits, "{offset_ms}");
        if let Err(refusal) = checked {
            assert_eq!(answer(&refusal), ("X811-2002", 401));
            assert_eq!(refusal.related, Some(header().id));
        }
    }
}

#[test]
fn ae_075_and_ax_021_expires_is_after_now_and_not_before_created() {
    let ms = |offset: i64| TimestampMs::new(CREATED_MS.saturating_add_signed(offset));
    for (expires, now, fits) in [
        (1, 0, true),
        (0, 0, false),
        (-1, 0, false),
        (0, -1, true),
        (-1, -2, false),
        (1_000_000, 300_000, true),
    ] {
        let header = Header {
            expires_ms: Some(ms(expires)),
            ..header()
        };
        let checked = check_times(&header, ms(now), 300_000);
        assert_eq!(checked.is_ok(), fits, "expires {expires}, now {now}");
        if let Err(refusal) = checked {
            assert_eq!(answer(&refusal), ("X811-2002", 401));
        }
    }
}

#[test]
fn ax_021_unknown_members_are_signed_and_kept() {
    let key = SecretKey::from_seed([7; 32]);
    let agent_key = AgentKey {
        key: key.public(),
        profile: Profile::Digest,
    };
    let mut value = envelope();
    // Around `signature` in the canonical order, and with what needs an escape.
    for name in [
        "",
        "\"",
        "s\"",
        "signaturd",
        "signature\u{0}",
        "signaturf",
        "é",
        "😀",
        "\u{1}",
    ] {
        value[name] = json!({"signature": ["}", "\\\"", {"z": null}]});
    }
    value.as_object_mut().unwrap().remove("signature");
    let body = to_canonical(&value);
    let signature = key.sign(x811_protocol::digest::Digest::of(&body).as_bytes());

    let wire = wire_json(&body, &signature);
    value["signature"] = json!(signature);
    assert_eq!(
        String::from_utf8(wire.clone()),
        String::from_utf8(to_canonical(&value))
    );

    let parsed = ParsedEnvelope::parse(&wire, &EnvelopeRules::default()).unwrap();
    assert_eq!(&parsed.body[..], &body[..]);
    assert!(verify(parsed, &[agent_key]).is_ok());
    value["é"] = json!(1);
    let altered = parse(&value).unwrap();
    assert_eq!(
        answer(&verify(altered, &[agent_key]).unwrap_err()),
        ("X811-2003", 401)
    );
}

/// Absent is not `null`: the first is not in the signable object, the second is refused.
#[test]
fn ax_021_absent_expires_is_not_signed() {
    let sealed = seal(
        header(),
        serde_json::Map::new(),
        &SecretKey::from_seed([7; 32]),
        Profile::Digest,
    );
    assert!(!String::from_utf8_lossy(&sealed.body).contains("expires"));
    let header = Header {
        expires_ms: Some(TimestampMs::new(CREATED_MS + 1)),
        ..header()
    };
    let sealed = seal(
        header.clone(),
        serde_json::Map::new(),
        &SecretKey::from_seed([7; 32]),
        Profile::Digest,
    );
    assert_eq!(
        parse_text(std::str::from_utf8(&sealed.json).unwrap())
            .unwrap()
            .header,
        header
    );
}

#[test]
fn ax_024_every_key_is_tried_up_to_8() {
    let keys: Vec<SecretKey> = (1..=9)
        .map(|seed| SecretKey::from_seed([seed; 32]))
        .collect();
    let agent_keys: Vec<AgentKey> = keys
        .iter()
        .map(|key| AgentKey {
            key: key.public(),
            profile: Profile::Digest,
        })
        .collect();
    for (index, key) in keys.iter().enumerate() {
        let sealed = seal(header(), serde_json::Map::new(), key, Profile::Digest);
        let parsed = ParsedEnvelope::from_body(&sealed.body, sealed.signature).unwrap();
        let verified = verify(parsed.clone(), &agent_keys);
        assert_eq!(verified.is_ok(), index < 8, "{index}");
        assert!(verify(parsed, &[]).is_err());
    }
}

/// An envelope whose canonical form has exactly this many bytes.
fn of_size(size: usize) -> String {
    let mut value = envelope();
    value["payload"]["a"] = json!("");
    let padding = size - value.to_string().len();
    value["payload"]["a"] = json!("x".repeat(padding));
    value.to_string()
}

#[test]
fn ax_041_an_envelope_has_at_most_1_mib() {
    assert!(parse_text(&of_size(1 << 20)).is_ok());
    let refusal = parse_text(&of_size((1 << 20) + 1)).unwrap_err();
    assert_eq!(answer(&refusal), ("X811-6002", 413));

    // What is stored and delivered is the canonical form, and it is the longer one here.
    let mut value = envelope();
    value["payload"]["a"] = json!([]);
    let numbers = vec!["1e15"; 100_000].join(",");
    let text = value.to_string().replace("[]", &format!("[{numbers}]"));
    assert!(text.len() < 1 << 20);
    assert_eq!(answer(&parse_text(&text).unwrap_err()), ("X811-6002", 413));
}

#[test]
fn ax_022_an_envelope_is_nested_at_most_128_deep() {
    let of_depth = |depth: usize| {
        // The envelope and its payload are the first two levels.
        let nested = "[".repeat(depth - 2) + &"]".repeat(depth - 2);
        envelope()
            .to_string()
            .replace(r#"{"a":1}"#, &format!(r#"{{"a":{nested}}}"#))
    };
    let parsed = parse_text(&of_depth(128)).unwrap();
    assert!(ParsedEnvelope::from_body(&parsed.body, parsed.signature).is_ok());
    let refusal = parse_text(&of_depth(129)).unwrap_err();
    assert_eq!(answer(&refusal), ("X811-4001", 400));
}
