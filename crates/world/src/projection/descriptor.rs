//! The row of a descriptor.

use super::row_of;
use crate::row::SubjectRow;
use crate::world::Live;
use serde::Serialize;
use x811_protocol::capability::descriptor::{Descriptor, STATE, State};
use x811_protocol::capability::version::VersionRange;
use x811_protocol::digest::Digest;
use x811_protocol::facts::OfferedCapability;
use x811_protocol::id::EnvelopeId;

/// What a row shows besides its columns; members stand in the order of their names.
#[derive(Debug, Serialize)]
struct Detail<'a> {
    capabilities: &'a [OfferedCapability],
    /// Envelope id of the advert.
    envelope_id: EnvelopeId,
    payload_hash: Digest,
    protocol: &'a VersionRange,
    revision: u64,
}

/// The row of a descriptor in some revision.
pub(crate) fn row(live: &Live<State>) -> SubjectRow {
    let State {
        descriptor, record, ..
    } = &live.state;
    let detail = Detail {
        capabilities: &descriptor.capabilities,
        envelope_id: record.envelope,
        payload_hash: descriptor.payload_hash,
        protocol: &descriptor.protocol,
        revision: descriptor.revision,
    };
    row_of::<Descriptor>(live, STATE, None, detail)
}
