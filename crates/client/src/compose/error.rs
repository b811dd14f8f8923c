//! `x811/error` (AE-66).

use serde_json::{Map, Value};
use x811_protocol::code::Code;
use x811_protocol::envelope::{CoreType, MessageType};
use x811_protocol::id::EnvelopeId;

use super::{ComposeError, Members, Payload};

/// Tells the other party of a fault. Changes no state (AX-32).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ErrorReport {
    /// The code of the fault.
    pub code: Code,
    /// What happened, for a person.
    pub message: String,
    /// The envelope it is about.
    pub related: Option<EnvelopeId>,
}

impl Payload for ErrorReport {
    fn message_type(&self) -> MessageType {
        CoreType::Error.into()
    }

    fn members(&self) -> Result<Map<String, Value>, ComposeError> {
        let members = Members::default()
            .set("code", self.code.as_str())
            .set_text("message", &self.message)
            .set_some("related_message_id", self.related.map(|id| id.to_string()));
        Ok(members.0)
    }
}
