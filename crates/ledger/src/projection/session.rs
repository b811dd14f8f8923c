//! The rows of a session and of an agreement.

use crate::row::{DeadlineKind, SubjectRow};
use crate::world::Live;
use serde::Serialize;
use serde_json::Value;
use x811_protocol::capability::agreement::{self, Agreement};
use x811_protocol::capability::session::{self, Session};
use x811_protocol::capability::version::Version;
use x811_protocol::did::Did;
use x811_protocol::digest::Digest;
use x811_protocol::event::CloseReason;
use x811_protocol::facts::{RenewalReason, SessionTerms, UsageLimits};
use x811_protocol::id::{AgreementId, EnvelopeId, SessionId};
use x811_protocol::kernel::{Machine, SubjectMachine};
use x811_protocol::time::TimestampMs;

/// What the row of a session shows besides its columns; members stand in the order of their names.
#[derive(Debug, Serialize)]
struct SessionDetail<'a> {
    /// The agreement that it makes, or negotiates again.
    agreement_id: AgreementId,
    /// Whose the last step was.
    author: Did,
    #[serde(skip_serializing_if = "Option::is_none")]
    closed_by: Option<Did>,
    counters: u64,
    initiator: Did,
    parameters_hash: Digest,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<CloseReason>,
    /// Why the agreement is negotiated again, where it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    renewal: Option<RenewalReason>,
    /// The revision that it makes.
    revision: u64,
    signed_by: Vec<Did>,
    /// The message with the last terms.
    #[serde(skip_serializing_if = "Option::is_none")]
    step_id: Option<EnvelopeId>,
    target: Did,
    #[serde(skip_serializing_if = "Option::is_none")]
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

#[expect(clippy::expect_used, reason = "structs with string keys")]
fn value(detail: impl Serialize) -> Value {
    serde_json::to_value(detail).expect("it holds strings, integers and objects only")
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
    SubjectRow {
        subject: Session::subject(state.id),
        state: state.state.as_str().to_owned(),
        members: Session::members(state),
        deadline_at_ms: state.deadline,
        deadline_kind: state.deadline.map(|_| DeadlineKind::Ledger),
        opened_at_ms: live.opened_at,
        updated_at_ms: live.updated_at,
        last_position: live.last_position,
        detail: value(detail),
    }
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
    let deadline = Agreement::deadline(state);
    SubjectRow {
        subject: Agreement::subject(state.id),
        state: state.standing.as_str().to_owned(),
        members: Agreement::members(state),
        deadline_at_ms: deadline,
        deadline_kind: deadline.map(|_| DeadlineKind::Signed),
        opened_at_ms: live.opened_at,
        updated_at_ms: live.updated_at,
        last_position: live.last_position,
        detail: value(detail),
    }
}
