//! The messages of a session and of an agreement (CC-76 to CC-88).

use serde_json::{Map, Value};

use super::super::member::Members;
use super::advertise::{known_word, versions};
use crate::canonical::{members_to_canonical, to_canonical};
use crate::capability::agreement::JWS_TYPE;
use crate::capability::version::VersionRange;
use crate::code::Code;
use crate::did::Did;
use crate::digest::Digest;
use crate::facts::{
    AgreementRevoke, SessionAccept, SessionAgree, SessionClose, SessionCounter, SessionOffer,
    SessionReject, SessionRequest, SessionResponse, SessionTerms, malformed,
};
use crate::jws::{self, JwsSignature};
use crate::refusal::{Kind, Refusal, quoted};

/// The most bytes of terms in their RFC 8785 form (CX-45).
const MAX_TERMS_BYTES: usize = 1_200;

/// How deep objects and arrays of terms may lie in each other; the terms themselves are 1.
const MAX_TERMS_DEPTH: usize = 2;

/// The members of an agreement: exactly these.
const AGREEMENT: [&str; 10] = [
    "agreement_id",
    "consumer",
    "ledger",
    "parameters",
    "provider",
    "revision",
    "session_id",
    "terms",
    "type",
    "version",
];

pub(super) fn request(payload: &Map<String, Value>) -> Result<SessionRequest, Refusal> {
    let members = Members::new("request", payload);
    let range = Members::new("protocol", members.object("protocol")?);
    Ok(SessionRequest {
        agreement_id: members.optional_agreement_id("agreement_id")?,
        parameters_hash: hash_of(members.object("parameters")?),
        protocol: VersionRange {
            deprecated: versions(range, "deprecated")?
                .ok_or_else(|| malformed("protocol.deprecated is missing; write [] for none"))?,
            max: range.word("max")?,
            min: range.word("min")?,
        },
        reason: match members.optional_string("reason")? {
            Some(_) => Some(known_word(members, "reason")?),
            None => None,
        },
        revision: members.optional_positive_integer("revision")?,
        capability: members.string("type")?.to_owned(),
    })
}

pub(super) fn response(payload: &Map<String, Value>) -> Result<SessionResponse, Refusal> {
    let members = Members::new("response", payload);
    Ok(SessionResponse {
        lifetime_ms: members.optional_positive_integer("lifetime_ms")?,
        session_id: members.session_id("session_id")?,
        willing: members.boolean("willing")?,
    })
}

pub(super) fn offer(payload: &Map<String, Value>) -> Result<SessionOffer, Refusal> {
    let members = Members::new("offer", payload);
    Ok(SessionOffer {
        session_id: members.session_id("session_id")?,
        terms: terms(members.object("terms")?)?,
    })
}

pub(super) fn counter(payload: &Map<String, Value>) -> Result<SessionCounter, Refusal> {
    let members = Members::new("counter", payload);
    Ok(SessionCounter {
        session_id: members.session_id("session_id")?,
        step_id: members.envelope_id("step_id")?,
        terms: terms(members.object("terms")?)?,
    })
}

pub(super) fn accept(payload: &Map<String, Value>) -> Result<SessionAccept, Refusal> {
    let members = Members::new("accept", payload);
    Ok(SessionAccept {
        session_id: members.session_id("session_id")?,
        step_id: members.envelope_id("step_id")?,
        terms_hash: members.digest("terms_hash")?,
    })
}

pub(super) fn reject(payload: &Map<String, Value>) -> Result<SessionReject, Refusal> {
    let members = Members::new("reject", payload);
    Ok(SessionReject {
        rationale_hash: said(members, "rationale")?,
        session_id: members.session_id("session_id")?,
        step_id: members.envelope_id("step_id")?,
    })
}

pub(super) fn close(payload: &Map<String, Value>) -> Result<SessionClose, Refusal> {
    let session_id = Members::new("close", payload).session_id("session_id")?;
    Ok(SessionClose { session_id })
}

pub(super) fn revoke(payload: &Map<String, Value>) -> Result<AgreementRevoke, Refusal> {
    let members = Members::new("revoke", payload);
    Ok(AgreementRevoke {
        agreement_id: members.agreement_id("agreement_id")?,
        reason_hash: said(members, "reason")?,
        revision: members.positive_integer("revision")?,
    })
}

/// Reads the terms in the object that an `agree` signs.
///
/// # Errors
/// The payload is not that of an `agree`, or its terms have another form.
pub fn signed_terms(payload: &Map<String, Value>) -> Result<SessionTerms, Refusal> {
    let agreement = Members::new("agree", payload).object("agreement")?;
    terms(Members::new("agreement", agreement).object("terms")?)
}

/// Reads a signature under an agreement of this ledger and checks it.
pub(super) fn agree(
    payload: &Map<String, Value>,
    ledger: Option<Did>,
) -> Result<SessionAgree, Refusal> {
    let members = Members::new("agree", payload);
    let object = members.object("agreement")?;
    let signed = JwsSignature {
        protected: members.string("protected")?.to_owned(),
        signature: members.word("signature")?,
    };
    let agreement = Members::new("agreement", object);
    if let Some(strange) = object
        .keys()
        .find(|name| !AGREEMENT.contains(&name.as_str()))
    {
        return Err(malformed(format!(
            "an agreement has no member {}: leave it out",
            quoted(strange)
        )));
    }
    let of_ledger = agreement.did("ledger")?;
    if ledger.is_some_and(|ledger| ledger != of_ledger) {
        return Err(malformed(format!(
            "the agreement is for the ledger {of_ledger}, which is another one"
        )));
    }
    let whole = members_to_canonical(object);
    let kid =
        jws::check(&signed, JWS_TYPE, &whole).map_err(|fault| not_signed(fault.to_string()))?;
    let terms = terms(agreement.object("terms")?)?;
    Ok(SessionAgree {
        agreement_hash: Digest::of(&whole),
        agreement_id: agreement.agreement_id("agreement_id")?,
        consumer: agreement.did("consumer")?,
        duration_s: terms.duration_s,
        kid,
        parameters_hash: hash_of(agreement.object("parameters")?),
        provider: agreement.did("provider")?,
        revision: agreement.positive_integer("revision")?,
        session_id: agreement.session_id("session_id")?,
        terms_hash: terms.terms_hash,
        capability: agreement.string("type")?.to_owned(),
        version: agreement.word("version")?,
    })
}

/// A refusal with CCN-2001: the signature is not what it has to be.
pub(super) fn not_signed(fault: impl AsRef<str>) -> Refusal {
    Refusal::new(Code::JwsInvalid, Kind::Authentication, fault)
}

fn hash_of(object: &Map<String, Value>) -> Digest {
    Digest::of(&members_to_canonical(object))
}

/// The hash of a text that says something.
fn said(members: Members<'_>, name: &str) -> Result<Digest, Refusal> {
    let text = members.string(name)?;
    if text.trim().is_empty() {
        return Err(malformed(format!("{name} is blank: say why")));
    }
    Ok(Digest::of(text.as_bytes()))
}

fn terms(object: &Map<String, Value>) -> Result<SessionTerms, Refusal> {
    let bytes = members_to_canonical(object);
    if bytes.len() > MAX_TERMS_BYTES {
        return Err(malformed(format!(
            "terms have {} bytes in their RFC 8785 form, at most {MAX_TERMS_BYTES} are taken: name \
             long texts by their hash",
            bytes.len()
        )));
    }
    if object
        .values()
        .any(|value| crate::json::depth(value) >= MAX_TERMS_DEPTH)
    {
        return Err(malformed(
            "terms are objects in one object at most: nothing lies deeper",
        ));
    }
    let members = Members::new("terms", object);
    Ok(SessionTerms {
        data_handling_hash: object.get("data_handling").map(hash_of_value),
        duration_s: members.positive_integer("duration_s")?,
        max_request_bytes: members.optional_positive_integer("max_request_bytes")?,
        max_requests: members.optional_positive_integer("max_requests")?,
        requests_per_minute: members.optional_positive_integer("requests_per_minute")?,
        terms_hash: Digest::of(&bytes),
    })
}

/// Of a text its UTF-8 bytes, of anything else its RFC 8785 form (machines.md section 6).
fn hash_of_value(value: &Value) -> Digest {
    match value.as_str() {
        Some(text) => Digest::of(text.as_bytes()),
        None => Digest::of(&to_canonical(value)),
    }
}
