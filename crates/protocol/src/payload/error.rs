//! The payload of `x811/error` (AE-66).

use serde_json::{Map, Value};

use super::member::Members;
use crate::facts::ErrorFacts;
use crate::refusal::Refusal;

/// Reads an ERROR. The message is free text and stays in the body.
pub(super) fn facts(payload: &Map<String, Value>) -> Result<ErrorFacts, Refusal> {
    let members = Members::new("ERROR", payload);
    let code = members.word("code")?;
    members.string("message")?;
    let related_message_id = members.optional_envelope_id("related_message_id")?;
    Ok(ErrorFacts {
        code,
        related_message_id,
    })
}
