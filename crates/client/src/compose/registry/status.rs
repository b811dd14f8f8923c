//! `x811.registry/deactivate`, `…/reactivate` and `…/revoke`, whose payload is empty.

use serde_json::{Map, Value};
use x811_protocol::envelope::MessageType;
use x811_protocol::payload::registry::Verb;

use super::super::{ComposeError, Payload};

/// Changes whether a DID may act.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StatusChange {
    /// It may not, until it is reactivated.
    Deactivate,
    /// It may again.
    Reactivate,
    /// It may never again.
    Revoke,
}

impl StatusChange {
    /// What is asked of the registry.
    pub const fn verb(self) -> Verb {
        match self {
            StatusChange::Deactivate => Verb::Deactivate,
            StatusChange::Reactivate => Verb::Reactivate,
            StatusChange::Revoke => Verb::Revoke,
        }
    }
}

impl Payload for StatusChange {
    fn message_type(&self) -> MessageType {
        self.verb().message_type()
    }

    fn members(&self) -> Result<Map<String, Value>, ComposeError> {
        Ok(Map::new())
    }
}
