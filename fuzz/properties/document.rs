//! What holds for every text that is read as a DID document (AE-92, AX-24).

use x811_protocol::canonical::to_canonical;
use x811_protocol::code::Code;
use x811_protocol::document::DidDocument;
use x811_protocol::json::{Limits, parse_strict};
use x811_protocol::key::{AgentKey, Profile, PublicKey};

/// Fails when one of the properties does not hold for `bytes`.
pub fn holds(bytes: &[u8]) {
    let Ok(value) = parse_strict(bytes, &Limits::default()) else {
        return;
    };
    let document = match DidDocument::parse(&value) {
        Ok(document) => document,
        Err(fault) => {
            assert!(matches!(
                fault.code(),
                Code::InvalidPublicKey | Code::DidDocumentInvalid
            ));
            assert!(!fault.to_string().is_empty());
            return;
        }
    };
    assert!((1..=DidDocument::MAX_KEYS).contains(&document.keys.len()));
    for key in &document.keys {
        assert_eq!(key.to_string().parse(), Ok(*key), "a key has one form");
        assert_eq!(PublicKey::from_bytes(key.as_bytes()), Ok(*key));
    }
    let keys: Vec<AgentKey> = document
        .keys
        .iter()
        .map(|key| AgentKey {
            key: *key,
            profile: Profile::Digest,
        })
        .collect();
    let built = DidDocument::build(document.id, &keys, None);
    let read = parse_strict(&to_canonical(&built), &Limits::default()).expect("it is JSON");
    assert_eq!(
        DidDocument::parse(&read),
        Ok(document),
        "our own form says the same"
    );
}
