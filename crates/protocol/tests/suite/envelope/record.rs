//! What the record keeps of an envelope, and what an auditor proves from it.

use serde_json::{Value, json};
use x811_protocol::digest::Digest;
use x811_protocol::envelope::{
    AcceptedHeader, Header, ParsedEnvelope, SealedEnvelope, nonce_tag, seal, verify,
};
use x811_protocol::id::EnvelopeId;
use x811_protocol::key::{Profile, SecretKey};
use x811_protocol::time::TimestampMs;

use super::CREATED_MS;

fn sealed(profile: Profile) -> SealedEnvelope {
    let header = Header {
        expires_ms: Some(TimestampMs::new(CREATED_MS + 60_000)),
        ..super::header("x811.ext/note")
    };
    let payload = json!({"text": "hello"}).as_object().unwrap().clone();
    seal(header, payload, &SecretKey::from_seed([7; 32]), profile)
}

#[test]
fn rec_3_the_accepted_header_has_the_members_of_the_record() {
    let sealed = sealed(Profile::Digest);
    let accepted = sealed.accepted_header();
    let key = SecretKey::from_seed([7; 32]).public();
    let value = serde_json::to_value(&accepted).unwrap();
    assert_eq!(
        value,
        json!({
            "id": sealed.header.id,
            "type": "x811.ext/note",
            "version": "0.1.0",
            "from": "did:x811:019c8c61-8129-7511-9f31-aa5142e65448",
            "to": "did:x811:019c8c61-8129-7511-9f31-aa5142e65449",
            "created_ms": 1_767_225_600_000_u64,
            "expires_ms": 1_767_225_660_000_u64,
            "key": format!("did:x811:019c8c61-8129-7511-9f31-aa5142e65448#{key}"),
            "profile": "digest",
            "digest": Digest::of(&sealed.body),
            "signature": sealed.signature,
            "nonce_tag": nonce_tag(sealed.header.from, sealed.header.nonce),
            "size": sealed.body.len(),
        })
    );
    assert_eq!(
        serde_json::from_value::<AcceptedHeader>(value).unwrap(),
        accepted
    );

    let parsed = ParsedEnvelope::from_body(&sealed.body, sealed.signature).unwrap();
    assert_eq!(
        verify(parsed, &[sealed.key]).unwrap().accepted_header(),
        accepted
    );
}

#[test]
fn rec_1_an_accepted_header_has_no_null_and_no_unknown_member() {
    let value = serde_json::to_value(sealed(Profile::Digest).accepted_header()).unwrap();
    let read = |value: &Value| serde_json::from_value::<AcceptedHeader>(value.clone());

    let mut without = value.clone();
    without.as_object_mut().unwrap().remove("expires_ms");
    let header = read(&without).unwrap();
    assert_eq!(header.expires_ms, None);
    assert_eq!(serde_json::to_value(header).unwrap(), without);

    for (name, member) in [("expires_ms", Value::Null), ("surprise", json!(1))] {
        let mut bad = value.clone();
        bad[name] = member;
        assert!(read(&bad).is_err(), "{name}");
    }
}

/// SHA-256("did:x811:019c…448" 0x00 "a1b2…7890"), computed with coreutils.
#[test]
fn rec_3_the_nonce_tag_is_of_the_texts_with_a_zero_between() {
    let from = "did:x811:019c8c61-8129-7511-9f31-aa5142e65448"
        .parse()
        .unwrap();
    let nonce = "a1b2c3d4-e5f6-4890-abcd-ef1234567890".parse().unwrap();
    let tag = "df1a16d3df0096b9e68c127919bf3e6c472dd10d2676215bd094fda5d6b007d1";
    assert_eq!(nonce_tag(from, nonce).to_string(), tag);
}

#[test]
fn rec_3_profile_digest_verifies_from_the_leaf_and_direct_from_the_body() {
    for (profile, from_leaf) in [(Profile::Digest, true), (Profile::Direct, false)] {
        let sealed = sealed(profile);
        let accepted = sealed.accepted_header();
        assert_eq!(accepted.verify_from_leaf(), from_leaf);
        let verified = accepted.verify_with_body(&sealed.body).unwrap();
        assert_eq!(verified.header(), &sealed.header);
    }
}

/// Promise 4: a leaf that says anything else than the signed body is found out.
#[test]
fn rec_3_no_member_of_the_accepted_header_can_be_altered() {
    let other_did = json!("did:x811:019c8c61-8129-7511-9f31-aa5142e65450");
    let other_digest = json!(Digest::of(b"other"));
    let other_key = SecretKey::from_seed([8; 32]).public();
    for profile in [Profile::Digest, Profile::Direct] {
        let sealed = sealed(profile);
        let value = serde_json::to_value(sealed.accepted_header()).unwrap();
        let turned = if profile == Profile::Digest {
            "direct"
        } else {
            "digest"
        };
        for (name, member) in [
            ("id", json!(EnvelopeId::from_parts(0, &[0; 10]))),
            ("type", json!("x811/offer")),
            ("version", json!("0.1.1")),
            ("from", other_did.clone()),
            ("to", other_did.clone()),
            ("created_ms", json!(1)),
            ("expires_ms", json!(1)),
            ("key", json!(format!("{}#{other_key}", sealed.header.from))),
            (
                "key",
                json!(format!("{}#{}", sealed.header.to, sealed.key.key)),
            ),
            ("profile", json!(turned)),
            ("digest", other_digest.clone()),
            (
                "signature",
                json!(SecretKey::from_seed([7; 32]).sign(b"other")),
            ),
            ("nonce_tag", other_digest.clone()),
            ("size", json!(1)),
        ] {
            let mut altered = value.clone();
            altered[name] = member;
            let altered: AcceptedHeader = serde_json::from_value(altered).unwrap();
            assert!(altered.verify_with_body(&sealed.body).is_err(), "{name}");
            if ["from", "key", "digest", "signature", "profile"].contains(&name) {
                assert!(!altered.verify_from_leaf(), "{name}");
            }
        }
    }
}

#[test]
fn rec_3_a_stored_body_is_its_own_canonical_form() {
    let sealed = sealed(Profile::Digest);
    let body = std::str::from_utf8(&sealed.body).unwrap();
    for altered in [
        body.replacen('{', "{ ", 1),
        format!("{body}\n"),
        body.replace("hello", "\\u0068ello"),
        body.replace("hello", "hallo"),
        String::from_utf8(sealed.json.clone()).unwrap(),
        format!("{{\"envelope\":{body}}}"),
        String::new(),
    ] {
        let read = ParsedEnvelope::from_body(altered.as_bytes(), sealed.signature);
        assert!(
            read.and_then(|parsed| verify(parsed, &[sealed.key]))
                .is_err(),
            "{altered}"
        );
    }
}
