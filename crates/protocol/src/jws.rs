//! Signatures for strangers' tools: JSON Web Signatures (RFC 7515) by Ed25519 keys (RFC 8037), beside the
//! envelope's own (machines.md section 7).
//!
//! A protected header has exactly `alg`, `kid` and `typ`, and is read in its RFC 8785 form alone, so
//! that one key signs one object in one way and no header means more to one reader than to another.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::{Map, Value, json};

use crate::canonical::to_canonical;
use crate::key::{KeyId, SecretKey};
use crate::signature::Signature;

mod detached;

pub(crate) use detached::unsigned_form;
pub use detached::{DetachedJws, JwsError, MEMBER, sign_object};

/// Names of the algorithm: RFC 8037's, and the one of RFC 9864 that is read too.
const ALGORITHMS: [&str; 2] = ["EdDSA", "Ed25519"];

/// The longest protected header, in characters: far more than one has.
const MAX_PROTECTED: usize = 1_024;

/// One signature of a JWS.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JwsSignature {
    /// base64url of the protected header.
    pub protected: String,
    /// Over the text of [`signing_input`].
    pub signature: Signature,
}

/// Why a text is no protected header that is taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NotTaken {
    /// It is not the base64url of a header in its RFC 8785 form.
    #[error(
        "protected must be the base64url, without padding, of the RFC 8785 form of alg (EdDSA), kid \
         and typ, and of nothing else"
    )]
    Header,
    /// The header is of another kind of object.
    #[error("typ of the protected header must be {0}")]
    Typ(&'static str),
    /// No key of this kind, or not named as one.
    #[error("kid of the protected header must be a DID, # and the Ed25519 key in multibase form")]
    Kid,
    /// The signature does not hold.
    #[error("the signature is not by kid over protected and the object in its RFC 8785 form")]
    Signature,
}

/// The protected header by that key for that kind of object.
#[must_use]
pub fn protected(kid: KeyId, typ: &str) -> String {
    encoded(ALGORITHMS[0], &kid.to_string(), typ)
}

fn encoded(alg: &str, kid: &str, typ: &str) -> String {
    let header = json!({ "alg": alg, "kid": kid, "typ": typ });
    URL_SAFE_NO_PAD.encode(to_canonical(&header))
}

/// What is signed: both parts in base64url, joined by a full stop (RFC 7515 section 5.1).
#[must_use]
pub fn signing_input(protected: &str, payload: &[u8]) -> String {
    format!("{protected}.{}", URL_SAFE_NO_PAD.encode(payload))
}

/// Signs `payload` by a key of that name.
#[must_use]
pub fn sign(kid: KeyId, typ: &str, payload: &[u8], key: &SecretKey) -> JwsSignature {
    let protected = protected(kid, typ);
    let signature = key.sign(signing_input(&protected, payload).as_bytes());
    JwsSignature {
        protected,
        signature,
    }
}

/// Reads a protected header; the key that it names.
///
/// # Errors
/// [`NotTaken`], all but [`NotTaken::Signature`].
pub fn read_protected(text: &str, typ: &'static str) -> Result<KeyId, NotTaken> {
    if text.len() > MAX_PROTECTED {
        return Err(NotTaken::Header);
    }
    let bytes = URL_SAFE_NO_PAD.decode(text).map_err(|_| NotTaken::Header)?;
    let members: Map<String, Value> =
        serde_json::from_slice(&bytes).map_err(|_| NotTaken::Header)?;
    let member = |name: &str| members.get(name).and_then(Value::as_str);
    let (Some(alg), Some(kid), Some(said)) = (member("alg"), member("kid"), member("typ")) else {
        return Err(NotTaken::Header);
    };
    // Whatever else it holds, and in whatever other form, it is another text then.
    if !ALGORITHMS.contains(&alg) || encoded(alg, kid, said) != text {
        return Err(NotTaken::Header);
    }
    if said != typ {
        return Err(NotTaken::Typ(typ));
    }
    kid.parse().map_err(|_| NotTaken::Kid)
}

/// Checks a signature over `payload`; the key that made it.
///
/// # Errors
/// [`NotTaken`].
pub fn check(signed: &JwsSignature, typ: &'static str, payload: &[u8]) -> Result<KeyId, NotTaken> {
    let kid = read_protected(&signed.protected, typ)?;
    let input = signing_input(&signed.protected, payload);
    if kid.key.verify(input.as_bytes(), &signed.signature) {
        Ok(kid)
    } else {
        Err(NotTaken::Signature)
    }
}

/// The general JSON serialisation (RFC 7515 section 7.2.1).
#[must_use]
pub fn general(payload: &[u8], signatures: &[JwsSignature]) -> Value {
    let signatures = signatures
        .iter()
        .map(|signed| json!({ "protected": signed.protected, "signature": signed.signature }));
    json!({
        "payload": URL_SAFE_NO_PAD.encode(payload),
        "signatures": signatures.collect::<Vec<_>>(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::did::Did;

    const TYP: &str = "x811-agreement+jws";

    fn key() -> (KeyId, SecretKey) {
        let key = SecretKey::from_seed([7; 32]);
        let did: Did = "did:x811:0190a1b2-c3d4-7e5f-8901-234567890abc"
            .parse()
            .unwrap();
        let kid = KeyId {
            did,
            key: key.public(),
        };
        (kid, key)
    }

    #[test]
    fn cx_40_one_signature_holds_for_one_payload_by_one_key() {
        let (kid, key) = key();
        let signed = sign(kid, TYP, b"{}", &key);
        assert_eq!(check(&signed, TYP, b"{}"), Ok(kid));
        assert_eq!(check(&signed, TYP, b"{ }"), Err(NotTaken::Signature));
        let other = SecretKey::from_seed([8; 32]);
        let forged = JwsSignature {
            signature: other.sign(signing_input(&signed.protected, b"{}").as_bytes()),
            ..signed.clone()
        };
        assert_eq!(check(&forged, TYP, b"{}"), Err(NotTaken::Signature));
        assert_eq!(
            check(&signed, "x811-vote+jws", b"{}"),
            Err(NotTaken::Typ("x811-vote+jws"))
        );
    }

    /// What a careless reader takes for the same header: `alg: none`, another algorithm, members that
    /// are not understood, members twice, another order, padding.
    #[test]
    fn cc_084_no_other_form_of_a_header_is_read() {
        let (kid, _) = key();
        let text = |header: &str| URL_SAFE_NO_PAD.encode(header);
        let good = format!(r#"{{"alg":"EdDSA","kid":"{kid}","typ":"{TYP}"}}"#);
        assert_eq!(read_protected(&text(&good), TYP), Ok(kid));
        let newer = good.replace("EdDSA", "Ed25519");
        assert_eq!(read_protected(&text(&newer), TYP), Ok(kid));
        for bad in [
            good.replace("EdDSA", "none"),
            good.replace("EdDSA", "ES256"),
            good.replace("EdDSA", "eddsa"),
            good.replace("\"typ\"", "\"b64\":false,\"typ\""),
            good.replace("\"typ\"", "\"crit\":[],\"typ\""),
            good.replace(
                "{\"alg\":\"EdDSA\",",
                "{\"alg\":\"none\",\"alg\":\"EdDSA\",",
            ),
            good.replace(',', ", "),
            format!("{good}{{}}"),
            format!("{good} "),
            "{}".to_owned(),
            "[]".to_owned(),
            String::new(),
        ] {
            assert_eq!(
                read_protected(&text(&bad), TYP),
                Err(NotTaken::Header),
                "{bad}"
            );
        }
        let padded = format!("{}=", text(&good));
        assert_eq!(read_protected(&padded, TYP), Err(NotTaken::Header));
        let nobody = good.replace(&kid.to_string(), "key-1");
        assert_eq!(read_protected(&text(&nobody), TYP), Err(NotTaken::Kid));
    }
}
