//! The rows of a session and of an agreement.

use super::row_of;
use crate::row::{DeadlineKind, SubjectRow};
use crate::world::Live;
use serde::Serialize;
use serde_with::skip_serializing_none;
use x811_protocol::capability::agreement::{self, Agreement};
use x811_protocol::capability::session::{self, Session};
use x811_protocol::capability::version::Version;
use x811_protocol::did::Did;
use x811_protocol::digest::Digest;
use x811_protocol::event::CloseReason;
use x811_protocol::facts::{RenewalReason, SessionTerms, UsageLimits};
use x811_protocol::id::{AgreementId, EnvelopeId, SessionId};
use x811_protocol::machine::Machine;
use x811_protocol::time::TimestampMs;

/// What the row of a session shows besides its columns; members stand in the order of their names.
#[skip_serializing_none]
#[derive(Debug, Serialize)]
struct SessionDetail<'a> {
    /// The agreement that it makes, or negotiates again.
    agreement_id: AgreementId,
    /// Whose the last step was.
    author: Did,
    closed_by: Option<Did>,
    counters: u64,
    initiator: Did,
    parameters_hash: Digest,
    reason: Option<CloseReason>,
    /// Why the agreement is negotiated again, where it is.
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

/// The same of an agreement.
#[derive(Debug, Serialize)]
struct AgreementDetail<'a> {
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

/// The row of a session in some state.
pub(crate) fn row(live: &Live<session::State>) -> SubjectRow {
    let state = &live.state;
    let detail = SessionDetail {
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
    };
    let deadline = state.deadline.map(|at| (at, DeadlineKind::Ledger));
    row_of::<Session>(live, state.state.as_str(), deadline, detail)
}

/// The row of an agreement in some state.
pub(crate) fn agreement_row(live: &Live<agreement::State>) -> SubjectRow {
    let state = &live.state;
    let detail = AgreementDetail {
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
    };
    let deadline = Agreement::deadline(state).map(|at| (at, DeadlineKind::Signed));
    row_of::<Agreement>(live, state.standing.as_str(), deadline, detail)
}
