//! The payload of `x811/reject` (AE-58).

use serde_json::{Map, Value};

use super::member::Members;
use crate::facts::RejectFacts;
use crate::refusal::Refusal;

/// Reads a REJECT. The reason is free text and stays in the body.
pub(super) fn facts(payload: &Map<String, Value>) -> Result<RejectFacts, Refusal> {
    let members = Members::new("REJECT", payload);
    let offer_id = members.envelope_id("offer_id")?;
    members.string("reason")?;
    Ok(RejectFacts {
        offer_id,
        code: members.word("code")?,
    })
}
