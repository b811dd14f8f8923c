//! The row of a descriptor.

use crate::row::SubjectRow;
use crate::world::Live;
use serde::Serialize;
use x811_protocol::capability::descriptor::{Descriptor, STATE, State};
use x811_protocol::capability::version::VersionRange;
use x811_protocol::digest::Digest;
use x811_protocol::facts::OfferedCapability;
use x811_protocol::id::EnvelopeId;
use x811_protocol::kernel::SubjectMachine;

/// What a row shows besides its columns; members stand in the order of their names.
#[derive(Debug, Serialize)]
struct Detail<'a> {
    capabilities: &'a [OfferedCapability],
    /// The advert.
    envelope_id: EnvelopeId,
    payload_hash: Digest,
    protocol: &'a VersionRange,
    revision: u64,
}

/// The row of a descriptor in some revision.
#[expect(clippy::expect_used, reason = "a struct with string keys")]
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
    SubjectRow {
        subject: Descriptor::subject(live.state.agent),
        state: STATE.to_owned(),
        members: Descriptor::members(&live.state),
        deadline_at_ms: None,
        deadline_kind: None,
        opened_at_ms: live.opened_at,
        updated_at_ms: live.updated_at,
        last_position: live.last_position,
        detail: serde_json::to_value(detail).expect("it holds strings, integers and objects only"),
    }
}
