//! Keys of other algorithms beside an Ed25519 key in a sender's DID document.

use serde_json::{Map, Value, json};
use x811_protocol::document::{DidDocument, DocumentError};
use x811_protocol::envelope::{Header, ParsedEnvelope, seal, verify};
use x811_protocol::key::{AgentKey, Profile, PublicKey, SecretKey};

const DID: &str = "did:x811:019c8c61-8129-7511-9f31-aa5142e65448";

/// A document with a P-256 key for authentication, before the Ed25519 keys if there are any.
fn document(ed25519: &[AgentKey]) -> Value {
    let mut document = DidDocument::build(DID.parse().unwrap(), ed25519, None);
    let p256 = json!({
        "id": format!("{DID}#p256"),
        "type": "Multikey",
        "controller": DID,
        "publicKeyMultibase": "zDnaerx9CtbPJ1q36T5Ln5wYt3MQYeGRG5ehnPAmxcf5mDZpv",
    });
    for (member, entry) in [
        ("authentication", p256["id"].clone()),
        ("verificationMethod", p256),
    ] {
        document[member].as_array_mut().unwrap().insert(0, entry);
    }
    document
}

fn digest_key(key: PublicKey) -> AgentKey {
    AgentKey {
        key,
        profile: Profile::Digest,
    }
}

/// Ed25519 is the one algorithm that counts (AX-24): others do no harm and sign nothing.
#[test]
fn ae_083_and_ax_024_keys_of_other_algorithms_are_passed_over() {
    let secret = SecretKey::from_seed([7; 32]);
    let own = digest_key(secret.public());
    let read = DidDocument::parse(&document(&[own])).unwrap();
    assert_eq!(read.keys, [own.key]);

    let header = Header {
        from: read.id,
        ..super::header("x811.ext/note")
    };
    let keys: Vec<AgentKey> = read.keys.into_iter().map(digest_key).collect();
    let sealed = seal(header, Map::new(), &secret, Profile::Digest);
    let parsed = ParsedEnvelope::from_body(&sealed.body, sealed.signature).unwrap();
    assert_eq!(verify(parsed, &keys).unwrap().key(), own);

    let alone = DidDocument::parse(&document(&[]));
    assert_eq!(alone, Err(DocumentError::NoKey));
}
