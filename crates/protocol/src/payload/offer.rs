//! The payload of `x811/offer` (AE-49 to AE-56). Its facts check fee and total (AX-4).

use serde_json::{Map, Value};

use super::PayloadRules;
use super::member::Members;
use crate::canonical::to_canonical;
use crate::digest::Digest;
use crate::facts::OfferFacts;
use crate::refusal::Refusal;

/// Reads an OFFER.
pub(super) fn facts(
    payload: &Map<String, Value>,
    rules: &PayloadRules,
) -> Result<OfferFacts, Refusal> {
    let members = Members::new("OFFER", payload);
    let request_id = members.envelope_id("request_id")?;
    let price = members.written_amount("price", rules)?;
    let protocol_fee = members.decimal_amount("protocol_fee")?;
    let total_cost = members.decimal_amount("total_cost")?;
    members.currency()?;
    let estimated_time_s = members.positive_integer("estimated_time")?;
    let deliverables = members.array("deliverables")?;
    if deliverables.is_empty() || !deliverables.iter().all(Value::is_string) {
        return Err(Refusal::shape(
            "deliverables must be an array of at least one string; say what will be delivered",
        ));
    }
    members.optional_string("terms")?;
    let expiry_s = members.positive_integer("expiry")?;
    let payment_address = members.optional_address("payment_address", rules)?;
    let facts = OfferFacts {
        deliverables_hash: Digest::of(&to_canonical(deliverables)),
        request_id,
        price,
        protocol_fee,
        total_cost,
        estimated_time_s,
        expiry_s,
        payment_address,
        payload_hash: members.payload_hash(),
    };
    if !rules.reference_sdk {
        facts.check_exact_fee()?;
    }
    Ok(facts)
}
