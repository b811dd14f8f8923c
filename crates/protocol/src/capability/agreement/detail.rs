//! The detail of an agreement's row.

use super::State;
use crate::capability::version::Version;
use crate::did::Did;
use crate::digest::Digest;
use crate::facts::UsageLimits;
use crate::id::SessionId;
use crate::time::TimestampMs;
use serde::Serialize;

/// The detail of a row.
#[derive(Debug, Serialize)]
pub(super) struct Detail<'a> {
    agreement_hash: Digest,
    consumer: Did,
    ends_at_ms: TimestampMs,
    limits: UsageLimits,
    /// Position of the record that ended it.
    #[serde(skip_serializing_if = "Option::is_none")]
    over: Option<u64>,
    provider: Did,
    /// Uses under this revision.
    requests: u64,
    revision: u64,
    /// Positions of all `agreed`.
    revisions: &'a [u64],
    session_id: SessionId,
    starts_at_ms: TimestampMs,
    terms_hash: Digest,
    #[serde(rename = "type")]
    capability: &'a str,
    version: Version,
}

impl Detail<'_> {
    pub(super) fn of(state: &State) -> Detail<'_> {
        Detail {
            agreement_hash: state.agreement_hash,
            consumer: state.consumer,
            ends_at_ms: state.ends_at,
            limits: state.limits,
            over: state.over,
            provider: state.provider,
            requests: state.requests,
            revision: state.revision,
            revisions: &state.revisions,
            session_id: state.session,
            starts_at_ms: state.starts_at,
            terms_hash: state.terms_hash,
            capability: &state.capability,
            version: state.version,
        }
    }
}
