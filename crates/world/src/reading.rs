//! How the ledger of a world reads envelopes and payloads.

use crate::World;
use x811_protocol::envelope::EnvelopeRules;
use x811_protocol::parameters::{Leniency, Parameters};
use x811_protocol::payload::PayloadRules;
use x811_protocol::refusal::Refusal;

/// How envelopes are read under `parameters`.
pub fn envelope_rules(parameters: &Parameters) -> EnvelopeRules {
    EnvelopeRules {
        max_bytes: usize::try_from(parameters.limits.envelope_bytes).unwrap_or(usize::MAX),
        lenient_ids: parameters.is_lenient(Leniency::Uuids),
        reference_sdk: parameters.is_lenient(Leniency::ReferenceSdk),
    }
}

/// How the ledger of that world reads payloads; `None` before it has parameters.
pub fn payload_rules(world: &World) -> Option<PayloadRules> {
    let (_, parameters) = world.parameters()?;
    Some(PayloadRules {
        ledger: world.identity().map(|opened| opened.did),
        lenient_addresses: parameters.is_lenient(Leniency::Addresses),
        reference_sdk: parameters.is_lenient(Leniency::ReferenceSdk),
        max_inline_content_bytes: parameters.limits.inline_content_bytes,
    })
}

/// X811-9002, HTTP 503, before the ledger has an identity and parameters.
pub fn not_open() -> Refusal {
    Refusal::not_now("the ledger is not open yet: send the same message again")
}
