//! The payload of `x811/accept` (AE-57).

use serde_json::{Map, Value};

use super::member::Members;
use crate::facts::AcceptFacts;
use crate::refusal::Refusal;

/// Reads an ACCEPT.
pub(super) fn facts(payload: &Map<String, Value>) -> Result<AcceptFacts, Refusal> {
    let members = Members::new("ACCEPT", payload);
    Ok(AcceptFacts {
        offer_id: members.envelope_id("offer_id")?,
        offer_hash: members.digest("offer_hash")?,
    })
}
