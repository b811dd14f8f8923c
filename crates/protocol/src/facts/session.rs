//! Facts of the messages of a session and of an agreement, which the machines `session` and
//! `agreement` decide on (capability.md).

use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

use super::UnknownWord;
use super::capability::{in_order, malformed};
use super::member::{given, given_integer};
use crate::capability::kinds::kind_of;
use crate::capability::version::{Version, VersionRange};
use crate::did::Did;
use crate::digest::Digest;
use crate::id::{AgreementId, EnvelopeId, SessionId};
use crate::key::KeyId;
use crate::refusal::{Refusal, quoted};

words! {
    /// Why an agreement is negotiated again (CC-87).
    RenewalReason, "resource_change, new_constraint, inadequate" {
        /// Resources are available in another measure.
        ResourceChange = "resource_change",
        /// A constraint from outside has come up.
        NewConstraint = "new_constraint",
        /// The terms do not suffice any more.
        Inadequate = "inadequate",
    }
}

/// What use of a capability is held to; absent members are no limit.
#[skip_serializing_none]
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct UsageLimits {
    /// The most bytes of one REQUEST's body.
    #[serde(default, deserialize_with = "given_integer")]
    pub max_request_bytes: Option<u64>,
    /// The most REQUESTs in all.
    #[serde(default, deserialize_with = "given_integer")]
    pub max_requests: Option<u64>,
    /// The most REQUESTs in a minute, counted from the start of the revision.
    #[serde(default, deserialize_with = "given_integer")]
    pub requests_per_minute: Option<u64>,
}

/// What of the terms of a session decides.
#[skip_serializing_none]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SessionTerms {
    /// Hash of `data_handling`, if there is one.
    #[serde(default, deserialize_with = "given")]
    pub data_handling_hash: Option<Digest>,
    /// For how long, in seconds, from the second signature on; at least 1.
    pub duration_s: u64,
    /// As in [`UsageLimits`].
    #[serde(default, deserialize_with = "given_integer")]
    pub max_request_bytes: Option<u64>,
    /// As in [`UsageLimits`].
    #[serde(default, deserialize_with = "given_integer")]
    pub max_requests: Option<u64>,
    /// As in [`UsageLimits`].
    #[serde(default, deserialize_with = "given_integer")]
    pub requests_per_minute: Option<u64>,
    /// SHA-256 of the RFC 8785 form of all terms, unknown members included.
    pub terms_hash: Digest,
}

impl SessionTerms {
    /// What use is held to by them.
    pub const fn limits(&self) -> UsageLimits {
        UsageLimits {
            max_request_bytes: self.max_request_bytes,
            max_requests: self.max_requests,
            requests_per_minute: self.requests_per_minute,
        }
    }

    pub(super) fn consistent(&self) -> Result<(), Refusal> {
        let limits = [
            Some(self.duration_s),
            self.max_request_bytes,
            self.max_requests,
            self.requests_per_minute,
        ];
        if limits.contains(&Some(0)) {
            return Err(malformed("terms: duration_s and limits are at least 1"));
        }
        Ok(())
    }
}

/// Facts of a request: what a session is about.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SessionRequest {
    /// The agreement to negotiate again, if one is.
    #[serde(default, deserialize_with = "given")]
    pub agreement_id: Option<AgreementId>,
    /// SHA-256 of the RFC 8785 form of `parameters`.
    pub parameters_hash: Digest,
    /// The versions that the initiator speaks.
    pub protocol: VersionRange,
    /// Why it is negotiated again; there with `agreement_id`.
    #[serde(default, deserialize_with = "given")]
    pub reason: Option<RenewalReason>,
    /// The revision that is in force; there with `agreement_id`.
    #[serde(default, deserialize_with = "given_integer")]
    pub revision: Option<u64>,
    /// The type of the capability.
    #[serde(rename = "type")]
    pub capability: String,
}

impl SessionRequest {
    pub(super) fn consistent(&self) -> Result<(), Refusal> {
        if kind_of(&self.capability).is_none() {
            return Err(no_such_type(&self.capability));
        }
        let is_renewal = self.agreement_id.is_some();
        if is_renewal != self.revision.is_some() || is_renewal != self.reason.is_some() {
            return Err(malformed(
                "agreement_id, revision and reason stand together: name all three to negotiate an \
                 agreement again, none for a new one",
            ));
        }
        in_order(&self.protocol)
    }
}

/// Facts of a response.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SessionResponse {
    /// How long the session lives from here, if the target says so.
    #[serde(default, deserialize_with = "given_integer")]
    pub lifetime_ms: Option<u64>,
    /// Id of the session: the envelope id of its request.
    pub session_id: SessionId,
    /// Whether the target negotiates.
    pub willing: bool,
}

/// Facts of an offer: the first terms.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SessionOffer {
    /// Id of the session: the envelope id of its request.
    pub session_id: SessionId,
    /// The terms that are proposed.
    pub terms: SessionTerms,
}

/// Facts of a counter: other terms.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SessionCounter {
    /// Id of the session: the envelope id of its request.
    pub session_id: SessionId,
    /// The message with the last terms.
    pub step_id: EnvelopeId,
    /// The terms that are proposed.
    pub terms: SessionTerms,
}

/// Facts of an accept.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SessionAccept {
    /// Id of the session: the envelope id of its request.
    pub session_id: SessionId,
    /// The message with the last terms.
    pub step_id: EnvelopeId,
    /// What the sender believes their hash to be.
    pub terms_hash: Digest,
}

/// Facts of a reject.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SessionReject {
    /// SHA-256 of the rationale, which is never blank.
    pub rationale_hash: Digest,
    /// Id of the session: the envelope id of its request.
    pub session_id: SessionId,
    /// The message with the last terms.
    pub step_id: EnvelopeId,
}

/// Facts of a close.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SessionClose {
    /// Id of the session: the envelope id of its request.
    pub session_id: SessionId,
}

/// Facts of a signature under an agreement.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SessionAgree {
    /// SHA-256 of the RFC 8785 form of the agreement.
    pub agreement_hash: Digest,
    /// Its id: that of the session that made the first revision.
    pub agreement_id: AgreementId,
    /// Who may use the capability.
    pub consumer: Did,
    /// For how long, in seconds.
    pub duration_s: u64,
    /// By which key the JWS is: the one that signed the envelope.
    pub kid: KeyId,
    /// SHA-256 of the RFC 8785 form of its `parameters`.
    pub parameters_hash: Digest,
    /// Who provides it.
    pub provider: Did,
    /// Which revision it becomes.
    pub revision: u64,
    /// Id of the session: the envelope id of its request.
    pub session_id: SessionId,
    /// SHA-256 of the RFC 8785 form of its `terms`.
    pub terms_hash: Digest,
    /// The type of the capability.
    #[serde(rename = "type")]
    pub capability: String,
    /// The version that is used.
    pub version: Version,
}

impl SessionAgree {
    pub(super) fn consistent(&self) -> Result<(), Refusal> {
        if self.revision == 0 || self.duration_s == 0 {
            return Err(malformed(
                "revision and duration_s of an agreement are at least 1",
            ));
        }
        if kind_of(&self.capability).is_none() {
            return Err(no_such_type(&self.capability));
        }
        Ok(())
    }
}

/// Facts of a revocation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AgreementRevoke {
    /// Id of the agreement: that of the session that made its first revision.
    pub agreement_id: AgreementId,
    /// SHA-256 of the reason, which is never blank.
    pub reason_hash: Digest,
    /// The revision that is in force.
    pub revision: u64,
}

fn no_such_type(name: &str) -> Refusal {
    malformed(format!(
        "type is {}: no capability is called so",
        quoted(name)
    ))
}
