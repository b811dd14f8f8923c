//! Sealed envelopes for every kind of message (AE-38 to AE-67).
//!
//! A payload is a plain struct with typed members; sealing adds the ids, the time and the
//! signature, after reading the payload with the ledger's own rules: what would be refused there is
//! refused here, with the same code, before anything is signed.

mod answer;
mod capability;
mod error;
mod negotiation;
mod offer;
mod payment;
mod registry;
mod request;
mod result;
mod round;
mod session;
mod verify;

pub use answer::{Accept, Reject};
pub use capability::Advert;
pub use error::ErrorReport;
pub use negotiation::{Answered, NegotiationStep};
pub use offer::Offer;
pub use payment::Payment;
pub use registry::{Entry, Registration, Rotation, StatusChange, Update, service_endpoint};
pub use request::{BudgetError, Request};
pub use result::{Delivery, ResultContent};
pub use round::{About, Ballot, NewProposal, RoundStep};
pub use session::{AnsweredTerms, Renews, SessionStep};
pub use verify::{Judgement, Verify};

use serde_json::{Map, Value};
use x811_protocol::canonical::to_canonical;
use x811_protocol::did::Did;
use x811_protocol::digest::Digest;
use x811_protocol::envelope::{Header, MessageType, PROTOCOL_VERSION, SealedEnvelope, seal};
use x811_protocol::id::{EnvelopeId, Nonce};
use x811_protocol::jws::{self, sign_object};
use x811_protocol::key::KeyId;
use x811_protocol::payload::form::all_faults;
use x811_protocol::payload::registry::{Operation, Verb};
use x811_protocol::payload::{PayloadRules, facts_of, ledger};
use x811_protocol::refusal::Refusal;

use crate::clock::Clock;
use crate::entropy::{Entropy, EntropyError};
use crate::identity::Identity;

/// Something that can be said.
pub trait Payload {
    /// The envelope's `type`.
    fn message_type(&self) -> MessageType;

    /// The envelope's `payload`.
    ///
    /// # Errors
    /// [`ComposeError`] when the members cannot be written.
    fn members(&self) -> Result<Map<String, Value>, ComposeError>;

    /// The same under that header, where members repeat something of it.
    ///
    /// # Errors
    /// As [`Payload::members`].
    fn members_under(&self, _header: &Header) -> Result<Map<String, Value>, ComposeError> {
        self.members()
    }

    /// The `typ` of a signature inside the payload, where it has one (machines.md section 7).
    fn signed_inside(&self) -> Option<&'static str> {
        None
    }
}

/// Seals what one agent says.
#[derive(Clone, Copy)]
pub struct Composer<'a> {
    identity: &'a Identity,
    entropy: &'a dyn Entropy,
    clock: &'a dyn Clock,
    ledger: Option<Did>,
}

impl<'a> Composer<'a> {
    /// Signs as `identity`.
    pub fn new(
        identity: &'a Identity,
        entropy: &'a dyn Entropy,
        clock: &'a dyn Clock,
    ) -> Composer<'a> {
        Composer {
            identity,
            entropy,
            clock,
            ledger: None,
        }
    }

    /// Names that ledger in every REQUEST and every message of somebody's own type, so that no other
    /// takes it (machines.md section 1).
    #[must_use]
    pub fn for_ledger(self, ledger: Option<Did>) -> Composer<'a> {
        Composer { ledger, ..self }
    }

    /// A sealed envelope to `to`: a fresh UUIDv7 whose time is `created`, a fresh UUIDv4 nonce.
    ///
    /// # Errors
    /// [`ComposeError::Refused`] when the ledger would refuse the payload's form,
    /// [`ComposeError::Entropy`], or what the payload's own members say.
    pub fn seal(&self, to: Did, payload: &dyn Payload) -> Result<SealedEnvelope, ComposeError> {
        let created_ms = self.clock.now();
        let id_random = self.entropy.array()?;
        let header = Header {
            id: EnvelopeId::from_parts(created_ms.as_ms(), &id_random),
            version: PROTOCOL_VERSION.to_owned(),
            message_type: payload.message_type(),
            from: self.identity.did,
            to,
            created_ms,
            expires_ms: None,
            nonce: Nonce::from_random(self.entropy.array()?),
        };
        let mut members = payload.members_under(&header)?;
        if let Some(named) = self
            .ledger
            .filter(|_| is_for_one_ledger(&header.message_type))
        {
            let named = Value::from(named.to_string());
            members.entry(ledger::MEMBER).or_insert(named);
        }
        let signing_key = self.identity.signing_key.public();
        let key_id = KeyId {
            did: header.from,
            key: signing_key,
        };
        if let Some(typ) = payload.signed_inside() {
            let signature = sign_object(&self.identity.signing_key, &key_id, typ, &members);
            members.insert(jws::MEMBER.to_owned(), signature.into());
        }
        let rules = PayloadRules::default();
        facts_of(&header, &key_id, &members, &rules)
            .map_err(|first| all_faults(first, header.message_type.as_str(), &members, &rules))?;
        if let Some(verb) = Verb::of(&header.message_type)? {
            Operation::parse(verb, header.from, to, signing_key, &members)?;
        }
        let (key, profile) = (&self.identity.signing_key, self.identity.profile);
        Ok(seal(header, members, key, profile))
    }
}

/// Whether a message of this type says which ledger it is for. Those to a registry are addressed to it.
#[must_use]
pub fn is_for_one_ledger(message_type: &MessageType) -> bool {
    ledger::may_be_named(message_type) && matches!(Verb::of(message_type), Ok(None))
}

/// SHA-256 of the RFC 8785 form of an OFFER's payload: what an ACCEPT repeats (AE-57). Made from
/// the canonical form, never from the bytes as received (AE-142).
pub fn offer_hash(payload: &Map<String, Value>) -> Digest {
    Digest::of(&to_canonical(payload))
}

/// A message of someone's own type (AE-122), with whatever payload.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Custom {
    /// The type of the message, `x811.<namespace>/<name>`.
    pub message_type: x811_protocol::envelope::CustomType,
    /// What it says, in members of its own.
    pub payload: Map<String, Value>,
}

impl Payload for Custom {
    fn message_type(&self) -> MessageType {
        MessageType::Custom(self.message_type.clone())
    }

    fn members(&self) -> Result<Map<String, Value>, ComposeError> {
        Ok(self.payload.clone())
    }
}

/// Why a message was not made.
#[derive(Debug, thiserror::Error)]
pub enum ComposeError {
    /// The ledger would refuse it; nothing was sent.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// No randomness for id and nonce.
    #[error(transparent)]
    Entropy(#[from] EntropyError),
    /// A budget that no JSON number spells exactly.
    #[error(transparent)]
    Budget(#[from] BudgetError),
    /// Price and fee together are beyond any amount.
    #[error("the price and its fee together are more than 10^12 USDC; offer less")]
    TotalTooLarge,
    /// A wallet could not sign its binding.
    #[error("the wallet's key could not sign its binding: {0}")]
    Wallet(#[from] crate::wallet::WalletKeyError),
}

/// Members of a payload, absent ones left out.
#[derive(Default)]
struct Members(Map<String, Value>);

impl Members {
    fn set(mut self, name: &str, value: impl Into<Value>) -> Members {
        self.0.insert(name.to_owned(), value.into());
        self
    }

    fn set_text(self, name: &str, value: impl ToString) -> Members {
        self.set(name, value.to_string())
    }

    fn set_some(self, name: &str, value: Option<impl Into<Value>>) -> Members {
        match value {
            Some(value) => self.set(name, value),
            None => self,
        }
    }
}

#[cfg(test)]
mod tests;
