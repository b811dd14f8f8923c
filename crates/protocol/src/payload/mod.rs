//! From a payload to facts: one file per message, each reading its members in the
//! specification's order.
//!
//! Known members are checked strictly and unknown ones are ignored, though the signature and
//! `payload_hash` cover them (AE-39). Facts depend on the *values* in the payload and never on how
//! they were spelled: `60`, `60.0` and `6e1` are one integer, because they have one RFC 8785 form.
//!
//! A payload that is read here is well formed in itself. Whether it fits the interaction - the
//! state, the sender, the references, the budget, the network - is for the machines to decide.

mod accept;
pub mod capability;
pub mod consensus;
pub(crate) mod content_type;
mod custom;
mod error;
pub mod form;
pub mod ledger;
pub(crate) mod member;
mod negotiation;
mod offer;
mod payment;
pub mod registry;
mod reject;
mod request;
mod reserved;
mod result;
mod verify;

pub use reserved::is_reserved;

use serde_json::{Map, Value};

use crate::code::Code;
use crate::did::Did;
use crate::envelope::{CoreType, Header, MessageType};
use crate::facts::consensus::ConsensusVerb;
use crate::facts::{CapabilityVerb, Facts, NegotiationVerb};
use crate::key::KeyId;
use crate::refusal::{Kind, Refusal};

/// The settings of a ledger that decide whether a payload is well formed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PayloadRules {
    /// The ledger that reads, where it is known: a payload that names another is refused.
    pub ledger: Option<Did>,
    /// Take addresses without a correct EIP-55 checksum (the interoperability switch of AX-15).
    pub lenient_addresses: bool,
    /// Take what the published SDK writes otherwise (decision 0190).
    pub reference_sdk: bool,
    /// The most bytes of inline content, UTF-8 encoded (AX-41).
    pub max_inline_content_bytes: u64,
}

impl Default for PayloadRules {
    /// Checksummed addresses and 512 KiB of inline content.
    fn default() -> Self {
        Self {
            ledger: None,
            lenient_addresses: false,
            reference_sdk: false,
            max_inline_content_bytes: 524_288,
        }
    }
}

/// Refuses a body that is too long for messages of this type (machines.md section 6); asked before its
/// facts. `body_bytes` is the length of the body, which has no signature.
///
/// # Errors
/// X811-6002.
pub fn check_size(message_type: &MessageType, body_bytes: usize) -> Result<(), Refusal> {
    if NegotiationVerb::of(message_type).is_some() {
        negotiation::check_size(body_bytes)
    } else if let Some(verb) = CapabilityVerb::of(message_type) {
        capability::check_size(verb, body_bytes)
    } else {
        Ok(())
    }
}

/// The facts of a message with that header, whose envelope is signed by `key`.
///
/// # Errors
/// Those of [`facts`]; of a message of a round also CCN-2001 for the signature inside it.
pub fn facts_of(
    header: &Header,
    key: &KeyId,
    payload: &Map<String, Value>,
    rules: &PayloadRules,
) -> Result<Facts, Refusal> {
    match ConsensusVerb::of(&header.message_type) {
        Some(verb) => consensus::read(verb, header, key, payload).map(Facts::Consensus),
        None => facts(&header.message_type, header.from, payload, rules),
    }
}

/// The facts of a message of this type from this sender; messages of rounds take more than that to
/// be read: [`facts_of`].
///
/// # Errors
/// - X811-4001 (HTTP 400) for a member that is missing or has the wrong type or form (AX-46);
/// - X811-4001 (HTTP 422) for an OFFER whose fee or total does not follow from its price (AX-4) and
///   a dispute without reason or code (AE-16);
/// - X811-5001 (HTTP 400) for a malformed transaction hash, X811-5002 for an unusable address;
/// - X811-4001 (HTTP 422 or 400) for a message in a reserved namespace, and for a REQUEST or a
///   message of somebody's own that names another ledger;
/// - CCN-1001 and CCN-1002 (HTTP 400) for a malformed message about capabilities, CCN-2001 (HTTP 401) for
///   a signature under an agreement that does not hold;
/// - X811-6002 for content over the limit, X811-6003 for a malformed content type.
pub fn facts(
    message_type: &MessageType,
    from: Did,
    payload: &Map<String, Value>,
    rules: &PayloadRules,
) -> Result<Facts, Refusal> {
    ledger::check(message_type, payload, rules.ledger)?;
    let facts = match message_type {
        MessageType::Core(CoreType::Request) => Facts::Request(request::facts(from, payload)?),
        MessageType::Core(CoreType::Offer) => Facts::Offer(offer::facts(payload, rules)?),
        MessageType::Core(CoreType::Accept) => Facts::Accept(accept::facts(payload)?),
        MessageType::Core(CoreType::Reject) => Facts::Reject(reject::facts(payload)?),
        MessageType::Core(CoreType::Result) => Facts::Result(result::facts(payload, rules)?),
        MessageType::Core(CoreType::Verify) => Facts::Verify(verify::facts(payload, rules)?),
        MessageType::Core(CoreType::Payment) => Facts::Payment(payment::facts(payload, rules)?),
        MessageType::Core(CoreType::Error) => Facts::Error(error::facts(payload)?),
        MessageType::Custom(custom) => {
            if let Some(verb) = NegotiationVerb::of(message_type) {
                Facts::Negotiation(negotiation::facts(verb, payload)?)
            } else if let Some(verb) = CapabilityVerb::of(message_type) {
                Facts::Capability(capability::facts(verb, from, payload, rules.ledger)?)
            } else {
                reserved::check(custom)?;
                Facts::Custom(custom::facts(payload))
            }
        }
    };
    facts.consistent()
}

/// What is malformed about capabilities or in a round is answered CCN-1001 (machines.md section 8).
fn in_own_words(refusal: Refusal) -> Refusal {
    if (refusal.code, refusal.kind) == (Code::InvalidStateTransition, Kind::Shape) {
        return Refusal {
            code: Code::Schema,
            ..refusal
        };
    }
    refusal
}
