//! The member `ledger`: which ledger a message is for. What opens business, REQUESTs and messages of
//! somebody's own types, may name it, so that nobody brings it to another ledger where the same two are
//! registered (machines.md section 1). It is no fact.

use serde_json::{Map, Value};

use crate::code::Code;
use crate::did::Did;
use crate::envelope::{CoreType, MessageType};
use crate::refusal::Refusal;

/// The member's name.
pub const MEMBER: &str = "ledger";

/// Whether a message of this type may say which ledger it is for.
#[must_use]
pub fn may_be_named(message_type: &MessageType) -> bool {
    matches!(
        message_type,
        MessageType::Core(CoreType::Request) | MessageType::Custom(_)
    )
}

/// Refuses a message that names another ledger than the one that reads it. What is no DID names none.
///
/// # Errors
/// X811-4001, HTTP 422.
pub(super) fn check(
    message_type: &MessageType,
    payload: &Map<String, Value>,
    reader: Option<Did>,
) -> Result<(), Refusal> {
    let named = payload.get(MEMBER).and_then(Value::as_str);
    let named: Option<Did> = named.and_then(|text| text.parse().ok());
    match (named, reader) {
        (Some(named), Some(reader)) if named != reader && may_be_named(message_type) => {
            Err(Refusal::guard(
                Code::InvalidStateTransition,
                format!(
                    "the message is for the ledger {named}, and this one is {reader}: send it there"
                ),
            ))
        }
        (_, _) => Ok(()),
    }
}
