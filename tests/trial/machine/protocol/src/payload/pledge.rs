//! The payload of `x811.pledge/give`.

use serde_json::{Map, Value};

use super::member::Members;
use crate::facts::PledgeFacts;
use crate::refusal::Refusal;

/// Reads the facts from a payload; an error names the member that is wrong.
pub(super) fn facts(payload: &Map<String, Value>) -> Result<PledgeFacts, Refusal> {
    let window_s = Members::new("give", payload).positive_integer("window_s")?;
    Ok(PledgeFacts { window_s })
}
