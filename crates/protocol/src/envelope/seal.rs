//! Making envelopes (AE-79 to AE-82) and writing stored ones out again.

use std::sync::Arc;

use serde_json::{Map, Value};

use super::header::Header;
use crate::canonical::to_canonical;
use crate::digest::Digest;
use crate::key::{AgentKey, Profile, SecretKey};
use crate::signature::Signature;

/// Bytes that `"signature":"…",` adds to a body.
pub(super) const SIGNATURE_MEMBER_LEN: usize = r#""signature":"","#.len() + 86;

/// An envelope we have signed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SealedEnvelope {
    /// All members besides payload and signature.
    pub header: Header,
    /// The canonical signable bytes.
    pub body: Arc<[u8]>,
    /// SHA-256 of the body.
    pub digest: Digest,
    /// The signature over the body, or over its digest: the profile says which.
    pub signature: Signature,
    /// The public key and the profile that verify it.
    pub key: AgentKey,
    /// The whole envelope in canonical key order, ready to be sent.
    pub json: Vec<u8>,
}

/// Signs a message. A payload number beyond ±(2^53 - 1) makes an envelope that every strict reader
/// refuses; write such numbers as strings.
pub fn seal(
    header: Header,
    payload: Map<String, Value>,
    key: &SecretKey,
    profile: Profile,
) -> SealedEnvelope {
    let mut members = header.to_members();
    members.insert("payload".to_owned(), Value::Object(payload));
    let body: Arc<[u8]> = to_canonical(&members).into();
    let digest = Digest::of(&body);
    let signature = match profile {
        Profile::Digest => key.sign(digest.as_bytes()),
        Profile::Direct => key.sign(&body),
    };
    let json = wire_json(&body, &signature);
    let key = AgentKey {
        key: key.public(),
        profile,
    };
    SealedEnvelope {
        header,
        body,
        digest,
        signature,
        key,
        json,
    }
}

/// The whole envelope in canonical key order, from its stored body and signature: what feeds and
/// exports deliver (ledger-contract.md section 6). `body` has to be a canonical body, as
/// [`super::ParsedEnvelope`] holds it.
pub fn wire_json(body: &[u8], signature: &Signature) -> Vec<u8> {
    let (at, member) = signature_member(body, signature);
    let (before, after) = body.split_at(at);
    [before, member.as_bytes(), after].concat()
}

/// What [`wire_json`] puts into a canonical body, and before which byte of it: for those who send a
/// long envelope in parts.
pub fn signature_member(body: &[u8], signature: &Signature) -> (usize, String) {
    let member = format!(r#""signature":"{signature}","#);
    (place_of_signature(body), member)
}

/// Where the first top-level key behind `signature` begins: every envelope has `to`, `type` and
/// `version`. Bytes compare as UTF-16 units do, since all of `signature` is ASCII; and whatever a
/// canonical key escapes is, like the backslash that begins its escape, before any letter.
fn place_of_signature(body: &[u8]) -> usize {
    let (mut depth, mut at) = (0_usize, 0);
    let mut expects_key = false;
    while let Some(byte) = body.get(at) {
        match byte {
            b'"' => {
                let end = string_end(body, at);
                if depth == 1 && expects_key && &body[at + 1..end] > b"signature".as_slice() {
                    return at;
                }
                expects_key = false;
                at = end;
            }
            b'{' | b'[' => {
                depth += 1;
                expects_key = true;
            }
            b'}' | b']' => depth = depth.saturating_sub(1),
            b',' => expects_key = true,
            _ => {}
        }
        at += 1;
    }
    body.len()
}

/// Where the closing quote of the string that opens at `start` is.
fn string_end(body: &[u8], start: usize) -> usize {
    let mut at = start + 1;
    while let Some(byte) = body.get(at) {
        match byte {
            b'"' => return at,
            b'\\' => at += 2,
            _ => at += 1,
        }
    }
    body.len()
}
