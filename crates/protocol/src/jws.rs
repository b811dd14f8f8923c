//! Signatures inside a payload, for tools that know nothing of envelopes: JWS, compact and detached
//! (RFC 7515 appendix F).
//!
//! One form alone is read: `protected` is base64url of the RFC 8785 form of exactly `{alg, kid, typ}`,
//! `alg` is `EdDSA` or `Ed25519`, `kid` the DID URL of an Ed25519 key. So whoever checks needs no list
//! of keys, and there are no two texts of one signature. What is signed is the object's RFC 8785 form
//! without its member `signature`. Source: machines.md section 7.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::{Map, Value, json};

use crate::canonical::{members_to_canonical, to_canonical};
use crate::json::{Limits, parse_strict};
use crate::key::{KeyId, PublicKey, SecretKey};
use crate::signature::Signature;

/// The member of an object that holds its signature.
pub const MEMBER: &str = "signature";

/// The longest protected header, in bytes of its JSON.
const MAX_HEADER_BYTES: usize = 512;

/// A detached JWS whose form was checked, and nothing else.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DetachedJws {
    /// The key that it says made it.
    pub kid: KeyId,
    /// The protected header as it was signed, in base64url.
    protected: String,
    /// The signature.
    signature: Signature,
}

impl DetachedJws {
    /// Reads `<protected>..<signature>` of an object of this `typ`.
    ///
    /// # Errors
    /// What of its form is wrong.
    pub fn parse(text: &str, typ: &str) -> Result<DetachedJws, JwsError> {
        let (protected, signature) = text.split_once("..").ok_or(JwsError::NotDetached)?;
        let signature = signature.parse().map_err(|_| JwsError::Signature)?;
        if protected.len() > MAX_HEADER_BYTES * 2 {
            return Err(JwsError::Header);
        }
        let bytes = URL_SAFE_NO_PAD
            .decode(protected)
            .map_err(|_| JwsError::Header)?;
        let header =
            parse_strict(&bytes, &Limits::bytes(MAX_HEADER_BYTES)).map_err(|_| JwsError::Header)?;
        if to_canonical(&header) != bytes {
            return Err(JwsError::NotCanonical);
        }
        let members = header.as_object().ok_or(JwsError::Header)?;
        let member = |name| members.get(name).and_then(Value::as_str);
        let (Some(alg), Some(kid), Some(given), 3) =
            (member("alg"), member("kid"), member("typ"), members.len())
        else {
            return Err(JwsError::Header);
        };
        if !["EdDSA", "Ed25519"].contains(&alg) {
            return Err(JwsError::Algorithm);
        }
        if given != typ {
            return Err(JwsError::Type);
        }
        Ok(DetachedJws {
            kid: kid.parse().map_err(|_| JwsError::Key)?,
            protected: protected.to_owned(),
            signature,
        })
    }

    /// Whether its key signed this object, strictly (RFC 8032).
    pub fn verify(&self, object: &Map<String, Value>) -> bool {
        let key: &PublicKey = &self.kid.key;
        key.verify(&signing_input(&self.protected, object), &self.signature)
    }
}

/// The object's signature by that key, as its member [`MEMBER`] has it.
pub fn sign(secret: &SecretKey, kid: &KeyId, typ: &str, object: &Map<String, Value>) -> String {
    let header = json!({ "alg": "EdDSA", "kid": kid, "typ": typ });
    let protected = URL_SAFE_NO_PAD.encode(to_canonical(&header));
    let signature = secret.sign(&signing_input(&protected, object));
    format!("{protected}..{signature}")
}

/// The RFC 8785 form of the object without its signature: what is signed and hashed of it.
pub(crate) fn unsigned_form(object: &Map<String, Value>) -> Vec<u8> {
    let mut unsigned = object.clone();
    unsigned.remove(MEMBER);
    members_to_canonical(&unsigned)
}

fn signing_input(protected: &str, object: &Map<String, Value>) -> Vec<u8> {
    let payload = URL_SAFE_NO_PAD.encode(unsigned_form(object));
    format!("{protected}.{payload}").into_bytes()
}

/// Why a text is no signature of an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum JwsError {
    /// Not two parts with two full stops between them.
    #[error("write a detached compact JWS: <protected>..<signature>")]
    NotDetached,
    /// The header is not base64url of a JSON object of three texts.
    #[error("the protected header must be base64url of {{alg, kid, typ}} and nothing else")]
    Header,
    /// The header's JSON is not in its one form.
    #[error("the protected header must be in its RFC 8785 form")]
    NotCanonical,
    /// Another algorithm.
    #[error("alg must be EdDSA")]
    Algorithm,
    /// Made for another object.
    #[error("typ is that of another object")]
    Type,
    /// Not a DID URL of an Ed25519 key.
    #[error("kid must be the DID URL of an Ed25519 key")]
    Key,
    /// Not 64 bytes.
    #[error("the signature must be 64 bytes in base64url without padding")]
    Signature,
}

#[cfg(test)]
mod tests {
    use super::*;

    const TYP: &str = "x811-vote+jws";

    fn signer(seed: u8) -> (SecretKey, KeyId) {
        let secret = SecretKey::from_seed([seed; 32]);
        let did = "did:x811:019c8c61-8129-7511-9f31-aa5142e65441";
        let kid = KeyId {
            did: did.parse().unwrap(),
            key: secret.public(),
        };
        (secret, kid)
    }

    fn object() -> Map<String, Value> {
        let object = json!({ "decision": "approve", "rationale": "é" });
        object.as_object().unwrap().clone()
    }

    #[test]
    fn cc_022_a_vote_is_signed_and_checked() {
        let (secret, kid) = signer(1);
        let mut object = object();
        let text = sign(&secret, &kid, TYP, &object);
        object.insert(MEMBER.to_owned(), text.clone().into());
        let jws = DetachedJws::parse(&text, TYP).unwrap();
        assert_eq!(jws.kid, kid);
        assert!(jws.verify(&object));
        object.insert("decision".to_owned(), "reject".into());
        assert!(!jws.verify(&object));
    }

    /// Attack: a signature by another key under the voter's `kid`, or under its own.
    #[test]
    fn cx_9_a_signature_by_another_key_does_not_pass() {
        let (_, kid) = signer(1);
        let (other, other_kid) = signer(2);
        let forged = sign(&other, &kid, TYP, &object());
        let jws = DetachedJws::parse(&forged, TYP).unwrap();
        assert!(!jws.verify(&object()));
        let own = sign(&other, &other_kid, TYP, &object());
        assert_ne!(DetachedJws::parse(&own, TYP).unwrap().kid, kid);
    }

    #[test]
    fn cx_9_one_form_alone_is_read() {
        let (secret, kid) = signer(1);
        let good = sign(&secret, &kid, TYP, &object());
        let (_, signature) = good.split_once("..").unwrap();
        let under = |header: &str| format!("{}..{signature}", URL_SAFE_NO_PAD.encode(header));
        let header =
            |alg: &str, typ: &str| format!(r#"{{"alg":"{alg}","kid":"{kid}","typ":"{typ}"}}"#);
        assert!(DetachedJws::parse(&under(&header("Ed25519", TYP)), TYP).is_ok());
        let spaced = header("EdDSA", TYP).replace(":\"EdDSA\"", ": \"EdDSA\"");
        let more = header("EdDSA", TYP).replace('}', r#","x":1}"#);
        for (text, fault) in [
            (String::new(), JwsError::NotDetached),
            (good.replace("..", ".e30."), JwsError::NotDetached),
            (good.replace("..", "..A"), JwsError::Signature),
            (format!("{good}="), JwsError::Signature),
            (format!("!..{signature}"), JwsError::Header),
            (under("[]"), JwsError::Header),
            (under(&more), JwsError::Header),
            (under(&spaced), JwsError::NotCanonical),
            (under(&header("none", TYP)), JwsError::Algorithm),
            (under(&header("HS256", TYP)), JwsError::Algorithm),
            (under(&header("ES256", TYP)), JwsError::Algorithm),
            (under(&header("EdDSA", "x811-commit+jws")), JwsError::Type),
            (
                under(r#"{"alg":"EdDSA","kid":"k","typ":"x811-vote+jws"}"#),
                JwsError::Key,
            ),
            (
                under(&format!("\"{}\"", "x".repeat(2_000))),
                JwsError::Header,
            ),
        ] {
            assert_eq!(DetachedJws::parse(&text, TYP), Err(fault), "{text}");
        }
    }
}
