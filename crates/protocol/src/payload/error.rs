//! The payload of `x811/error` (AE-66).

use serde_json::{Map, Value};

use super::member::Members;
use crate::code::Code;
use crate::facts::ErrorFacts;
use crate::refusal::Refusal;

/// Reads an ERROR. The message is free text and stays in the body.
pub(super) fn facts(payload: &Map<String, Value>) -> Result<ErrorFacts, Refusal> {
    let members = Members::new("ERROR", payload);
    let code: Code = members.word("code")?;
    if !code.is_of_registry() {
        return Err(Refusal::shape(
            "code must be one of the registry, X811-1001 to X811-9003: others are the ledger's to tell",
        ));
    }
    members.string("message")?;
    let related_message_id = members.optional_envelope_id("related_message_id")?;
    Ok(ErrorFacts {
        code,
        related_message_id,
    })
}
