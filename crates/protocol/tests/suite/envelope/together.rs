//! Envelopes whose signatures are checked together.

use serde_json::{Map, json};
use x811_protocol::envelope::{
    Header, ParsedEnvelope, Unverified, VerifiedEnvelope, seal, verify, verify_together,
};
use x811_protocol::id::{EnvelopeId, Nonce};
use x811_protocol::key::{AgentKey, FEWEST_TOGETHER, Profile, SecretKey, WholeKeys};

use super::CREATED_MS;

/// Every third is signed over the body itself, as the `direct` profile has it.
fn envelope(number: u8) -> Unverified {
    let secret = SecretKey::from_seed([number % 7; 32]);
    let profile = match number % 3 {
        0 => Profile::Direct,
        _ => Profile::Digest,
    };
    let header = Header {
        id: EnvelopeId::from_parts(CREATED_MS, &[number; 10]),
        nonce: Nonce::from_random([number; 16]),
        ..super::header("x811.ext/note")
    };
    let payload = Map::from_iter([("number".to_owned(), json!(number))]);
    let sealed = seal(header, payload, &secret, profile);
    Unverified {
        parsed: ParsedEnvelope::from_body(&sealed.body, sealed.signature).unwrap(),
        key: AgentKey {
            key: secret.public(),
            profile,
        },
    }
}

fn envelopes() -> Vec<Unverified> {
    let count = u8::try_from(FEWEST_TOGETHER).unwrap() + 9;
    (0..count).map(envelope).collect()
}

fn boxed<T: Clone>(all: &[T]) -> Vec<Box<T>> {
    all.iter().cloned().map(Box::new).collect()
}

fn alone(envelope: &Unverified) -> Option<VerifiedEnvelope> {
    verify(envelope.parsed.clone(), &[envelope.key]).ok()
}

#[test]
fn ae_084_together_they_are_what_they_are_alone() {
    let envelopes = envelopes();
    let expected: Vec<_> = envelopes.iter().filter_map(alone).collect();
    assert_eq!(expected.len(), envelopes.len());
    let mut whole = WholeKeys::default();
    for _ in 0..2 {
        let verified = verify_together(boxed(&envelopes), &mut whole);
        assert_eq!(verified.as_ref(), Ok(&expected));
    }
    assert_eq!(verify_together(Vec::new(), &mut whole), Ok(Vec::new()));
}

/// A key of somebody else, the other profile, a changed body: each fails all of them, and they come
/// back as they were.
#[test]
fn ae_095_one_that_is_not_signed_gives_all_of_them_back() {
    let stranger = envelope(1).key.key;
    let spoil: [fn(&mut Unverified, _); 3] = [
        |one, stranger| one.key.key = stranger,
        |one, _| one.key.profile = Profile::Digest,
        |one, _| {
            one.parsed.digest = x811_protocol::digest::Digest::of(b"");
            one.parsed.body = (*b"{}").into();
        },
    ];
    for spoil in spoil {
        let mut envelopes = envelopes();
        spoil(&mut envelopes[30], stranger);
        assert_eq!(alone(&envelopes[30]), None);
        let back = verify_together(boxed(&envelopes), &mut WholeKeys::default()).unwrap_err();
        assert_eq!(back, boxed(&envelopes));
    }
}
