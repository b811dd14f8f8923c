//! The detail of a session's row.

use super::state::State;
use crate::capability::version::Version;
use crate::did::Did;
use crate::digest::Digest;
use crate::event::CloseReason;
use crate::facts::{RenewalReason, SessionTerms};
use crate::id::{AgreementId, EnvelopeId};
use serde::Serialize;
use serde_with::skip_serializing_none;

/// The detail of a row.
#[skip_serializing_none]
#[derive(Debug, Serialize)]
pub(super) struct Detail<'a> {
    /// The agreement that it makes, or negotiates again.
    agreement_id: AgreementId,
    /// The agent that made the last step.
    author: Did,
    closed_by: Option<Did>,
    counters: u64,
    initiator: Did,
    parameters_hash: Digest,
    reason: Option<CloseReason>,
    /// The reason why the agreement is negotiated again, if it is.
    renewal: Option<RenewalReason>,
    /// The revision that it makes.
    revision: u64,
    signed_by: Vec<Did>,
    /// The message with the last terms.
    step_id: Option<EnvelopeId>,
    target: Did,
    terms: Option<SessionTerms>,
    #[serde(rename = "type")]
    capability: &'a str,
    version: Version,
}

impl Detail<'_> {
    pub(super) fn of(state: &State) -> Detail<'_> {
        Detail {
            agreement_id: state.agreement(),
            author: state.author,
            closed_by: state.ending.and_then(|ending| ending.closed_by),
            counters: state.counters,
            initiator: state.initiator,
            parameters_hash: state.parameters_hash,
            reason: state.ending.map(|ending| ending.reason),
            renewal: state.renews.map(|renews| renews.reason),
            revision: state.revision(),
            signed_by: state.signatures.iter().map(|signed| signed.by).collect(),
            step_id: state.terms.map(|terms| terms.record.envelope),
            target: state.target,
            terms: state.terms.map(|terms| terms.terms),
            capability: &state.capability,
            version: state.version,
        }
    }
}
