//! The payload of `x811/verify` (AE-61 to AE-63).

use serde_json::{Map, Value};

use super::PayloadRules;
use super::member::Members;
use crate::code::Code;
use crate::facts::{DisputeCode, VerifyFacts};
use crate::refusal::Refusal;

/// Reads a VERIFY. A dispute needs its reason and its code (AE-16); beside `verified=true` both are
/// checked for their form and mean nothing. The published SDK leaves `offer_id` out, where the
/// REQUEST's id stands for its one OFFER.
pub(super) fn facts(
    payload: &Map<String, Value>,
    rules: &PayloadRules,
) -> Result<VerifyFacts, Refusal> {
    let members = Members::new("VERIFY", payload);
    let request_id = members.envelope_id("request_id")?;
    let offer_id = match members.optional_envelope_id("offer_id")? {
        None if rules.reference_sdk => request_id,
        Some(offer_id) => offer_id,
        None => members.envelope_id("offer_id")?,
    };
    let result_hash = members.digest("result_hash")?;
    let verified = members.boolean("verified")?;
    let dispute_reason = members.optional_string("dispute_reason")?;
    let dispute_code: Option<DisputeCode> = members.optional_word("dispute_code")?;
    if !verified && (dispute_reason.is_none() || dispute_code.is_none()) {
        return Err(Refusal::guard(
            Code::InvalidStateTransition,
            "verified=false needs dispute_reason and dispute_code; say what is wrong",
        ));
    }
    Ok(VerifyFacts {
        request_id,
        offer_id,
        result_hash,
        verified,
        dispute_code: dispute_code.filter(|_| !verified),
    })
}
