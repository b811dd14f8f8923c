//! Messages of sessions about capabilities, and of the agreements that they make (capability.md).

use serde_json::{Map, Value};
use x811_protocol::canonical::members_to_canonical;
use x811_protocol::capability::agreement::JWS_TYPE;
use x811_protocol::capability::version::VersionRange;
use x811_protocol::digest::Digest;
use x811_protocol::envelope::{CustomType, MessageType};
use x811_protocol::facts::{CapabilityVerb, RenewalReason};
use x811_protocol::id::{AgreementId, EnvelopeId, SessionId};
use x811_protocol::jws::{self, JwsSignature};
use x811_protocol::key::KeyId;

use super::{ComposeError, Members, Payload};
use crate::identity::Identity;

/// One message of a session or about an agreement, to the other party.
#[derive(Debug, Clone, PartialEq)]
pub enum SessionStep {
    /// Opens a session.
    Request {
        /// The type of the capability.
        capability: String,
        /// The versions that the sender speaks.
        protocol: VersionRange,
        /// What the capability is to be used with; fits the schema of its descriptor.
        parameters: Map<String, Value>,
        /// The agreement to negotiate again; absent for a new one.
        renews: Option<Renews>,
    },
    /// Whether the target negotiates.
    Response {
        /// Id of the session: the envelope id of its request.
        session: SessionId,
        /// Whether it does.
        willing: bool,
        /// How long the session lives from here; absent: as long as the ledger says.
        lifetime_ms: Option<u64>,
    },
    /// The first terms.
    Offer {
        /// Id of the session: the envelope id of its request.
        session: SessionId,
        /// The terms, as connect.md has them.
        terms: Map<String, Value>,
    },
    /// Other terms in place of the last ones.
    Counter {
        /// Which terms they answer.
        answers: AnsweredTerms,
        /// The terms that are proposed.
        terms: Map<String, Value>,
    },
    /// The last terms are accepted.
    Accept {
        /// The terms that are accepted.
        answers: AnsweredTerms,
        /// SHA-256 of their RFC 8785 form.
        terms_hash: Digest,
    },
    /// The last terms are not accepted; ends the session.
    Reject {
        /// The terms that are not accepted.
        answers: AnsweredTerms,
        /// Why; never blank.
        rationale: String,
    },
    /// The sender leaves the session.
    Close {
        /// Id of the session: the envelope id of its request.
        session: SessionId,
    },
    /// The sender signs the agreement: [`SessionStep::agree`] makes one.
    Agree {
        /// What both sign.
        agreement: Map<String, Value>,
        /// The signature for strangers' tools.
        signature: JwsSignature,
    },
    /// The sender ends the agreement.
    Revoke {
        /// Id of the agreement.
        agreement: AgreementId,
        /// The revision in force.
        revision: u64,
        /// Why; never blank.
        reason: String,
    },
}

/// An agreement that is negotiated again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Renews {
    /// Id of that agreement.
    pub agreement: AgreementId,
    /// The revision in force.
    pub revision: u64,
    /// Why it is negotiated again.
    pub reason: RenewalReason,
}

/// The terms of a session that a message is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AnsweredTerms {
    /// Id of the session: the envelope id of its request.
    pub session: SessionId,
    /// The envelope that proposed them.
    pub step: EnvelopeId,
}

impl AnsweredTerms {
    fn members(self) -> Members {
        of(self.session).set_text("step_id", self.step)
    }
}

fn of(session: SessionId) -> Members {
    Members::default().set_text("session_id", session)
}

impl SessionStep {
    /// Signs the agreement by the key that signs the envelope (machines.md section 7).
    #[must_use]
    pub fn agree(agreement: Map<String, Value>, identity: &Identity) -> SessionStep {
        let key = &identity.signing_key;
        let kid = KeyId {
            did: identity.did,
            key: key.public(),
        };
        let signature = jws::sign(kid, JWS_TYPE, &members_to_canonical(&agreement), key);
        SessionStep::Agree {
            agreement,
            signature,
        }
    }

    const fn verb(&self) -> CapabilityVerb {
        match self {
            SessionStep::Request { .. } => CapabilityVerb::Request,
            SessionStep::Response { .. } => CapabilityVerb::Response,
            SessionStep::Offer { .. } => CapabilityVerb::Offer,
            SessionStep::Counter { .. } => CapabilityVerb::Counter,
            SessionStep::Accept { .. } => CapabilityVerb::Accept,
            SessionStep::Reject { .. } => CapabilityVerb::Reject,
            SessionStep::Close { .. } => CapabilityVerb::Close,
            SessionStep::Agree { .. } => CapabilityVerb::Agree,
            SessionStep::Revoke { .. } => CapabilityVerb::Revoke,
        }
    }
}

impl Payload for SessionStep {
    #[expect(clippy::expect_used, reason = "the names are types of messages")]
    fn message_type(&self) -> MessageType {
        let custom: CustomType = self.verb().as_str().parse().expect("a type of a message");
        MessageType::Custom(custom)
    }

    fn members(&self) -> Result<Map<String, Value>, ComposeError> {
        let members = match self {
            SessionStep::Request {
                capability,
                protocol,
                parameters,
                renews,
            } => request(capability, protocol, parameters, *renews),
            SessionStep::Response {
                session,
                willing,
                lifetime_ms,
            } => of(*session)
                .set("willing", *willing)
                .set_some("lifetime_ms", *lifetime_ms),
            SessionStep::Offer { session, terms } => of(*session).set("terms", terms.clone()),
            SessionStep::Counter { answers, terms } => {
                answers.members().set("terms", terms.clone())
            }
            SessionStep::Accept {
                answers,
                terms_hash,
            } => answers.members().set_text("terms_hash", terms_hash),
            SessionStep::Reject { answers, rationale } => {
                answers.members().set("rationale", rationale.clone())
            }
            SessionStep::Close { session } => of(*session),
            SessionStep::Agree {
                agreement,
                signature,
            } => Members::default()
                .set("agreement", agreement.clone())
                .set("protected", signature.protected.clone())
                .set_text("signature", signature.signature),
            SessionStep::Revoke {
                agreement,
                revision,
                reason,
            } => Members::default()
                .set_text("agreement_id", agreement)
                .set("revision", *revision)
                .set("reason", reason.clone()),
        };
        Ok(members.0)
    }
}

fn request(
    capability: &str,
    protocol: &VersionRange,
    parameters: &Map<String, Value>,
    renews: Option<Renews>,
) -> Members {
    let deprecated = protocol.deprecated.iter().map(ToString::to_string);
    let range = Members::default()
        .set_text("min", protocol.min)
        .set_text("max", protocol.max)
        .set("deprecated", deprecated.collect::<Vec<String>>());
    let members = Members::default()
        .set("type", capability)
        .set("protocol", range.0)
        .set("parameters", parameters.clone());
    match renews {
        None => members,
        Some(renews) => members
            .set_text("agreement_id", renews.agreement)
            .set("revision", renews.revision)
            .set_text("reason", renews.reason),
    }
}
