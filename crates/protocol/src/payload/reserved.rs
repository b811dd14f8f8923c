//! The namespaces that belong to machines of the ledger: under rules 2 a message of theirs is never
//! mail, whether the ledger runs the machine or not (machines.md section 1). No machine but
//! `interaction` is built yet, so all of them are refused.

use crate::code::Code;
use crate::envelope::CustomType;
use crate::refusal::Refusal;

/// Namespaces with a machine of their own.
const MACHINES: [&str; 4] = ["negotiation", "capability", "consensus", "dispute"];

/// The namespace of traces, whose nodes the ledger alone makes.
const TRACE: &str = "trace";

/// Refuses a message in a reserved namespace.
///
/// # Errors
/// X811-4001: HTTP 422 where the ledger does not run the machine, 400 for a name that does not exist.
pub(super) fn check(custom: &CustomType) -> Result<(), Refusal> {
    let (namespace, name) = (custom.namespace(), custom.as_str());
    if MACHINES.contains(&namespace) {
        return Err(Refusal::guard(
            Code::InvalidStateTransition,
            format!(
                "this ledger does not run the machine of {name}; x811.{namespace} is reserved for \
                 it: send mail under a namespace of your own"
            ),
        ));
    }
    if namespace == TRACE {
        return Err(Refusal::shape(format!(
            "there is no message {name}: x811.{TRACE} is reserved, send mail under a namespace of \
             your own"
        )));
    }
    Ok(())
}
