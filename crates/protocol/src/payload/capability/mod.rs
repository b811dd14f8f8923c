//! The payloads of `x811.capability/…` (capability.md).

mod advertise;

use serde_json::{Map, Value};

use crate::code::Code;
use crate::did::Did;
use crate::facts::{CapabilityFacts, CapabilityVerb};
use crate::refusal::{Kind, Refusal};

/// Reads the payload of that message.
pub(super) fn facts(
    verb: CapabilityVerb,
    from: Did,
    payload: &Map<String, Value>,
) -> Result<CapabilityFacts, Refusal> {
    let facts = match verb {
        CapabilityVerb::Advertise => advertise::facts(from, payload)
            .map(Box::new)
            .map(CapabilityFacts::Advertise),
    };
    facts.map_err(in_own_words)
}

/// What is malformed here is answered CCN-1001 (machines.md section 8).
fn in_own_words(refusal: Refusal) -> Refusal {
    if (refusal.code, refusal.kind) == (Code::InvalidStateTransition, Kind::Shape) {
        return Refusal {
            code: Code::Schema,
            ..refusal
        };
    }
    refusal
}
