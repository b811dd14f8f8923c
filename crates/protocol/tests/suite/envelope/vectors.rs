//! Golden vectors of requirements part 13: bytes that others computed, and the traps in the
//! specification's own examples (`vectors/aeep-0.1.0-*.json`: section 8 of AEEP v0.1.0, unchanged).

use serde::Deserialize;
use serde_json::{Map, Value};
use x811_protocol::canonical::to_canonical;
use x811_protocol::digest::Digest;
use x811_protocol::envelope::{EnvelopeRules, Header, ParsedEnvelope, seal, verify, wire_json};
use x811_protocol::id::{EnvelopeId, Nonce};
use x811_protocol::json::{Limits, parse_strict};
use x811_protocol::key::{AgentKey, Profile, PublicKey, SecretKey};
use x811_protocol::signature::Signature;

const LENIENT: EnvelopeRules = EnvelopeRules {
    max_bytes: 1 << 20,
    lenient_ids: true,
    reference_sdk: false,
};

#[derive(Deserialize)]
struct Vector {
    public_key: String,
    secret_seed: Option<String>,
    multibase: Option<String>,
    body: String,
    digest: Option<Digest>,
    signatures: Signatures,
}

#[derive(Deserialize)]
struct Signatures {
    digest: Option<Signature>,
    direct: Option<Signature>,
}

impl Vector {
    fn load(index: usize) -> Vector {
        let text = include_str!("../../vectors/signatures.json");
        let mut vectors: Vec<Vector> = serde_json::from_str(text).unwrap();
        vectors.remove(index)
    }

    fn key(&self) -> PublicKey {
        PublicKey::from_bytes(&bytes(&self.public_key)).unwrap()
    }
}

fn bytes(hex_digits: &str) -> [u8; 32] {
    hex::decode(hex_digits).unwrap().try_into().unwrap()
}

fn object(text: &str) -> Map<String, Value> {
    let value = parse_strict(text.as_bytes(), &Limits::default()).unwrap();
    value.as_object().unwrap().clone()
}

fn canonical_digest(text: &str) -> String {
    Digest::of(&to_canonical(&object(text))).to_string()
}

/// Both profiles over the vector of part 13: the bytes, the digest, both signatures.
#[test]
fn ae_079_ae_080_ae_081_ae_082_and_ax_023_our_vector_in_both_profiles() {
    let vector = Vector::load(0);
    let secret = SecretKey::from_seed(bytes(vector.secret_seed.as_deref().unwrap()));
    assert_eq!(secret.public(), vector.key());
    assert_eq!(
        secret.public().to_string(),
        vector.multibase.clone().unwrap()
    );
    assert_eq!(Digest::of(vector.body.as_bytes()), vector.digest.unwrap());

    for (profile, other, signature) in [
        (
            Profile::Digest,
            Profile::Direct,
            vector.signatures.digest.unwrap(),
        ),
        (
            Profile::Direct,
            Profile::Digest,
            vector.signatures.direct.unwrap(),
        ),
    ] {
        let wire = wire_json(vector.body.as_bytes(), &signature);
        let parsed = ParsedEnvelope::parse(&wire, &LENIENT).unwrap();
        assert_eq!(&parsed.body[..], vector.body.as_bytes());
        assert_eq!(parsed.digest, vector.digest.unwrap());

        let key = AgentKey {
            key: vector.key(),
            profile,
        };
        let verified = verify(parsed.clone(), &[key]).unwrap();
        assert_eq!(verified.key(), key);
        // AX-23: the other profile is never tried silently.
        let refused = verify(
            parsed.clone(),
            &[AgentKey {
                profile: other,
                ..key
            }],
        );
        assert_eq!(refused.unwrap_err().code.as_str(), "X811-2003");

        let sealed = seal(parsed.header, parsed.payload, &secret, profile);
        assert_eq!(sealed.signature, signature);
        assert_eq!(sealed.body, parsed.body);
        assert_eq!(sealed.json, wire);
    }
}

#[test]
fn ae_079_our_vector_is_sealed_from_its_parts() {
    let vector = Vector::load(0);
    let members = object(&vector.body);
    let header = Header {
        id: EnvelopeId::lenient("0190a1b2-c3d4-7e5f-8901-234567890abc").unwrap(),
        nonce: "a1b2c3d4-e5f6-4890-abcd-ef1234567890".parse().unwrap(),
        ..super::header("x811/request")
    };
    let payload = members["payload"].as_object().unwrap().clone();
    let secret = SecretKey::from_seed(bytes(vector.secret_seed.as_deref().unwrap()));
    let sealed = seal(header, payload, &secret, Profile::Digest);
    assert_eq!(&sealed.body[..], vector.body.as_bytes());
    assert_eq!(sealed.signature, vector.signatures.digest.unwrap());
}

/// The published vector of v0.2.1 section 9.6 signs the canonical bytes, not their digest.
#[test]
fn ax_023_the_upstream_vector_verifies_by_profile_direct_only() {
    let vector = Vector::load(1);
    let body = vector.body.as_bytes();
    let signature = vector.signatures.direct.unwrap();
    assert_eq!(to_canonical(&object(&vector.body)), body);
    assert!(vector.key().verify(body, &signature));
    assert!(!vector.key().verify(Digest::of(body).as_bytes(), &signature));

    // As a message it is refused even with lenient ids: the nil UUID names no agent (AX-25).
    let refused = ParsedEnvelope::parse(&wire_json(body, &signature), &LENIENT).unwrap_err();
    assert_eq!(refused.code.as_str(), "X811-4001");
    assert!(refused.message.starts_with("`to`"), "{}", refused.message);
}

#[test]
fn ae_091_the_offer_hash_of_the_example_and_its_trap() {
    let offer = include_str!("../../vectors/aeep-0.1.0-offer.json");
    let right = "44d95c722d4080cf6df6bcbf636967a795c152be8776016fda86965349f8b2c5";
    assert_eq!(canonical_digest(offer), right);

    let corrected = offer.replace(
        "0x742d35Cc6634C0532925a3b844Bc9e7595f2bD18",
        "0x742D35CC6634C0532925a3B844Bc9E7595F2bD18",
    );
    let right_when_corrected = "8ebc1be1c28158c4e295023aa9dfbdf1e96ef9000c110c38fea7801df4e0ffbe";
    assert_eq!(canonical_digest(&corrected), right_when_corrected);

    // The specification's ACCEPT example carries the hash of nothing at all.
    let accept = object(include_str!("../../vectors/aeep-0.1.0-accept.json"));
    assert_ne!(accept["offer_hash"], right);
    assert_eq!(accept["offer_hash"], Digest::of(b"").to_string());
}

#[test]
fn ae_059_the_result_hash_of_the_example_and_its_trap() {
    let result = object(include_str!("../../vectors/aeep-0.1.0-result.json"));
    let right = "6a4e66853ecb9d0e5c024b930a629f8c524673cae37055c9171d4243a2820c9f";
    assert_eq!(
        Digest::of(result["content"].as_str().unwrap().as_bytes()).to_string(),
        right
    );

    // RESULT and VERIFY of the specification carry SHA3-256 of nothing.
    let verify = object(include_str!("../../vectors/aeep-0.1.0-verify.json"));
    assert_ne!(result["result_hash"], right);
    assert_eq!(result["result_hash"], verify["result_hash"]);
}

/// Shown there for "UUIDv4" fields, but its version nibble is 7.
#[test]
fn ax_025_the_example_nonce_is_no_uuid_v4() {
    let example = "a1b2c3d4-e5f6-7890-abcd-ef1234567890";
    assert!(example.parse::<Nonce>().is_err());
    assert_eq!(Nonce::lenient(example).unwrap().to_string(), example);
}
