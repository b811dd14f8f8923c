//! The payloads of `x811.capability/…` (capability.md).

mod advertise;
mod session;
mod signed;

pub use session::signed_terms;
pub use signed::{MAX_JWS_BYTES, SignedAgreement, signed_agreement};

use serde_json::{Map, Value};

use super::in_own_words;
use crate::code::Code;
use crate::did::Did;
use crate::facts::{CapabilityFacts, CapabilityVerb};
use crate::refusal::{Kind, Refusal};

/// The most bytes of the body of a message of a session or an agreement (machines.md section 6).
const MAX_BODY_BYTES: usize = 16_384;

/// The same of those that carry parameters.
const MAX_BODY_BYTES_WITH_PARAMETERS: usize = 81_920;

/// Refuses a body that is too long.
pub(super) fn check_size(verb: CapabilityVerb, body_bytes: usize) -> Result<(), Refusal> {
    let most = match verb {
        // The envelope's own limit holds.
        CapabilityVerb::Advertise => return Ok(()),
        CapabilityVerb::Request | CapabilityVerb::Agree => MAX_BODY_BYTES_WITH_PARAMETERS,
        CapabilityVerb::Response
        | CapabilityVerb::Offer
        | CapabilityVerb::Counter
        | CapabilityVerb::Accept
        | CapabilityVerb::Reject
        | CapabilityVerb::Close
        | CapabilityVerb::Revoke => MAX_BODY_BYTES,
    };
    if body_bytes <= most {
        return Ok(());
    }
    let message = format!(
        "{verb} has at most {most} bytes in its RFC 8785 form, this one has {body_bytes}: name long \
         texts by their hash"
    );
    Err(Refusal::new(Code::ResultTooLarge, Kind::Limit, message))
}

/// Reads the payload of that message, for that ledger.
pub(super) fn facts(
    verb: CapabilityVerb,
    from: Did,
    payload: &Map<String, Value>,
    ledger: Option<Did>,
) -> Result<CapabilityFacts, Refusal> {
    use CapabilityFacts as Facts;
    let facts = match verb {
        CapabilityVerb::Advertise => advertise::facts(from, payload)
            .map(Box::new)
            .map(Facts::Advertise),
        CapabilityVerb::Request => session::request(payload).map(Box::new).map(Facts::Request),
        CapabilityVerb::Response => session::response(payload).map(Facts::Response),
        CapabilityVerb::Offer => session::offer(payload).map(Box::new).map(Facts::Offer),
        CapabilityVerb::Counter => session::counter(payload).map(Box::new).map(Facts::Counter),
        CapabilityVerb::Accept => session::accept(payload).map(Facts::Accept),
        CapabilityVerb::Reject => session::reject(payload).map(Facts::Reject),
        CapabilityVerb::Close => session::close(payload).map(Facts::Close),
        CapabilityVerb::Agree => session::agree(payload, ledger)
            .map(Box::new)
            .map(Facts::Agree),
        CapabilityVerb::Revoke => session::revoke(payload).map(Facts::Revoke),
    };
    facts.map_err(in_own_words)
}
