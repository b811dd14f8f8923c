//! The detail of a descriptor's row.

use super::State;
use crate::capability::version::VersionRange;
use crate::digest::Digest;
use crate::facts::OfferedCapability;
use crate::id::EnvelopeId;
use serde::Serialize;

/// The detail of a row.
#[derive(Debug, Serialize)]
pub(super) struct Detail<'a> {
    capabilities: &'a [OfferedCapability],
    /// The envelope id of the advert.
    envelope_id: EnvelopeId,
    payload_hash: Digest,
    protocol: &'a VersionRange,
    revision: u64,
}

impl Detail<'_> {
    pub(super) fn of(state: &State) -> Detail<'_> {
        let State {
            descriptor, record, ..
        } = state;
        Detail {
            capabilities: &descriptor.capabilities,
            envelope_id: record.envelope,
            payload_hash: descriptor.payload_hash,
            protocol: &descriptor.protocol,
            revision: descriptor.revision,
        }
    }
}
