//! The namespaces that belong to machines of the ledger: a message of theirs is never
//! mail, whether the ledger runs the machine or not (machines.md section 1). What comes here is no
//! message of a machine that is built.

use crate::code::Code;
use crate::envelope::{CustomType, MessageType};
use crate::refusal::Refusal;

/// Namespaces of machines that are not built yet.
const NOT_BUILT: [&str; 1] = ["dispute"];

/// Namespaces in which there is no other message than those that are read before: of machines that
/// are built, and of traces, whose nodes the ledger alone makes.
const CLOSED: [&str; 4] = ["capability", "consensus", "negotiation", "trace"];

/// Whether the type belongs to a machine of the ledger, or to its traces: no such
/// message is mail.
#[must_use]
pub fn is_reserved(message_type: &MessageType) -> bool {
    let MessageType::Custom(custom) = message_type else {
        return false;
    };
    let namespace = custom.namespace();
    NOT_BUILT.contains(&namespace) || CLOSED.contains(&namespace)
}

/// Refuses a message in a reserved namespace.
///
/// # Errors
/// X811-4001: HTTP 422 where the ledger does not run the machine, 400 for a name that does not exist.
pub(super) fn check(custom: &CustomType) -> Result<(), Refusal> {
    let (namespace, name) = (custom.namespace(), custom.as_str());
    if NOT_BUILT.contains(&namespace) {
        return Err(Refusal::guard(
            Code::InvalidStateTransition,
            format!(
                "this ledger does not run the machine of {name}; x811.{namespace} is reserved for \
                 it: send mail under a namespace of your own"
            ),
        ));
    }
    if CLOSED.contains(&namespace) {
        return Err(Refusal::shape(format!(
            "there is no message {name}: x811.{namespace} is reserved, send mail under a namespace \
             of your own"
        )));
    }
    Ok(())
}
