//! `x811.registry/rotate` (ledger-contract.md section 4).

use serde_json::json;
use x811_protocol::document::DidDocument;
use x811_protocol::key::{AgentKey, Profile, PublicKey, SecretKey};
use x811_protocol::payload::registry::{Rotation, rotation_message};
use x811_protocol::signature::Signature;

use super::*;

/// The secret keys of RFC 8032 section 7.1, TEST 1 and TEST 2: before and after.
const SEEDS: [&str; 2] = [
    "9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60",
    "4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb",
];

/// Their public keys in multibase, as the same Python package derives them.
const KEYS: [&str; 2] = [
    "z6MktwupdmLXVVqTzCw4i46r4uGyosGXRnR3XjN4Zq7oMMsw",
    "z6MkiaMbhXHNA4eJVCCj8dbzKzTgYDKf6crKgHVHid1F1WCT",
];

/// The lines of ledger-contract.md section 4, joined by LF, without a final one. The contract gives
/// the form; this vector of it is of our own making.
const TEXT: &str = "x811 key rotation v1\n\
    did:x811:019c8c61-8129-7511-9f31-aa5142e65448\n\
    did:x811:019c8c61-8129-7511-9f31-aa5142e65449\n\
    z6MktwupdmLXVVqTzCw4i46r4uGyosGXRnR3XjN4Zq7oMMsw\n\
    z6MkiaMbhXHNA4eJVCCj8dbzKzTgYDKf6crKgHVHid1F1WCT";

/// [`TEXT`] signed by the second key with the Python package cryptography 48.0.0 (OpenSSL).
const PROOF: &str =
    "rb7mWXH5YBK4c4dODAFEI--5U91MEbCs4UadX051QtTzrAOLQ8ZGBBL-IoxM_wQjaz7lxv-d_JvHmXQi4qD4Ag";

fn keys() -> [PublicKey; 2] {
    KEYS.map(|key| key.parse().unwrap())
}

fn secret(index: usize) -> SecretKey {
    let seed = hex::decode(SEEDS[index]).unwrap();
    SecretKey::from_seed(seed.try_into().unwrap())
}

fn payload(proof: &str) -> Value {
    let new_key = AgentKey {
        key: keys()[1],
        profile: Profile::Digest,
    };
    let document = DidDocument::build(did(INITIATOR), &[new_key], None);
    json!({"document": document, "new_key": KEYS[1], "proof": proof})
}

fn parse(from: &str, ledger: &str, old_key: PublicKey) -> Result<Rotation, Refusal> {
    let payload = payload(PROOF);
    let read = Rotation::parse(did(from), did(ledger), old_key, object(&payload));
    let asked = json!({ "from": from, "ledger": ledger, "old_key": old_key, "payload": payload });
    freeze::refusal("x811.registry/rotate", &asked, read.as_ref().err());
    read
}

#[test]
fn lc_4_the_rotation_text_is_these_bytes_and_this_signature() {
    let [old_key, new_key] = keys();
    assert_eq!((secret(0).public(), secret(1).public()), (old_key, new_key));
    let text = rotation_message(did(INITIATOR), did(LEDGER), old_key, new_key);
    assert_eq!((text.as_str(), text.len()), (TEXT, 210));
    let proof: Signature = PROOF.parse().unwrap();
    assert_eq!(secret(1).sign(text.as_bytes()), proof);
    assert!(new_key.verify(TEXT.as_bytes(), &proof));

    let rotation = parse(INITIATOR, LEDGER, old_key).unwrap();
    assert_eq!((rotation.old_key, rotation.proof), (old_key, proof));
    assert_eq!(rotation.new_key.key, new_key);
}

#[test]
fn lc_4_the_proof_is_for_one_agent_one_ledger_and_one_old_key() {
    let another = SecretKey::from_seed([7; 32]).public();
    for (ledger, old_key) in [(INITIATOR, keys()[0]), (LEDGER, another)] {
        let refusal = parse(INITIATOR, ledger, old_key).unwrap_err();
        assert_eq!(refusal.code, Code::DidDocumentInvalid, "{ledger}");
        assert!(refusal.message.contains("proof"), "{refusal}");
    }
    // Another agent's message brings another agent's document.
    let elsewhere = parse(LEDGER, LEDGER, keys()[0]).unwrap_err();
    assert_eq!(elsewhere.code, Code::DidDocumentInvalid);
    let by_old_key = secret(0).sign(TEXT.as_bytes()).to_string();
    let ends_in_lf = secret(1).sign(format!("{TEXT}\n").as_bytes()).to_string();
    for proof in [by_old_key, ends_in_lf] {
        let payload = payload(&proof);
        let read = Rotation::parse(did(INITIATOR), did(LEDGER), keys()[0], object(&payload));
        assert_eq!(read.unwrap_err().code, Code::DidDocumentInvalid);
    }
}
