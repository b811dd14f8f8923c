//! Whose envelope it is (AE-84, AE-92).

use std::sync::Arc;

use serde_json::{Map, Value};

use super::header::Header;
use super::parse::ParsedEnvelope;
use crate::code::Code;
use crate::digest::Digest;
use crate::key::{AgentKey, Profile, Signed, WholeKeys, verify_all_knowing};
use crate::refusal::{Kind, Refusal};
use crate::signature::Signature;

/// How many keys of an agent are tried (AX-24).
pub const MAX_KEYS: usize = 8;

/// An envelope whose signature is by one of its sender's keys. Only [`verify`] and
/// [`verify_together`] make one.
///
/// It is no larger than a pointer, for it changes hands often.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VerifiedEnvelope(Box<Unverified>);

/// Checks the signature with each of the sender's `keys`, at most [`MAX_KEYS`], each by its own
/// profile and never by the other one (AX-23, AX-24).
///
/// # Errors
/// X811-2003 when none of the keys made the signature (AE-85, AE-95).
pub fn verify(parsed: ParsedEnvelope, keys: &[AgentKey]) -> Result<VerifiedEnvelope, Refusal> {
    match signed_by_one_of(keys, &parsed.digest, &parsed.body, &parsed.signature) {
        Ok(key) => Ok(VerifiedEnvelope(Box::new(Unverified { parsed, key }))),
        Err(refusal) => Err(refusal.related_to(parsed.header.id)),
    }
}

/// The first of the keys, at most [`MAX_KEYS`], that signed the body of this digest.
pub(super) fn signed_by_one_of(
    keys: &[AgentKey],
    digest: &Digest,
    body: &[u8],
    signature: &Signature,
) -> Result<AgentKey, Refusal> {
    let made_it = |key: &&AgentKey| is_signed_by(key, digest, body, signature);
    let key = keys.iter().take(MAX_KEYS).find(made_it).copied();
    key.ok_or_else(|| {
        let message = "the signature is not by a current key of `from`: check the key, its profile \
                       (digest or direct) and that nothing changed after signing";
        Refusal::new(Code::SignatureInvalid, Kind::Authentication, message)
    })
}

/// An envelope, and the key of its sender that is to have signed it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unverified {
    /// The envelope as it was read; its signature is not checked.
    pub parsed: ParsedEnvelope,
    /// The sender's key.
    pub key: AgentKey,
}

/// Checks the signatures of many envelopes together, which costs less than one by one where there
/// are [`FEWEST_TOGETHER`](crate::key::FEWEST_TOGETHER) or more, and still less where `whole` knows
/// their keys ([`verify_all_knowing`]).
///
/// # Errors
/// The envelopes, when not all of the signatures hold together. That says nothing of any one of
/// them: each is to be verified alone.
pub fn verify_together(
    envelopes: Vec<Box<Unverified>>,
    whole: &mut WholeKeys,
) -> Result<Vec<VerifiedEnvelope>, Vec<Box<Unverified>>> {
    let signed: Vec<Signed<'_>> = envelopes.iter().map(|one| one.signed()).collect();
    if !verify_all_knowing(&signed, whole) {
        return Err(envelopes);
    }
    Ok(envelopes.into_iter().map(VerifiedEnvelope).collect())
}

impl Unverified {
    fn signed(&self) -> Signed<'_> {
        let ParsedEnvelope { digest, body, .. } = &self.parsed;
        signed(&self.key, digest, body, &self.parsed.signature)
    }
}

/// Whether this key, by its profile, signed the body of this digest.
fn is_signed_by(key: &AgentKey, digest: &Digest, body: &[u8], signature: &Signature) -> bool {
    signed(key, digest, body, signature).verify()
}

/// What the key signs, by its profile.
fn signed<'a>(
    key: &'a AgentKey,
    digest: &'a Digest,
    body: &'a [u8],
    signature: &'a Signature,
) -> Signed<'a> {
    let message = match key.profile {
        Profile::Digest => digest.as_bytes(),
        Profile::Direct => body,
    };
    Signed {
        key: &key.key,
        message,
        signature,
    }
}

impl VerifiedEnvelope {
    /// All known members besides payload and signature.
    pub fn header(&self) -> &Header {
        &self.0.parsed.header
    }

    /// The payload of the message.
    pub fn payload(&self) -> &Map<String, Value> {
        &self.0.parsed.payload
    }

    /// The canonical signable bytes.
    pub fn body(&self) -> &Arc<[u8]> {
        &self.0.parsed.body
    }

    /// SHA-256 of the body.
    pub fn digest(&self) -> Digest {
        self.0.parsed.digest
    }

    /// The signature, as the sender sent it.
    pub fn signature(&self) -> Signature {
        self.0.parsed.signature
    }

    /// The key that made the signature.
    pub fn key(&self) -> AgentKey {
        self.0.key
    }

    /// The parts, without the proof.
    pub fn into_parsed(self) -> ParsedEnvelope {
        self.0.parsed
    }
}
