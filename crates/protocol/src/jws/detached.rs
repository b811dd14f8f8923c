//! A signature inside the object that it signs: JWS, compact and detached (RFC 7515 appendix F).
//!
//! What is signed is the object's RFC 8785 form without its member `signature`; `kid` names the key
//! itself, so whoever checks needs no list of keys. Source: machines.md section 7.

use serde_json::{Map, Value};

use super::{JwsSignature, NotTaken, read_protected, sign, signing_input};
use crate::canonical::members_to_canonical;
use crate::key::{KeyId, SecretKey};

/// The member of an object that holds its signature.
pub const MEMBER: &str = "signature";

/// A detached JWS whose form was checked, and nothing else.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DetachedJws {
    /// The key that it says made it.
    pub kid: KeyId,
    signed: JwsSignature,
}

impl DetachedJws {
    /// Reads `<protected>..<signature>` of an object of this `typ`.
    ///
    /// # Errors
    /// What of its form is wrong.
    pub fn parse(text: &str, typ: &'static str) -> Result<DetachedJws, JwsError> {
        let (protected, signature) = text.split_once("..").ok_or(JwsError::NotDetached)?;
        Ok(DetachedJws {
            signed: JwsSignature {
                protected: protected.to_owned(),
                signature: signature.parse().map_err(|_| JwsError::Signature)?,
            },
            kid: read_protected(protected, typ)?,
        })
    }

    /// Whether its key signed this object, strictly (RFC 8032).
    pub fn verify(&self, object: &Map<String, Value>) -> bool {
        let input = signing_input(&self.signed.protected, &unsigned_form(object));
        self.kid
            .key
            .verify(input.as_bytes(), &self.signed.signature)
    }
}

/// The object's signature by that key, as its member [`MEMBER`] has it.
pub fn sign_object(
    secret: &SecretKey,
    kid: &KeyId,
    typ: &str,
    object: &Map<String, Value>,
) -> String {
    let signed = sign(*kid, typ, &unsigned_form(object), secret);
    format!("{}..{}", signed.protected, signed.signature)
}

/// The RFC 8785 form of the object without its signature: what is signed and hashed of it.
pub(crate) fn unsigned_form(object: &Map<String, Value>) -> Vec<u8> {
    let mut unsigned = object.clone();
    unsigned.remove(MEMBER);
    members_to_canonical(&unsigned)
}

/// Why a text is no signature of an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum JwsError {
    /// Not two parts with two full stops between them.
    #[error("write a detached compact JWS: <protected>..<signature>")]
    NotDetached,
    /// Its protected header is not one that is taken.
    #[error(transparent)]
    Header(#[from] NotTaken),
    /// Not 64 bytes.
    #[error("the signature must be 64 bytes in base64url without padding")]
    Signature,
}

#[cfg(test)]
mod tests {
    use base64::Engine as _;
    use base64::engine::general_purpose::URL_SAFE_NO_PAD;
    use serde_json::json;

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
        let text = sign_object(&secret, &kid, TYP, &object);
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
        let forged = sign_object(&other, &kid, TYP, &object());
        let jws = DetachedJws::parse(&forged, TYP).unwrap();
        assert!(!jws.verify(&object()));
        let own = sign_object(&other, &other_kid, TYP, &object());
        assert_ne!(DetachedJws::parse(&own, TYP).unwrap().kid, kid);
    }

    #[test]
    fn cx_9_one_form_alone_is_read() {
        let (secret, kid) = signer(1);
        let good = sign_object(&secret, &kid, TYP, &object());
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
            (
                format!("!..{signature}"),
                JwsError::Header(NotTaken::Header),
            ),
            (under("[]"), JwsError::Header(NotTaken::Header)),
            (under(&more), JwsError::Header(NotTaken::Header)),
            (under(&spaced), JwsError::Header(NotTaken::Header)),
            (
                under(&header("none", TYP)),
                JwsError::Header(NotTaken::Header),
            ),
            (
                under(&header("HS256", TYP)),
                JwsError::Header(NotTaken::Header),
            ),
            (
                under(&header("ES256", TYP)),
                JwsError::Header(NotTaken::Header),
            ),
            (
                under(&header("EdDSA", "x811-commit+jws")),
                JwsError::Header(NotTaken::Typ(TYP)),
            ),
            (
                under(r#"{"alg":"EdDSA","kid":"k","typ":"x811-vote+jws"}"#),
                JwsError::Header(NotTaken::Kid),
            ),
            (
                under(&format!("\"{}\"", "x".repeat(2_000))),
                JwsError::Header(NotTaken::Header),
            ),
        ] {
            assert_eq!(DetachedJws::parse(&text, TYP), Err(fault), "{text}");
        }
    }
}
