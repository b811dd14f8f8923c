//! What holds for every value, every envelope and every flipped byte.

use proptest::collection::{btree_map, vec};
use proptest::prelude::*;
use serde_json::{Map, Number, Value};
use x811_protocol::canonical::to_canonical;
use x811_protocol::envelope::{
    EnvelopeRules, Header, ParsedEnvelope, SealedEnvelope, seal, verify, wire_json,
};
use x811_protocol::id::{EnvelopeId, Nonce};
use x811_protocol::json::{Limits, MAX_SAFE_INTEGER, parse_strict};
use x811_protocol::key::{Profile, SecretKey};
use x811_protocol::time::TimestampMs;

fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        "[a-z0-9]{0,8}",
        vec(any::<char>(), 0..6).prop_map(String::from_iter),
        vec((0_u32..0x80).prop_filter_map("ascii", char::from_u32), 0..6)
            .prop_map(String::from_iter),
    ]
}

fn number() -> impl Strategy<Value = Number> {
    let limit = MAX_SAFE_INTEGER as i64;
    let fraction = |value: f64| {
        (value.abs() <= MAX_SAFE_INTEGER as f64)
            .then(|| Number::from_f64(value))
            .flatten()
    };
    prop_oneof![
        (-limit..=limit).prop_map(Number::from),
        (-1000_i64..1000).prop_map(Number::from),
        any::<f64>().prop_filter_map("in range", fraction),
        (-1e6..1e6).prop_filter_map("in range", fraction),
    ]
}

fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::Bool),
        number().prop_map(Value::Number),
        text().prop_map(Value::String),
    ];
    leaf.prop_recursive(4, 40, 6, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..6).prop_map(Value::Array),
            object(inner).prop_map(Value::Object),
        ]
    })
}

fn object(member: impl Strategy<Value = Value>) -> impl Strategy<Value = Map<String, Value>> {
    btree_map(text(), member, 0..6).prop_map(Map::from_iter)
}

prop_compose! {
    fn sealed()(
        created in 0_u64..4_000_000_000_000,
        expires in proptest::option::of(0_u64..4_000_000_000_000),
        random in any::<[u8; 10]>(),
        nonce in any::<[u8; 16]>(),
        seed in any::<[u8; 32]>(),
        profile in prop_oneof![Just(Profile::Digest), Just(Profile::Direct)],
        message_type in prop_oneof![Just("x811/request"), Just("x811/error"), Just("x811.a.b/c-1")],
        payload in object(value()),
    ) -> SealedEnvelope {
        let header = Header {
            id: EnvelopeId::from_parts(created, &random),
            created_ms: TimestampMs::new(created),
            expires_ms: expires.map(TimestampMs::new),
            nonce: Nonce::from_random(nonce),
            ..super::header(message_type)
        };
        seal(header, payload, &SecretKey::from_seed(seed), profile)
    }
}

proptest! {
    #[test]
    fn ax_022_what_is_written_is_read_back_to_the_same_bytes(value in value()) {
        let canonical = to_canonical(&value);
        let read = parse_strict(&canonical, &Limits::default());
        prop_assert_eq!(read.map(|read| to_canonical(&read)), Ok(canonical));
    }

    /// serde_json is the second opinion: what we take, it takes, and understands alike.
    #[test]
    fn ax_022_no_reading_of_our_own(value in value(), edits in vec((any::<prop::sample::Index>(), any::<u8>()), 0..4)) {
        let mut bytes = serde_json::to_vec_pretty(&value).unwrap();
        for (index, byte) in edits {
            let at = index.index(bytes.len());
            bytes[at] = byte;
        }
        if let Ok(ours) = parse_strict(&bytes, &Limits::default()) {
            let theirs: Value = serde_json::from_slice(&bytes).unwrap();
            prop_assert_eq!(to_canonical(&ours), to_canonical(&theirs));
        }
    }

    #[test]
    fn ax_022_no_bytes_make_the_reader_panic(bytes in vec(any::<u8>(), 0..64)) {
        if let Ok(value) = parse_strict(&bytes, &Limits::default()) {
            prop_assert!(serde_json::from_slice::<Value>(&bytes).is_ok(), "{}", value);
        }
    }

    #[test]
    fn ae_084_sealed_parsed_verified_stored_and_read_again(sealed in sealed()) {
        let parsed = ParsedEnvelope::parse(&sealed.json, &EnvelopeRules::default()).unwrap();
        prop_assert_eq!(&parsed.header, &sealed.header);
        prop_assert_eq!(&parsed.body, &sealed.body);
        prop_assert_eq!(parsed.digest, sealed.digest);

        let verified = verify(parsed.clone(), &[sealed.key]).unwrap();
        let accepted = verified.accepted_header();
        prop_assert_eq!(&accepted, &sealed.accepted_header());
        prop_assert_eq!(accepted.verify_from_leaf(), sealed.key.profile == Profile::Digest);

        let stored = accepted.verify_with_body(&sealed.body);
        prop_assert_eq!(stored.map(|stored| stored.into_parsed()), Ok(parsed));
        prop_assert_eq!(wire_json(&sealed.body, &sealed.signature), sealed.json);
    }

    /// The wire form is canonical as a whole, wherever unknown members sort.
    #[test]
    fn ae_080_wire_json_is_canonical(mut members in object(value()), signature in any::<[u8; 32]>()) {
        members.remove("signature");
        for name in ["to", "type", "version"] {
            members.insert(name.to_owned(), Value::Null);
        }
        let signature = SecretKey::from_seed(signature).sign(b"");
        let wire = wire_json(&to_canonical(&members), &signature);
        members.insert("signature".to_owned(), signature.to_string().into());
        prop_assert_eq!(wire, to_canonical(&members));
    }

    /// The body is the canonical form of all members but the signature, however they were sent.
    #[test]
    fn ax_021_the_body_is_canonical_however_it_is_sent(
        sealed in sealed(),
        unknown in object(value()),
        is_spaced in any::<bool>(),
    ) {
        let limits = Limits::default();
        let Ok(Value::Object(mut members)) = parse_strict(&sealed.body, &limits) else {
            panic!("a body is an object");
        };
        for (name, value) in unknown {
            members.entry(name).or_insert(value);
        }
        members.remove("signature");
        let body = to_canonical(&members);
        let mut wire = wire_json(&body, &sealed.signature);
        if is_spaced {
            wire.insert(1, b' ');
        }
        // Numbers that are none of ours, and keys twice, are refused before.
        if let Ok(parsed) = ParsedEnvelope::parse(&wire, &EnvelopeRules::default()) {
            prop_assert_eq!(&*parsed.body, body);
        }
    }

    /// Promise 4, on the wire. A flip can leave the meaning alone (the letter case of an escape or
    /// of an exponent); then the canonical body is the signed one to the byte.
    #[test]
    fn ae_085_a_flipped_byte_of_an_envelope_is_found(
        sealed in sealed(),
        index in any::<prop::sample::Index>(),
        flip in 1_u8..=255,
    ) {
        let mut json = sealed.json.clone();
        let at = index.index(json.len());
        json[at] ^= flip;
        let read = ParsedEnvelope::parse(&json, &EnvelopeRules::default())
            .and_then(|parsed| verify(parsed, &[sealed.key]));
        if let Ok(verified) = read {
            prop_assert_eq!(verified.body(), &sealed.body);
            prop_assert_eq!(verified.signature(), sealed.signature);
            prop_assert!(flip == 0x20 && sealed.json[at].is_ascii_alphabetic());
        }
    }

    /// Promise 4, in the store: no exception at all.
    #[test]
    fn ae_085_a_flipped_byte_of_a_stored_body_is_found(
        sealed in sealed(),
        index in any::<prop::sample::Index>(),
        flip in 1_u8..=255,
    ) {
        let mut body = sealed.body.to_vec();
        let at = index.index(body.len());
        body[at] ^= flip;
        prop_assert!(sealed.accepted_header().verify_with_body(&body).is_err());
    }

    #[test]
    fn ax_026_times_are_written_and_read_back(ms in 0_u64..=253_402_207_200_999) {
        let moment = TimestampMs::new(ms);
        prop_assert_eq!(TimestampMs::parse_rfc3339(&moment.to_rfc3339()), Ok(moment));
    }
}
