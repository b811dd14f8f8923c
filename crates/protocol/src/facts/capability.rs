//! Facts of `x811.capability/…` (capability.md): those of an advert, which the machine `descriptor`
//! decides on, and which others there are.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_with::skip_serializing_none;

use super::UnknownWord;
use super::member::{given, given_integer};
use super::session::{
    AgreementRevoke, SessionAccept, SessionAgree, SessionClose, SessionCounter, SessionOffer,
    SessionReject, SessionRequest, SessionResponse,
};
use crate::capability::kinds::{Kind, kind_of};
use crate::capability::version::{Version, VersionRange};
use crate::code::Code;
use crate::digest::Digest;
use crate::id::{AgreementId, EnvelopeId};
use crate::refusal::{Kind as Fault, Refusal, quoted};
use crate::stream::Subject;

/// The most capabilities in a descriptor.
const MOST_CAPABILITIES: usize = 64;

verbs! {
    /// The messages about capabilities.
    CapabilityVerb, "capability" {
        /// What the sender can do.
        Advertise = "advertise",
        /// Opens a session.
        Request = "request",
        /// Whether the target negotiates.
        Response = "response",
        /// The first terms.
        Offer = "offer",
        /// Other terms in place of the last ones.
        Counter = "counter",
        /// The last terms are agreed on.
        Accept = "accept",
        /// No agreement on them.
        Reject = "reject",
        /// The sender leaves the session.
        Close = "close",
        /// The sender signs the agreement.
        Agree = "agree",
        /// The sender ends the agreement.
        Revoke = "revoke",
    }
}

words! {
    /// What kind of thing a capability is.
    Category, "authorization, compute, knowledge, tool_access" {
        /// Processing power, inference, transformation of data.
        Compute = "compute",
        /// Expertise, access to knowledge.
        Knowledge = "knowledge",
        /// Tools, interfaces, services.
        ToolAccess = "tool_access",
        /// Permissions in some system.
        Authorization = "authorization",
    }
}

words! {
    /// Whether a capability can be used now (CC-70).
    Availability, "available, busy, degraded, unavailable" {
        /// It can be used at once.
        Available = "available",
        /// It can, with delay.
        Busy = "busy",
        /// It can, not as well as usual.
        Degraded = "degraded",
        /// It cannot: whoever asks is declined.
        Unavailable = "unavailable",
    }
}

/// What of one capability decides.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OfferedCapability {
    /// Whether it can be used now.
    pub availability: Availability,
    /// What kind of thing it is.
    pub category: Category,
    /// Of its own range, if it has one.
    #[serde(default, deserialize_with = "given")]
    pub deprecated: Option<Vec<Version>>,
    /// Of its own range, if it has one.
    #[serde(default, deserialize_with = "given")]
    pub max: Option<Version>,
    /// The most bytes of one request, if there is a limit.
    #[serde(default, deserialize_with = "given_integer")]
    pub max_payload_bytes: Option<u64>,
    /// Of its own range, if it has one.
    #[serde(default, deserialize_with = "given")]
    pub min: Option<Version>,
    /// The most requests a minute, if there is a limit.
    #[serde(default, deserialize_with = "given_integer")]
    pub requests_per_minute: Option<u64>,
    /// SHA-256 of the RFC 8785 form of the schema of its parameters; a custom type has one.
    #[serde(default, deserialize_with = "given")]
    pub schema_hash: Option<Digest>,
    /// Of the registry, or a reversed domain; at most 128 characters.
    #[serde(rename = "type")]
    pub capability: String,
    /// Of the implementation.
    pub version: Version,
}

impl OfferedCapability {
    /// The versions that it is used under: its own range, else that of the descriptor it is in.
    pub fn range(&self, of_descriptor: &VersionRange) -> VersionRange {
        let (Some(min), Some(max)) = (self.min, self.max) else {
            return of_descriptor.clone();
        };
        VersionRange {
            deprecated: self.deprecated.clone().unwrap_or_default(),
            max,
            min,
        }
    }

    fn consistent(&self) -> Result<(), Refusal> {
        let named = || quoted(&self.capability);
        match kind_of(&self.capability) {
            None => Err(malformed(format!(
                "type is {}: take one of the registry, such as compute.inference, or one of your own \
                 under a reversed domain, such as com.example.translate",
                named()
            ))),
            Some(Kind::WellKnown(category)) if category != self.category => Err(malformed(
                format!("the category of {} is {category}", named()),
            )),
            Some(Kind::Custom) if self.schema_hash.is_none() => Err(malformed(format!(
                "{} is a type of your own: describe its parameters in parameters_schema",
                named()
            ))),
            Some(Kind::WellKnown(_) | Kind::Custom) => self.limits(),
        }
    }

    fn limits(&self) -> Result<(), Refusal> {
        if self.requests_per_minute == Some(0) || self.max_payload_bytes == Some(0) {
            return Err(malformed("constraints are integers of at least 1"));
        }
        match (self.min, self.max, &self.deprecated) {
            (None, None, None) => Ok(()),
            (Some(min), Some(max), deprecated) => in_order(&VersionRange {
                deprecated: deprecated.clone().unwrap_or_default(),
                max,
                min,
            }),
            _ => Err(malformed(
                "a capability has min_version and max_version, or neither: then the descriptor's hold",
            )),
        }
    }
}

/// Facts of an advert.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AdvertiseFacts {
    /// What the sender can do, at most 64.
    pub capabilities: Vec<OfferedCapability>,
    /// SHA-256 of the payload's RFC 8785 form.
    pub payload_hash: Digest,
    /// The versions of the protocol that it speaks.
    pub protocol: VersionRange,
    /// One more than that of the advert before; the first is 1.
    pub revision: u64,
}

impl AdvertiseFacts {
    fn consistent(&self) -> Result<(), Refusal> {
        if self.revision == 0 {
            return Err(malformed("revision must be at least 1"));
        }
        if self.capabilities.len() > MOST_CAPABILITIES {
            return Err(malformed(format!(
                "a descriptor has at most {MOST_CAPABILITIES} capabilities"
            )));
        }
        in_order(&self.protocol)?;
        for (place, capability) in self.capabilities.iter().enumerate() {
            capability.consistent()?;
            let earlier = &self.capabilities[..place];
            if earlier
                .iter()
                .any(|known| known.capability == capability.capability)
            {
                return Err(malformed(format!(
                    "{} stands there twice: a descriptor has one entry for each type",
                    quoted(&capability.capability)
                )));
            }
        }
        Ok(())
    }
}

pub(super) fn in_order(range: &VersionRange) -> Result<(), Refusal> {
    range.fault().map_or(Ok(()), |fault| Err(malformed(fault)))
}

/// CCN-1001: the form of a message about capabilities (machines.md section 8).
pub(crate) fn malformed(message: impl AsRef<str>) -> Refusal {
    Refusal::new(Code::Schema, Fault::Shape, message)
}

facts_of_verbs! {
    /// The facts of one message about capabilities.
    CapabilityFacts of CapabilityVerb {
        Advertise(Box<AdvertiseFacts>),
        Request(Box<SessionRequest>),
        Response(SessionResponse),
        Offer(Box<SessionOffer>),
        Counter(Box<SessionCounter>),
        Accept(SessionAccept),
        Reject(SessionReject),
        Close(SessionClose),
        Agree(Box<SessionAgree>),
        Revoke(AgreementRevoke),
    }
}

impl CapabilityFacts {
    /// The session or the agreement that is named; `None` of what opens its own subject.
    pub fn subject(&self) -> Option<Subject> {
        let session = match self {
            CapabilityFacts::Advertise(_) | CapabilityFacts::Request(_) => return None,
            CapabilityFacts::Revoke(revoke) => {
                return Some(Subject::Agreement(revoke.agreement_id));
            }
            CapabilityFacts::Response(response) => response.session_id,
            CapabilityFacts::Offer(offer) => offer.session_id,
            CapabilityFacts::Counter(counter) => counter.session_id,
            CapabilityFacts::Accept(accept) => accept.session_id,
            CapabilityFacts::Reject(reject) => reject.session_id,
            CapabilityFacts::Close(close) => close.session_id,
            CapabilityFacts::Agree(agree) => agree.session_id,
        };
        Some(Subject::Session(session))
    }

    /// The agreement beside its own subject that is named.
    pub(super) fn agreement(&self) -> Option<AgreementId> {
        match self {
            CapabilityFacts::Request(request) => request.agreement_id,
            CapabilityFacts::Agree(agree) => Some(agree.agreement_id),
            CapabilityFacts::Advertise(_)
            | CapabilityFacts::Response(_)
            | CapabilityFacts::Offer(_)
            | CapabilityFacts::Counter(_)
            | CapabilityFacts::Accept(_)
            | CapabilityFacts::Reject(_)
            | CapabilityFacts::Close(_)
            | CapabilityFacts::Revoke(_) => None,
        }
    }

    /// The step that is answered, where one is named.
    pub const fn step(&self) -> Option<EnvelopeId> {
        match self {
            CapabilityFacts::Counter(counter) => Some(counter.step_id),
            CapabilityFacts::Accept(accept) => Some(accept.step_id),
            CapabilityFacts::Reject(reject) => Some(reject.step_id),
            CapabilityFacts::Advertise(_)
            | CapabilityFacts::Request(_)
            | CapabilityFacts::Response(_)
            | CapabilityFacts::Offer(_)
            | CapabilityFacts::Close(_)
            | CapabilityFacts::Agree(_)
            | CapabilityFacts::Revoke(_) => None,
        }
    }

    pub(super) fn consistent(&self) -> Result<(), Refusal> {
        match self {
            CapabilityFacts::Advertise(advert) => advert.consistent(),
            CapabilityFacts::Request(request) => request.consistent(),
            CapabilityFacts::Offer(offer) => offer.terms.consistent(),
            CapabilityFacts::Counter(counter) => counter.terms.consistent(),
            CapabilityFacts::Agree(agree) => agree.consistent(),
            CapabilityFacts::Response(_)
            | CapabilityFacts::Accept(_)
            | CapabilityFacts::Reject(_)
            | CapabilityFacts::Close(_)
            | CapabilityFacts::Revoke(_) => Ok(()),
        }
    }
}
