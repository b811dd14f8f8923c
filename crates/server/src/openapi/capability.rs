//! What an agent says that it can do.

#![expect(dead_code, reason = "shapes are described here and made elsewhere")]

use super::schema::{CapturedEnvelope, DidText};
use utoipa::ToSchema;

/// An agent's descriptor in force.
#[derive(ToSchema)]
pub(crate) struct DescriptorAnswer {
    /// Whose.
    #[schema(value_type = DidText)]
    did: String,
    /// Place of its record in the log.
    position: u64,
    /// When it was recorded.
    recorded_at_ms: u64,
    /// 1 for the first, and one more each time.
    revision: u64,
    /// `x811.capability/advertise`, as its agent signed it: the payload is the descriptor.
    envelope: CapturedEnvelope,
}

/// What descriptors are held to.
#[derive(ToSchema)]
pub(crate) struct CapabilitiesInForce {
    /// Most adverts of one agent in an hour of UTC.
    adverts_per_hour: u64,
}
