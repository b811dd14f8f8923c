//! What the record keeps of an accepted envelope besides its body (record.md section 3).

use serde::{Deserialize, Deserializer, Serialize};
use serde_with::skip_serializing_none;

use super::Header;
use super::message_type::MessageType;
use super::parse::ParsedEnvelope;
use super::seal::SealedEnvelope;
use super::verify::{VerifiedEnvelope, verify};
use crate::did::Did;
use crate::digest::Digest;
use crate::id::{EnvelopeId, Nonce};
use crate::key::{AgentKey, KeyId, Profile};
use crate::refusal::Refusal;
use crate::signature::Signature;
use crate::time::TimestampMs;

/// The member `envelope` of a leaf: enough to check the signature without the body, unless the
/// profile is `direct`.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AcceptedHeader {
    /// When the sender made it, floored to milliseconds.
    pub created_ms: TimestampMs,
    /// SHA-256 of the body.
    pub digest: Digest,
    /// From when on the sender wanted it discarded; left out when absent, never `null`.
    #[serde(default, deserialize_with = "never_null")]
    pub expires_ms: Option<TimestampMs>,
    /// DID of the sender.
    pub from: Did,
    /// Id of the envelope.
    pub id: EnvelopeId,
    /// The sender's key that made the signature.
    pub key: KeyId,
    /// [`nonce_tag`] of sender and nonce.
    pub nonce_tag: Digest,
    /// What that key signs.
    pub profile: Profile,
    /// The signature that the sender made with that key.
    pub signature: Signature,
    /// Bytes of the body.
    pub size: u64,
    /// DID of the recipient.
    pub to: Did,
    /// What the payload is.
    #[serde(rename = "type")]
    pub message_type: MessageType,
    /// Semantic version of the protocol.
    pub version: String,
}

impl AcceptedHeader {
    /// Whether the leaf alone proves the signature: profile `digest`, and a key of the sender made
    /// it. `false` for profile `direct`, which needs the body ([`AcceptedHeader::verify_with_body`]).
    #[must_use]
    pub fn verify_from_leaf(&self) -> bool {
        match self.profile {
            Profile::Digest => {
                self.key.did == self.from
                    && self.key.key.verify(self.digest.as_bytes(), &self.signature)
            }
            Profile::Direct => false,
        }
    }

    /// Proves the signature and every member of this header from the stored body.
    ///
    /// # Errors
    /// The body cannot be read, the signature is not by `key`, or a member says something else
    /// than the body.
    pub fn verify_with_body(&self, body: &[u8]) -> Result<VerifiedEnvelope, Refusal> {
        let parsed = ParsedEnvelope::from_body(body, self.signature)?;
        let key = AgentKey {
            key: self.key.key,
            profile: self.profile,
        };
        let verified = verify(parsed, &[key])?;
        if verified.accepted_header() == *self {
            return Ok(verified);
        }
        let message = "the record's envelope members are not those of the body: one was altered";
        Err(Refusal::shape(message).related_to(self.id))
    }

    fn new(
        header: &Header,
        key: AgentKey,
        body: &[u8],
        digest: Digest,
        signature: Signature,
    ) -> AcceptedHeader {
        AcceptedHeader {
            id: header.id,
            message_type: header.message_type.clone(),
            version: header.version.clone(),
            from: header.from,
            to: header.to,
            created_ms: header.created_ms,
            expires_ms: header.expires_ms,
            key: KeyId {
                did: header.from,
                key: key.key,
            },
            profile: key.profile,
            digest,
            signature,
            nonce_tag: nonce_tag(header.from, header.nonce),
            size: body.len() as u64,
        }
    }
}

impl VerifiedEnvelope {
    /// What the record keeps.
    pub fn accepted_header(&self) -> AcceptedHeader {
        let (header, body) = (self.header(), self.body());
        AcceptedHeader::new(header, self.key(), body, self.digest(), self.signature())
    }
}

impl SealedEnvelope {
    /// What the record keeps, for an envelope of our own.
    pub fn accepted_header(&self) -> AcceptedHeader {
        AcceptedHeader::new(
            &self.header,
            self.key,
            &self.body,
            self.digest,
            self.signature,
        )
    }
}

/// SHA-256 of the sender's DID, a zero byte and the nonce, as text: shows a repeat, hides the
/// nonce (record.md section 3).
pub fn nonce_tag(from: Did, nonce: Nonce) -> Digest {
    Digest::of_parts(&[
        from.to_string().as_bytes(),
        &[0],
        nonce.to_string().as_bytes(),
    ])
}

fn never_null<'de, D: Deserializer<'de>>(reader: D) -> Result<Option<TimestampMs>, D::Error> {
    TimestampMs::deserialize(reader).map(Some)
}
