//! From bytes to the parts of an envelope: strict, bounded, nothing lost.

use std::sync::Arc;

use serde_json::{Map, Value};

use super::header::{Header, Leeway, missing_credential};
use super::reference_sdk;
use super::seal::SIGNATURE_MEMBER_LEN;
use crate::canonical::members_to_canonical;
use crate::code::Code;
use crate::digest::Digest;
use crate::id::Nonce;
use crate::json::{JsonError, Limits, Member, Members, parse_members};
use crate::key::PublicKey;
use crate::refusal::{Kind, Refusal};
use crate::signature::Signature;

/// The one member that is not signed.
pub(super) const SIGNATURE: &str = "signature";

/// What a deployment takes for an envelope.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EnvelopeRules {
    /// The longest envelope in bytes, as received and in its canonical form (AX-41).
    pub max_bytes: usize,
    /// Whether `id` and `nonce` may be UUIDs of any version (AX-25).
    pub lenient_ids: bool,
    /// Whether nonces and registrations of the published SDK are taken (decision 0190).
    pub reference_sdk: bool,
}

impl Default for EnvelopeRules {
    /// 1 MiB, strict ids.
    fn default() -> EnvelopeRules {
        EnvelopeRules {
            max_bytes: 1 << 20,
            lenient_ids: false,
            reference_sdk: false,
        }
    }
}

/// A well-formed envelope whose signature nobody has checked yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParsedEnvelope {
    /// All known members besides payload and signature.
    pub header: Header,
    /// The payload; its form is checked by [`crate::payload`].
    pub payload: Map<String, Value>,
    /// The canonical signable bytes: all members but `signature`, unknown ones included (AX-21).
    pub body: Arc<[u8]>,
    /// SHA-256 of the body.
    pub digest: Digest,
    /// The claimed signature.
    pub signature: Signature,
    /// Whether `nonce` is 32 hex digits without hyphens, as the published SDK writes it.
    pub has_plain_nonce: bool,
    /// The key that the published SDK registers with, from beside the envelope; only there in a
    /// REQUEST of an agent to itself.
    pub offered_key: Option<PublicKey>,
}

impl ParsedEnvelope {
    /// Reads the bare envelope, or `{"envelope": {…}}` as upstream peers send it. With the leniency
    /// for the published SDK also its registration, `{envelope, did_document, public_key}`.
    ///
    /// # Errors
    /// X811-6002 over `max_bytes`, X811-9003 version, X811-2004 absent `signature`, `nonce` or
    /// `from` or a bad nonce, X811-2002 a time that cannot be read, X811-2003 a signature that
    /// does not decode, X811-1004 and X811-1005 a registration of the published SDK whose document
    /// or key is not fit, X811-4001 any other fault of shape (AX-46).
    pub fn parse(bytes: &[u8], rules: &EnvelopeRules) -> Result<ParsedEnvelope, Refusal> {
        let limits = Limits::bytes(rules.max_bytes);
        let outermost = parse_members(bytes, &limits, Some(SIGNATURE)).map_err(unreadable)?;
        let mut outer = outermost.members.ok_or_else(no_object)?;
        let offered = match rules.reference_sdk {
            true => reference_sdk::offered(&mut outer)?,
            false => None,
        };
        let mut members = unwrapped(outer)?;
        let signature = members.remove(SIGNATURE);
        let leeway = Leeway {
            any_uuid: rules.lenient_ids,
            plain_nonce: rules.reference_sdk,
            to_oneself: rules.reference_sdk,
        };
        let header = Header::read(&members, leeway)?;
        let related = |refusal: Refusal| refusal.related_to(header.id);
        let offered_key = offered.map(|offered| offered.of(&header)).transpose();
        let offered_key = offered_key.map_err(related)?;
        let has_plain_nonce = has_plain_nonce(&members);

        let signature = decoded(signature).map_err(related)?;
        // As nearly all are sent, what is left without the signature is the canonical form.
        let body = match outermost.rest {
            Some(rest) => rest.concat().into_bytes(),
            None => {
                let all = members.into_map();
                let body = members_to_canonical(&all);
                members = all.into();
                body
            }
        };
        let size = body.len() + SIGNATURE_MEMBER_LEN;
        if size > rules.max_bytes {
            // Canonical numbers can be longer than the ones received: 1e15 has 16 digits.
            let error = JsonError::TooLarge {
                size,
                max: rules.max_bytes,
            };
            return Err(related(unreadable(error)));
        }
        let payload = payload(&mut members).map_err(related)?;
        let parsed = ParsedEnvelope::assemble(header, payload, body.into(), signature);
        Ok(ParsedEnvelope {
            has_plain_nonce,
            offered_key,
            ..parsed
        })
    }

    /// Reads a stored body again, with the signature its record holds: the auditor's path. Ids are
    /// not held to a version, and nonces may lack hyphens, because the ledger may have been lenient
    /// (AX-25, decision 0190); whether it was is for the caller to ask.
    ///
    /// # Errors
    /// The body is not what [`ParsedEnvelope::parse`] made of a good envelope: it is malformed,
    /// it is not its own canonical form, or it holds a `signature`.
    pub fn from_body(body: &[u8], signature: Signature) -> Result<ParsedEnvelope, Refusal> {
        ParsedEnvelope::stored(body, signature, false)
    }

    /// The same of the REQUEST to itself by which an agent registered in the form of the published
    /// SDK (decision 0190).
    ///
    /// # Errors
    /// As [`ParsedEnvelope::from_body`]; and of a body that is anything else.
    pub fn from_registering_body(
        body: &[u8],
        signature: Signature,
    ) -> Result<ParsedEnvelope, Refusal> {
        let parsed = ParsedEnvelope::stored(body, signature, true)?;
        if parsed.header.from == parsed.header.to {
            return Ok(parsed);
        }
        Err(Refusal::shape("it is no REQUEST of an agent to itself"))
    }

    fn stored(
        body: &[u8],
        signature: Signature,
        to_oneself: bool,
    ) -> Result<ParsedEnvelope, Refusal> {
        let limits = Limits::bytes(usize::MAX);
        let outermost = parse_members(body, &limits, None).map_err(unreadable)?;
        let mut members = outermost.members.ok_or_else(no_object)?;
        if !outermost.is_canonical {
            let all = members.into_map();
            if members_to_canonical(&all) != body {
                return Err(Refusal::shape(
                    "the body is not in canonical form: it was altered, fetch it again",
                ));
            }
            members = all.into();
        }
        if members.get(SIGNATURE).is_some() {
            return Err(Refusal::shape(
                "the body holds a `signature`: store it beside the body",
            ));
        }
        let leeway = Leeway {
            any_uuid: true,
            plain_nonce: true,
            to_oneself,
        };
        let header = Header::read(&members, leeway)?;
        let has_plain_nonce = has_plain_nonce(&members);
        let payload = payload(&mut members)?;
        let parsed = ParsedEnvelope::assemble(header, payload, body.into(), signature);
        Ok(ParsedEnvelope {
            has_plain_nonce,
            ..parsed
        })
    }

    fn assemble(
        header: Header,
        payload: Map<String, Value>,
        body: Arc<[u8]>,
        signature: Signature,
    ) -> ParsedEnvelope {
        let digest = Digest::of(&body);
        ParsedEnvelope {
            header,
            payload,
            body,
            digest,
            signature,
            has_plain_nonce: false,
            offered_key: None,
        }
    }
}

fn has_plain_nonce(members: &Members<'_>) -> bool {
    matches!(members.get("nonce"), Some(Member::Text(text)) if text.len() == Nonce::PLAIN_LEN)
}

/// The envelope's members, out of their wrapper if there is one.
pub(super) fn unwrapped(mut members: Members<'_>) -> Result<Members<'_>, Refusal> {
    if members.len() > 1 {
        return Ok(members);
    }
    match members.remove("envelope") {
        Some(Member::Other(Value::Object(inner))) => Ok(inner.into()),
        Some(_) => Err(no_object()),
        None => Ok(members),
    }
}

pub(super) fn no_object() -> Refusal {
    Refusal::shape("the envelope is not a JSON object: send one at a time")
}

pub(super) fn payload(members: &mut Members<'_>) -> Result<Map<String, Value>, Refusal> {
    match members.remove("payload") {
        Some(Member::Other(Value::Object(payload))) => Ok(payload),
        Some(_) => Err(Refusal::shape(
            "`payload` is not an object: write it as one",
        )),
        None => Err(Refusal::shape(
            "the envelope has no `payload`: add it and sign again",
        )),
    }
}

pub(super) fn decoded(signature: Option<Member<'_>>) -> Result<Signature, Refusal> {
    let text = match signature {
        Some(Member::Text(text)) => text,
        Some(Member::Other(_)) => {
            return Err(Refusal::shape(
                "`signature` is not a string: write it as one",
            ));
        }
        None => return Err(missing_credential("signature")),
    };
    text.parse().map_err(|error| {
        let message = format!("`signature` is {error}");
        Refusal::new(Code::SignatureInvalid, Kind::Authentication, message)
    })
}

pub(super) fn unreadable(error: JsonError) -> Refusal {
    let message = format!("the envelope cannot be read: {error}");
    match error {
        JsonError::TooLarge { .. } => Refusal::new(Code::ResultTooLarge, Kind::Limit, message),
        JsonError::NotUtf8 { .. }
        | JsonError::Syntax { .. }
        | JsonError::DuplicateKey { .. }
        | JsonError::LoneSurrogate { .. }
        | JsonError::NumberOutOfRange { .. }
        | JsonError::TooDeep { .. } => Refusal::shape(message),
    }
}
