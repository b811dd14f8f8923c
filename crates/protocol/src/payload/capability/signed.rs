//! What both parties signed, read from a file that knows nothing of a ledger: a JWS in its general JSON
//! serialisation (RFC 7515 section 7.2.1), as capability.md has it.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::{Map, Value};

use super::super::member::Members;
use super::session;
use crate::canonical::members_to_canonical;
use crate::facts::{SessionAgree, malformed};
use crate::json::{Limits, parse_strict};
use crate::key::KeyId;
use crate::refusal::Refusal;

/// The longest file that is read: more than two signatures over the longest body take.
pub const MAX_JWS_BYTES: usize = 1 << 18;

/// An agreement that both of its parties signed.
#[derive(Debug, Clone, PartialEq)]
pub struct SignedAgreement {
    /// The object that they signed.
    pub agreement: Map<String, Value>,
    /// What of it decides.
    pub facts: SessionAgree,
    /// By which keys, in the order of the signatures. That a key is its DID's is proven by the ledger's log
    /// alone.
    pub keys: [KeyId; 2],
}

/// Reads such a file and checks both signatures.
///
/// Two signatures prove consent. That the agreement came into force is proven by its `agreed` in the
/// ledger's log alone.
///
/// # Errors
/// CCN-1001 for any other form than the one that a ledger renders, CCN-2001 for a signature that does not
/// hold, or that is by somebody else.
pub fn signed_agreement(text: &[u8]) -> Result<SignedAgreement, Refusal> {
    read(text).map_err(super::super::in_own_words)
}

fn read(text: &[u8]) -> Result<SignedAgreement, Refusal> {
    let value = parse_strict(text, &Limits::bytes(MAX_JWS_BYTES))
        .map_err(|error| malformed(format!("the JWS is no JSON that is read: {error}")))?;
    let Value::Object(whole) = value else {
        return Err(malformed("a JWS in its general form is a JSON object"));
    };
    only(&whole, &["payload", "signatures"])?;
    let members = Members::new("the JWS", &whole);
    let agreement = payload(members.string("payload")?)?;
    let signatures = whole.get("signatures").and_then(Value::as_array);
    let Some([first, second]) = signatures.map(Vec::as_slice) else {
        return Err(malformed(
            "an agreement has exactly two signatures, one of each party",
        ));
    };
    let (first, second) = (by(&agreement, first)?, by(&agreement, second)?);
    let signers = [first.kid.did, second.kid.did];
    let parties = [first.consumer, first.provider];
    if signers[0] == signers[1] || !signers.iter().all(|signer| parties.contains(signer)) {
        return Err(session::not_signed(
            "the signatures are not one of the consumer and one of the provider",
        ));
    }
    Ok(SignedAgreement {
        agreement,
        keys: [first.kid, second.kid],
        facts: first,
    })
}

/// The object that was signed; its bytes are its RFC 8785 form, so that they have one reading.
fn payload(text: &str) -> Result<Map<String, Value>, Refusal> {
    let not_canonical =
        || malformed("payload is not the base64url, without padding, of an RFC 8785 object");
    let bytes = URL_SAFE_NO_PAD.decode(text).map_err(|_| not_canonical())?;
    let value = parse_strict(&bytes, &Limits::bytes(MAX_JWS_BYTES)).map_err(|_| not_canonical())?;
    let Value::Object(members) = value else {
        return Err(not_canonical());
    };
    if members_to_canonical(&members) != bytes {
        return Err(not_canonical());
    }
    Ok(members)
}

/// One signature under it, read as the `agree` that carried it.
fn by(agreement: &Map<String, Value>, signature: &Value) -> Result<SessionAgree, Refusal> {
    let Value::Object(signature) = signature else {
        return Err(malformed("a signature is a JSON object"));
    };
    only(signature, &["protected", "signature"])?;
    let mut agree = signature.clone();
    agree.insert("agreement".to_owned(), Value::Object(agreement.clone()));
    session::agree(&agree, None)
}

/// Whatever else stood there would be understood by some readers, and not by others.
fn only(object: &Map<String, Value>, names: &[&str]) -> Result<(), Refusal> {
    if object.keys().all(|name| names.contains(&name.as_str())) {
        return Ok(());
    }
    Err(malformed(format!(
        "it has other members than {}: leave them out",
        names.join(" and ")
    )))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::canonical::to_canonical;
    use crate::capability::agreement::JWS_TYPE;
    use crate::code::Code;
    use crate::did::Did;
    use crate::jws::{self, JwsSignature};
    use crate::key::SecretKey;
    use serde_json::json;

    const SESSION: &str = "0190a1b2-c3d4-7e5f-8901-234567890abc";

    fn key_id(key: &SecretKey, last: u8) -> KeyId {
        let did = format!("did:x811:0190a1b2-c3d4-7e5f-8901-2345678900{last:02x}");
        KeyId {
            did: did.parse().unwrap(),
            key: key.public(),
        }
    }

    /// Consumer, provider, somebody else.
    fn keys() -> [(KeyId, SecretKey); 3] {
        [1, 2, 3].map(|seed| {
            let key = SecretKey::from_seed([seed; 32]);
            (key_id(&key, seed), key)
        })
    }

    fn agreement(consumer: Did, provider: Did) -> Value {
        json!({
            "ledger": "did:x811:0190a1b2-c3d4-7e5f-8901-2345678900ff",
            "agreement_id": SESSION, "session_id": SESSION, "revision": 1,
            "consumer": consumer, "provider": provider,
            "type": "compute.inference", "version": "1.0.0",
            "parameters": {"to": "de"}, "terms": {"duration_s": 60, "max_requests": 3},
        })
    }

    fn signed(by: &[&(KeyId, SecretKey)], object: &Value) -> Vec<JwsSignature> {
        let bytes = to_canonical(object);
        let sign = |(kid, key): &&(KeyId, SecretKey)| jws::sign(*kid, JWS_TYPE, &bytes, key);
        by.iter().map(sign).collect()
    }

    fn refused(text: &str) -> Code {
        signed_agreement(text.as_bytes()).unwrap_err().code
    }

    #[test]
    fn cc_084_and_cx_40_what_both_signed_is_read_without_a_ledger() {
        let [consumer, provider, _] = keys();
        let object = agreement(consumer.0.did, provider.0.did);
        for order in [[&consumer, &provider], [&provider, &consumer]] {
            let whole = jws::general(&to_canonical(&object), &signed(&order, &object));
            let read = signed_agreement(whole.to_string().as_bytes()).unwrap();
            assert_eq!(Value::Object(read.agreement), object);
            assert_eq!(read.keys, order.map(|(kid, _)| *kid));
            assert_eq!(read.facts.revision, 1);
        }
    }

    /// Who gains: a party that shows consent the other never gave, or an outsider.
    #[test]
    fn cc_084_consent_of_one_or_of_others_is_none() {
        let [consumer, provider, stranger] = keys();
        let object = agreement(consumer.0.did, provider.0.did);
        let bytes = to_canonical(&object);
        let with = |signatures: &[JwsSignature]| jws::general(&bytes, signatures).to_string();
        let both = signed(&[&consumer, &provider], &object);
        assert_eq!(refused(&with(&both[..1])), Code::Schema, "one signature");
        let twice = [both[0].clone(), both[0].clone()];
        assert_eq!(refused(&with(&twice)), Code::JwsInvalid, "one party twice");
        let three = signed(&[&consumer, &provider, &stranger], &object);
        assert_eq!(refused(&with(&three)), Code::Schema, "three signatures");
        let other = signed(&[&consumer, &stranger], &object);
        assert_eq!(refused(&with(&other)), Code::JwsInvalid, "a stranger's");
        // Another key under the provider's key id.
        let posing = (provider.0, stranger.1);
        let forged = signed(&[&consumer, &posing], &object);
        assert_eq!(refused(&with(&forged)), Code::JwsInvalid, "another key");
    }

    /// Both signatures hold, for something else.
    #[test]
    fn cc_084_a_swapped_payload_is_refused() {
        let [consumer, provider, _] = keys();
        let object = agreement(consumer.0.did, provider.0.did);
        let both = signed(&[&consumer, &provider], &object);
        let mut dearer = object.clone();
        dearer["terms"]["max_requests"] = json!(3_000);
        let swapped = jws::general(&to_canonical(&dearer), &both).to_string();
        assert_eq!(refused(&swapped), Code::JwsInvalid);
        let one = signed(&[&consumer], &dearer);
        let mixed = [one[0].clone(), both[1].clone()];
        let mixed = jws::general(&to_canonical(&object), &mixed).to_string();
        assert_eq!(refused(&mixed), Code::JwsInvalid);
    }

    /// What one reader passes over and another reads.
    #[test]
    fn cc_084_there_is_one_form() {
        let [consumer, provider, _] = keys();
        let object = agreement(consumer.0.did, provider.0.did);
        let both = signed(&[&consumer, &provider], &object);
        let good = jws::general(&to_canonical(&object), &both);
        let text = good.to_string();
        assert!(signed_agreement(text.as_bytes()).is_ok());

        assert_eq!(refused(&format!("{text}{text}")), Code::Schema, "trailing");
        assert_eq!(refused(&format!("{text} x")), Code::Schema, "trailing");
        let doubled = text.replacen('{', r#"{"payload":"e30","#, 1);
        assert_eq!(refused(&doubled), Code::Schema, "a member twice");
        let mut unprotected = good.clone();
        unprotected["signatures"][0]["header"] = json!({"alg": "none"});
        assert_eq!(refused(&unprotected.to_string()), Code::Schema, "header");
        let mut flattened = good.clone();
        flattened["signature"] = good["signatures"][0]["signature"].clone();
        assert_eq!(refused(&flattened.to_string()), Code::Schema, "flattened");
        let loose = serde_json::to_vec_pretty(&object).unwrap();
        let not_canonical = jws::general(&loose, &both).to_string();
        assert_eq!(refused(&not_canonical), Code::Schema, "not canonical");
        let padded = text.replacen("\",\"signatures", "=\",\"signatures", 1);
        assert_eq!(refused(&padded), Code::Schema, "padding");
        for bad in ["", "{}", "[]", "null", "e30.e30.e30"] {
            assert_eq!(refused(bad), Code::Schema, "{bad}");
        }
    }

    /// `alg: none`, ES256, HMAC: the header is read in one form alone.
    #[test]
    fn cc_084_no_other_algorithm_is_taken() {
        let [consumer, provider, _] = keys();
        let object = agreement(consumer.0.did, provider.0.did);
        let both = signed(&[&consumer, &provider], &object);
        for alg in ["none", "ES256", "HS256"] {
            let header = json!({"alg": alg, "kid": provider.0.to_string(), "typ": JWS_TYPE});
            let protected = URL_SAFE_NO_PAD.encode(to_canonical(&header));
            let input = jws::signing_input(&protected, &to_canonical(&object));
            let other = JwsSignature {
                signature: provider.1.sign(input.as_bytes()),
                protected,
            };
            let whole = jws::general(&to_canonical(&object), &[both[0].clone(), other]);
            assert_eq!(refused(&whole.to_string()), Code::JwsInvalid, "{alg}");
        }
        let mut unsigned = jws::general(&to_canonical(&object), &both);
        unsigned["signatures"][1]["signature"] = json!("");
        assert_eq!(refused(&unsigned.to_string()), Code::Schema);
    }
}
