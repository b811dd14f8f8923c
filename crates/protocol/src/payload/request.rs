//! The payload of `x811/request` (AE-40 to AE-48).

use serde_json::{Map, Value};

use super::member::Members;
use crate::did::Did;
use crate::facts::{RequestFacts, is_task_type};
use crate::refusal::Refusal;

/// The longest idempotency key, in characters (AX-12).
const IDEMPOTENCY_KEY_CHARS: usize = 128;

/// Reads a REQUEST from this initiator.
pub(super) fn facts(from: Did, payload: &Map<String, Value>) -> Result<RequestFacts, Refusal> {
    let members = Members::new("REQUEST", payload);
    let task_type = members.string("task_type")?;
    if !is_task_type(task_type) {
        return Err(Refusal::shape(
            "task_type must be 1 to 128 printable characters: name a capability the provider \
             registered",
        ));
    }
    let parameters = Members::new("REQUEST's parameters", members.object("parameters")?);
    let agreement_id = parameters.optional_agreement_id("agreement_id")?;
    let negotiation_id = parameters.optional_contract_id("negotiation_id")?;
    let max_budget = members.number_amount("max_budget")?;
    members.currency()?;
    let deadline_s = members.positive_integer("deadline")?;
    let acceptance_policy = members.word("acceptance_policy")?;
    let threshold_amount = members.optional_number_amount("threshold_amount")?;
    // Recorded with the payload; nobody here ever calls it (AX-14).
    members.optional_uri("callback_url")?;
    let idempotency_key = members.string("idempotency_key")?;
    if !(1..=IDEMPOTENCY_KEY_CHARS).contains(&idempotency_key.chars().count()) {
        return Err(Refusal::shape(
            "idempotency_key must be 1 to 128 characters; draw a new UUID for every new request",
        ));
    }
    Ok(RequestFacts {
        agreement_id,
        task_type: task_type.to_owned(),
        max_budget,
        deadline_s,
        acceptance_policy,
        threshold_amount,
        idempotency_tag: RequestFacts::tag(from, idempotency_key),
        negotiation_id,
        payload_hash: members.payload_hash(),
    })
}
