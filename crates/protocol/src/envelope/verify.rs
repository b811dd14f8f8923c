//! Whose envelope it is (AE-84, AE-92).

use std::sync::Arc;

use serde_json::{Map, Value};

use super::header::Header;
use super::parse::ParsedEnvelope;
use crate::code::Code;
use crate::digest::Digest;
use crate::key::{AgentKey, Profile};
use crate::refusal::{Kind, Refusal};
use crate::signature::Signature;

/// How many keys of an agent are tried (AX-24).
pub const MAX_KEYS: usize = 8;

/// An envelope whose signature is by one of its sender's keys. Only [`verify`] makes one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VerifiedEnvelope {
    parsed: ParsedEnvelope,
    key: AgentKey,
}

/// Checks the signature with each of the sender's `keys`, at most [`MAX_KEYS`], each by its own
/// profile and never by the other one (AX-23, AX-24).
///
/// # Errors
/// X811-2003 when none of the keys made the signature (AE-85, AE-95).
pub fn verify(parsed: ParsedEnvelope, keys: &[AgentKey]) -> Result<VerifiedEnvelope, Refusal> {
    let made_it =
        |key: &&AgentKey| is_signed_by(key, &parsed.digest, &parsed.body, &parsed.signature);
    match keys.iter().take(MAX_KEYS).find(made_it).copied() {
        Some(key) => Ok(VerifiedEnvelope { parsed, key }),
        None => Err(Refusal::new(
            Code::SignatureInvalid,
            Kind::Authentication,
            "the signature is not by a current key of `from`: check the key, its profile (digest \
             or direct) and that nothing changed after signing",
        )
        .related_to(parsed.header.id)),
    }
}

/// Whether this key, by its profile, signed the body of this digest.
fn is_signed_by(key: &AgentKey, digest: &Digest, body: &[u8], signature: &Signature) -> bool {
    match key.profile {
        Profile::Digest => key.key.verify(digest.as_bytes(), signature),
        Profile::Direct => key.key.verify(body, signature),
    }
}

impl VerifiedEnvelope {
    /// All known members besides payload and signature.
    pub fn header(&self) -> &Header {
        &self.parsed.header
    }

    /// The payload.
    pub fn payload(&self) -> &Map<String, Value> {
        &self.parsed.payload
    }

    /// The canonical signable bytes.
    pub fn body(&self) -> &Arc<[u8]> {
        &self.parsed.body
    }

    /// SHA-256 of the body.
    pub fn digest(&self) -> Digest {
        self.parsed.digest
    }

    /// The signature.
    pub fn signature(&self) -> Signature {
        self.parsed.signature
    }

    /// The key that made the signature.
    pub fn key(&self) -> AgentKey {
        self.key
    }

    /// The parts, without the proof.
    pub fn into_parsed(self) -> ParsedEnvelope {
        self.parsed
    }
}
