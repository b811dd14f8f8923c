//! The payload of an extension type: opaque to the ledger (AE-122 to AE-124).

use serde_json::{Map, Value};

use super::member::Members;
use crate::facts::CustomFacts;

/// Identifies the payload without looking into it.
pub(super) fn facts(payload: &Map<String, Value>) -> CustomFacts {
    CustomFacts {
        payload_hash: Members::new("message", payload).payload_hash(),
    }
}
