//! The payloads of `x811.negotiation/…` (contract.md, "Messages and facts").

mod terms;

use serde_json::{Map, Value};

use super::member::Members;
use crate::code::Code;
use crate::facts::{
    ContractAccept, ContractCounter, ContractOffer, NegotiationFacts, NegotiationVerb, StepRefusal,
};
use crate::refusal::{Kind, Refusal};

/// The most bytes of the body of such a message (machines.md section 6).
const MAX_BODY_BYTES: usize = 16_384;

/// Refuses a body that is too long.
pub(super) fn check_size(body_bytes: usize) -> Result<(), Refusal> {
    if body_bytes <= MAX_BODY_BYTES {
        return Ok(());
    }
    let message = format!(
        "a message of a negotiation has at most {MAX_BODY_BYTES} bytes in its RFC 8785 form, this \
         one has {body_bytes}: name long texts by their hash"
    );
    Err(Refusal::new(Code::ResultTooLarge, Kind::Limit, message))
}

/// Reads the payload of that message.
pub(super) fn facts(
    verb: NegotiationVerb,
    payload: &Map<String, Value>,
) -> Result<NegotiationFacts, Refusal> {
    Ok(match verb {
        NegotiationVerb::Offer => NegotiationFacts::Offer(Box::new(offer(payload)?)),
        NegotiationVerb::Counter => NegotiationFacts::Counter(Box::new(counter(payload)?)),
        NegotiationVerb::Accept => NegotiationFacts::Accept(accept(payload)?),
        NegotiationVerb::Reject => NegotiationFacts::Reject(refusal("reject", payload)?),
        NegotiationVerb::Withdraw => NegotiationFacts::Withdraw(refusal("withdraw", payload)?),
    })
}

fn offer(payload: &Map<String, Value>) -> Result<ContractOffer, Refusal> {
    let members = Members::new("offer", payload);
    Ok(ContractOffer {
        terms: terms::facts(members)?,
        expires_at_ms: members.moment("expires_at")?,
        max_turns: members.optional_positive_integer("max_rounds")?,
        parent: members.optional_contract_id("parent_negotiation_id")?,
        message_hash: members.optional_text_hash("message")?,
    })
}

fn counter(payload: &Map<String, Value>) -> Result<ContractCounter, Refusal> {
    let members = Members::new("counter", payload);
    Ok(ContractCounter {
        negotiation_id: members.contract_id("negotiation_id")?,
        step_id: members.envelope_id("step_id")?,
        terms: terms::facts(members)?,
        expires_at_ms: members.optional_moment("expires_at")?,
        message_hash: members.optional_text_hash("message")?,
    })
}

fn accept(payload: &Map<String, Value>) -> Result<ContractAccept, Refusal> {
    let members = Members::new("accept", payload);
    Ok(ContractAccept {
        negotiation_id: members.contract_id("negotiation_id")?,
        step_id: members.envelope_id("step_id")?,
        terms_hash: members.digest("terms_hash")?,
    })
}

fn refusal(name: &'static str, payload: &Map<String, Value>) -> Result<StepRefusal, Refusal> {
    let members = Members::new(name, payload);
    Ok(StepRefusal {
        negotiation_id: members.contract_id("negotiation_id")?,
        step_id: members.envelope_id("step_id")?,
        message_hash: members.optional_text_hash("message")?,
    })
}
