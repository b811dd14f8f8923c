//! What the machines decide on: the facts of a message (record.md section 3).
//!
//! Facts are a pure function of the signed body, selected by the rules in force. They stand in the
//! record, so that a decision can be repeated from the log alone, and an auditor who has the body
//! computes them again. No machine ever looks at a payload. Member names and forms are those of the
//! record; free text of agents never becomes a fact. They are declared in the order of RFC 8785, so that
//! a record is written in one pass.

#[macro_use]
mod words;

mod capability;
pub mod consensus;
mod interaction;
mod member;
mod negotiation;
mod session;

pub(crate) use capability::malformed;
pub use capability::{
    AdvertiseFacts, Availability, CapabilityFacts, CapabilityVerb, Category, OfferedCapability,
};
pub use consensus::{ConsensusFacts, ConsensusVerb};
pub use interaction::{
    AcceptFacts, AcceptancePolicy, DisputeCode, ErrorFacts, Location, OfferFacts, PaymentFacts,
    RejectCode, RejectFacts, RequestFacts, ResultFacts, VerifyFacts,
};
pub(crate) use member::{MAX_SAFE_INTEGER, is_network_name, is_task_type};
pub use negotiation::{
    AmountOf, ContractAccept, ContractCounter, ContractOffer, Currency, NegotiationFacts,
    NegotiationVerb, NotACurrency, StepRefusal, TermsFacts,
};
pub use session::{
    AgreementRevoke, RenewalReason, SessionAccept, SessionAgree, SessionClose, SessionCounter,
    SessionOffer, SessionReject, SessionRequest, SessionResponse, SessionTerms, UsageLimits,
};
pub use words::UnknownWord;

use serde::de::{DeserializeSeed, Error as _};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

use crate::digest::Digest;
use crate::envelope::{AcceptedHeader, CoreType, MessageType};
use crate::id::EnvelopeId;
use crate::refusal::Refusal;
use crate::stream::Subject;

/// The facts of one message.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum Facts {
    /// Facts of a message `x811/request`.
    Request(RequestFacts),
    /// Facts of a message `x811/offer`.
    Offer(OfferFacts),
    /// Facts of a message `x811/accept`.
    Accept(AcceptFacts),
    /// Facts of a message `x811/reject`.
    Reject(RejectFacts),
    /// Facts of a message `x811/result`.
    Result(ResultFacts),
    /// Facts of a message `x811/verify`.
    Verify(VerifyFacts),
    /// Facts of a message `x811/payment`.
    Payment(PaymentFacts),
    /// Facts of a message `x811/error`.
    Error(ErrorFacts),
    /// Facts of a message `x811.negotiation/…`.
    Negotiation(NegotiationFacts),
    /// Facts of a message `x811.capability/…`.
    Capability(CapabilityFacts),
    /// Facts of a message `x811.consensus/…`.
    Consensus(ConsensusFacts),
    /// Of every extension type that no machine takes.
    Custom(CustomFacts),
}

/// The facts of a core message: one about an interaction.
#[derive(Debug, Clone, Copy)]
pub enum CoreFacts<'a> {
    /// Facts of a message `x811/request`.
    Request(&'a RequestFacts),
    /// Facts of a message `x811/offer`.
    Offer(&'a OfferFacts),
    /// Facts of a message `x811/accept`.
    Accept(&'a AcceptFacts),
    /// Facts of a message `x811/reject`.
    Reject(&'a RejectFacts),
    /// Facts of a message `x811/result`.
    Result(&'a ResultFacts),
    /// Facts of a message `x811/verify`.
    Verify(&'a VerifyFacts),
    /// Facts of a message `x811/payment`.
    Payment(&'a PaymentFacts),
    /// Facts of a message `x811/error`.
    Error(&'a ErrorFacts),
}

impl Facts {
    /// Returns the facts of a core message; `None` for every other one.
    pub const fn core(&self) -> Option<CoreFacts<'_>> {
        Some(match self {
            Facts::Request(facts) => CoreFacts::Request(facts),
            Facts::Offer(facts) => CoreFacts::Offer(facts),
            Facts::Accept(facts) => CoreFacts::Accept(facts),
            Facts::Reject(facts) => CoreFacts::Reject(facts),
            Facts::Result(facts) => CoreFacts::Result(facts),
            Facts::Verify(facts) => CoreFacts::Verify(facts),
            Facts::Payment(facts) => CoreFacts::Payment(facts),
            Facts::Error(facts) => CoreFacts::Error(facts),
            Facts::Negotiation(_)
            | Facts::Capability(_)
            | Facts::Consensus(_)
            | Facts::Custom(_) => return None,
        })
    }

    /// The record form: an object with the members of record.md section 3, absent ones left out.
    #[expect(
        clippy::expect_used,
        reason = "facts are plain structs with string keys"
    )]
    pub fn to_value(&self) -> Value {
        serde_json::to_value(self).expect("facts hold strings, integers and booleans only")
    }

    /// Reads the record form of a message of this type and checks that its members agree.
    ///
    /// # Errors
    /// X811-4001 for a missing, unknown or malformed member or one over its cap; the code of the
    /// broken rule where members contradict each other, such as a wrong fee.
    pub fn from_value(message_type: &MessageType, value: &Value) -> Result<Self, Refusal> {
        let facts = Facts::read(message_type, value).map_err(|fault| {
            Refusal::shape(format!(
                "the recorded facts of {message_type} cannot be read: {fault}"
            ))
        })?;
        facts.consistent()
    }

    fn read<'de, D: Deserializer<'de>>(
        message_type: &MessageType,
        reader: D,
    ) -> Result<Self, D::Error> {
        match message_type {
            MessageType::Core(CoreType::Request) => {
                Deserialize::deserialize(reader).map(Self::Request)
            }
            MessageType::Core(CoreType::Offer) => Deserialize::deserialize(reader).map(Self::Offer),
            MessageType::Core(CoreType::Accept) => {
                Deserialize::deserialize(reader).map(Self::Accept)
            }
            MessageType::Core(CoreType::Reject) => {
                Deserialize::deserialize(reader).map(Self::Reject)
            }
            MessageType::Core(CoreType::Result) => {
                Deserialize::deserialize(reader).map(Self::Result)
            }
            MessageType::Core(CoreType::Verify) => {
                Deserialize::deserialize(reader).map(Self::Verify)
            }
            MessageType::Core(CoreType::Payment) => {
                Deserialize::deserialize(reader).map(Self::Payment)
            }
            MessageType::Core(CoreType::Error) => Deserialize::deserialize(reader).map(Self::Error),
            MessageType::Custom(_) => {
                if let Some(verb) = NegotiationVerb::of(message_type) {
                    Self::read_of_machine(reader, |value| {
                        NegotiationFacts::from_value(verb, value).map(Self::Negotiation)
                    })
                } else if let Some(verb) = CapabilityVerb::of(message_type) {
                    Self::read_of_machine(reader, |value| {
                        CapabilityFacts::from_value(verb, value).map(Self::Capability)
                    })
                } else if let Some(verb) = ConsensusVerb::of(message_type) {
                    Self::read_of_machine(reader, |value| {
                        ConsensusFacts::from_value(verb, value).map(Self::Consensus)
                    })
                } else {
                    Deserialize::deserialize(reader).map(Self::Custom)
                }
            }
        }
    }

    /// Reads the facts of a message to a machine.
    fn read_of_machine<'de, D: Deserializer<'de>>(
        reader: D,
        of_machine: impl FnOnce(Value) -> Result<Self, serde_json::Error>,
    ) -> Result<Self, D::Error> {
        let value = Value::deserialize(reader)?;
        of_machine(value).map_err(D::Error::custom)
    }

    /// What the message is about.
    pub fn refers_to(&self) -> RefersTo {
        match self {
            Self::Request(_) => RefersTo::Itself,
            Self::Offer(offer) => RefersTo::Envelope(offer.request_id),
            Self::Accept(accept) => RefersTo::Envelope(accept.offer_id),
            Self::Reject(reject) => RefersTo::Envelope(reject.offer_id),
            Self::Result(result) => RefersTo::Envelope(result.request_id),
            Self::Verify(verify) => RefersTo::Envelope(verify.request_id),
            Self::Payment(payment) => RefersTo::Envelope(payment.request_id),
            Self::Error(error) => error
                .related_message_id
                .map_or(RefersTo::Nothing, RefersTo::EnvelopeIfKnown),
            Self::Negotiation(negotiation) => negotiation
                .contract()
                .map_or(RefersTo::Itself, |id| RefersTo::Subject(id.into())),
            Self::Capability(capability) => capability
                .subject()
                .map_or(RefersTo::Itself, RefersTo::Subject),
            Self::Consensus(ConsensusFacts::Propose(_)) => RefersTo::Itself,
            Self::Consensus(consensus) => RefersTo::Subject(consensus.round().into()),
            Self::Custom(_) => RefersTo::Nothing,
        }
    }

    /// The subject that the message of `envelope` opens, where it refers to itself.
    pub fn opened(&self, envelope: &AcceptedHeader) -> Subject {
        match self {
            Self::Negotiation(_) => Subject::Contract(envelope.id.into()),
            Self::Capability(CapabilityFacts::Advertise(_)) => Subject::Descriptor(envelope.from),
            Self::Capability(_) => Subject::Session(envelope.id.into()),
            Self::Consensus(_) => Subject::Round(envelope.id.into()),
            Self::Request(_)
            | Self::Offer(_)
            | Self::Accept(_)
            | Self::Reject(_)
            | Self::Result(_)
            | Self::Verify(_)
            | Self::Payment(_)
            | Self::Error(_)
            | Self::Custom(_) => Subject::Interaction(envelope.id.into()),
        }
    }

    /// True if the body may be erased once its subject is over: a REQUEST, a RESULT, or one of a negotiation, of
    /// a session or about an agreement. What both parties signed of an agreement stays: the terms have to be
    /// there for both.
    pub const fn are_erasable(&self) -> bool {
        match self {
            Self::Request(_) | Self::Result(_) | Self::Negotiation(_) => true,
            Self::Capability(facts) => !matches!(
                facts,
                CapabilityFacts::Advertise(_) | CapabilityFacts::Agree(_)
            ),
            Self::Offer(_)
            | Self::Accept(_)
            | Self::Reject(_)
            | Self::Verify(_)
            | Self::Payment(_)
            | Self::Error(_)
            | Self::Consensus(_)
            | Self::Custom(_) => false,
        }
    }

    /// The message that one names as what it follows.
    pub fn answered(&self) -> Option<EnvelopeId> {
        match self {
            Self::Request(_) | Self::Capability(_) | Self::Consensus(_) | Self::Custom(_) => None,
            Self::Offer(offer) => Some(offer.request_id),
            Self::Accept(accept) => Some(accept.offer_id),
            Self::Reject(reject) => Some(reject.offer_id),
            Self::Result(result) => Some(result.offer_id),
            Self::Verify(verify) => Some(verify.offer_id),
            Self::Payment(payment) => Some(payment.offer_id),
            Self::Error(error) => error.related_message_id,
            Self::Negotiation(negotiation) => negotiation.step(),
        }
    }

    /// The subjects beside its own that a message names: what is due of them lapses before it is
    /// decided (machines.md section 3).
    pub fn names(&self) -> impl Iterator<Item = Subject> {
        let mut rounds = Vec::new();
        let (contract, agreement) = match self {
            Self::Request(request) => (request.negotiation_id, request.agreement_id),
            Self::Capability(capability) => (None, capability.agreement()),
            Self::Consensus(consensus) => {
                rounds = consensus.names();
                (None, None)
            }
            Self::Offer(_)
            | Self::Accept(_)
            | Self::Reject(_)
            | Self::Result(_)
            | Self::Verify(_)
            | Self::Payment(_)
            | Self::Error(_)
            | Self::Negotiation(_)
            | Self::Custom(_) => (None, None),
        };
        let contract = contract.map(Subject::Contract);
        contract
            .into_iter()
            .chain(agreement.map(Subject::Agreement))
            .chain(rounds.into_iter().map(Subject::Round))
    }

    /// The facts, if their members agree with each other.
    pub(crate) fn consistent(self) -> Result<Self, Refusal> {
        match &self {
            Self::Offer(offer) => offer.consistent()?,
            Self::Result(result) => result.consistent()?,
            Self::Verify(verify) => verify.consistent()?,
            Self::Payment(payment) => payment.consistent()?,
            Self::Request(_)
            | Self::Accept(_)
            | Self::Reject(_)
            | Self::Error(_)
            | Self::Custom(_) => {}
            Self::Negotiation(negotiation) => negotiation.consistent()?,
            Self::Capability(capability) => capability.consistent()?,
            Self::Consensus(consensus) => consensus.consistent()?,
        }
        Ok(self)
    }
}

/// What a message is about: said once, for its turn, for look-ups before it and for audits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RefersTo {
    /// It opens a subject, named by its own envelope id; an advert is about its sender's descriptor.
    Itself,
    /// The subject of that envelope, which must be known.
    Envelope(EnvelopeId),
    /// The subject of that envelope, where that is known (AX-32).
    EnvelopeIfKnown(EnvelopeId),
    /// The subject that it names.
    Subject(Subject),
    /// No subject: it is mail.
    Nothing,
}

/// Reads the facts of a message of this type where they stand.
pub(crate) struct FactsOf<'a>(pub(crate) &'a MessageType);

impl<'de> DeserializeSeed<'de> for FactsOf<'_> {
    type Value = Facts;

    fn deserialize<D: Deserializer<'de>>(self, reader: D) -> Result<Facts, D::Error> {
        let facts = Facts::read(self.0, reader)?;
        facts.consistent().map_err(D::Error::custom)
    }
}
/// Facts of an extension type: its payload is opaque (AE-124).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CustomFacts {
    /// SHA-256 of the payload's RFC 8785 form.
    pub payload_hash: Digest,
}
