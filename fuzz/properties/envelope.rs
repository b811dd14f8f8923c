//! What holds for every text that is read as an envelope (AE-69 to AE-85, AX-21, AX-22).

use x811_protocol::canonical::to_canonical;
use x811_protocol::digest::Digest;
use x811_protocol::envelope::{EnvelopeRules, ParsedEnvelope, verify, wire_json};
use x811_protocol::json::{Limits, MAX_SAFE_INTEGER, parse_strict};
use x811_protocol::key::{AgentKey, Profile, SecretKey};
use x811_protocol::refusal::Refusal;

/// Fails when one of the properties does not hold for `bytes`.
pub fn holds(bytes: &[u8]) {
    strict_json(bytes);
    for lenient_ids in [false, true] {
        let rules = EnvelopeRules {
            lenient_ids,
            ..EnvelopeRules::default()
        };
        match ParsedEnvelope::parse(bytes, &rules) {
            Ok(parsed) => {
                one_canonical_form(&parsed, &rules);
                signed_it_verifies(&parsed);
            }
            Err(refusal) => answers_in_words(&refusal),
        }
    }
}

/// What strict reading takes, an ordinary reader takes for the same value, and the canonical form
/// is its own canonical form.
fn strict_json(bytes: &[u8]) {
    let Ok(value) = parse_strict(bytes, &Limits::default()) else {
        return;
    };
    let canonical = to_canonical(&value);
    let again = parse_strict(&canonical, &Limits::bytes(usize::MAX)).expect("its own form is read");
    assert_eq!(again, value);
    assert_eq!(to_canonical(&again), canonical);
    if let Ok(ordinary) = serde_json::from_slice::<serde_json::Value>(bytes) {
        assert_eq!(to_canonical(&ordinary), canonical);
    }
}

/// The body is the canonical form of itself, and the envelope as delivered is the envelope.
fn one_canonical_form(parsed: &ParsedEnvelope, rules: &EnvelopeRules) {
    let body = &parsed.body;
    assert_eq!(parsed.digest, Digest::of(body));
    let value = parse_strict(body, &Limits::bytes(usize::MAX)).expect("a body is strict JSON");
    assert_eq!(to_canonical(&value), &body[..]);

    let wire = wire_json(body, &parsed.signature);
    let delivered = ParsedEnvelope::parse(&wire, rules).expect("what is delivered is read");
    assert_eq!(delivered, *parsed);
    let whole = parse_strict(&wire, &Limits::default()).expect("it is strict JSON");
    assert_eq!(
        to_canonical(&whole),
        wire,
        "delivered in canonical key order"
    );
    let stored = ParsedEnvelope::from_body(body, parsed.signature).expect("a stored body is read");
    assert_eq!(stored, *parsed);
}

/// Signed by a key that is known, it is verified, and its record proves itself.
fn signed_it_verifies(parsed: &ParsedEnvelope) {
    let secret = SecretKey::from_seed([7; 32]);
    for profile in [Profile::Digest, Profile::Direct] {
        let key = AgentKey {
            key: secret.public(),
            profile,
        };
        let mut signed = parsed.clone();
        signed.signature = match profile {
            Profile::Digest => secret.sign(signed.digest.as_bytes()),
            Profile::Direct => secret.sign(&signed.body),
        };
        let verified = verify(signed, &[key]).expect("the key signed it");
        let header = verified.accepted_header();
        assert!(header.created_ms.as_ms() <= MAX_SAFE_INTEGER);
        assert_eq!(header.verify_from_leaf(), profile == Profile::Digest);
        assert!(header.verify_with_body(&parsed.body).is_ok());

        let written = to_canonical(&header);
        let read = serde_json::from_slice(&written).expect("a record's envelope is read");
        assert_eq!(header, read);
        let unsigned = verify(parsed.clone(), &[key]);
        assert!(unsigned.is_err() || parsed.signature == verified.signature());
    }
}

/// A refusal is an answer: a client's fault, said in bounded and printable words.
fn answers_in_words(refusal: &Refusal) {
    assert!((400..500).contains(&refusal.http_status()), "{refusal:?}");
    let length = refusal.message.chars().count();
    assert!((10..=512).contains(&length), "{refusal:?}");
    assert!(
        !refusal.message.chars().any(char::is_control),
        "{refusal:?}"
    );
}
