//! The row of a round. While it is open nobody reads votes from it, only who has cast one.

use super::row_of;
use crate::row::{DeadlineKind, SubjectRow};
use crate::world::Live;
use serde::Serialize;
use serde_json::Value;
use serde_with::skip_serializing_none;
use x811_protocol::did::Did;
use x811_protocol::digest::Digest;
use x811_protocol::facts::consensus::{Mechanism, Voting};
use x811_protocol::id::RoundId;
use x811_protocol::round::{Phase, Reported, Round, RoundWindow, Seat, State};
use x811_protocol::time::TimestampMs;

/// What the row shows besides its columns; members stand in the order of their names.
#[skip_serializing_none]
#[derive(Debug, Serialize)]
struct Detail<'a> {
    action_hash: Digest,
    action_type: &'a str,
    attempt: u64,
    /// Whether humans were asked.
    escalated: bool,
    /// Who has reported that it was done.
    executed: Vec<Did>,
    /// Who has reported that it could not be done.
    failed: Vec<Did>,
    leader: Did,
    mechanism: Mechanism,
    outcome: Option<Value>,
    participants: &'a [Did],
    proposal_hash: Digest,
    proposer: Did,
    quorum: u64,
    ready: Vec<Did>,
    resubmission_of: Option<RoundId>,
    retried_by: Option<RoundId>,
    superseded_by: Option<RoundId>,
    timeout_ms: TimestampMs,
    /// Who has cast a vote, whatever it says.
    voted: Vec<Did>,
    voting: Voting,
    weights_hash: Option<Digest>,
}

impl<'a> Detail<'a> {
    fn of(state: &'a State) -> Detail<'a> {
        let proposal = &state.opening.proposal;
        let who = |has: fn(&Seat) -> bool| {
            let seats = proposal.participants.iter().zip(&state.seats);
            let those = seats.filter(|(_, seat)| has(seat));
            those.map(|(agent, _)| *agent).collect()
        };
        Detail {
            action_hash: proposal.action_hash,
            action_type: &proposal.action_type,
            attempt: proposal.attempt,
            escalated: matches!(
                state.phase,
                Phase::Escalated { .. }
                    | Phase::HumanApproved { .. }
                    | Phase::HumanRejected {}
                    | Phase::Undecided {}
            ) || state.failure_told,
            executed: who(|seat| seat.report == Some(Reported::Executed)),
            failed: who(|seat| seat.report == Some(Reported::Failed)),
            leader: proposal.leader,
            mechanism: proposal.mechanism,
            outcome: state.decided.map(|verdict| verdict.to_value()),
            participants: &proposal.participants,
            proposal_hash: proposal.proposal_hash,
            proposer: state.opening.proposer,
            quorum: proposal.quorum,
            ready: who(|seat| seat.is_ready),
            resubmission_of: proposal.resubmission_of,
            retried_by: state.retried_by,
            superseded_by: state.contest.winner.filter(|_| state.decided.is_some()),
            timeout_ms: proposal.timeout_ms,
            voted: who(|seat| seat.vote.is_some()),
            voting: proposal.voting,
            weights_hash: proposal.weights_hash,
        }
    }
}

/// The row of a round in some state.
pub(crate) fn row(live: &Live<State>) -> SubjectRow {
    let state = &live.state;
    let kind = |window| match window {
        RoundWindow::Votes => DeadlineKind::Signed,
        RoundWindow::Open if !state.opening.opens_later() => DeadlineKind::Signed,
        RoundWindow::Open
        | RoundWindow::Reveals
        | RoundWindow::Hold
        | RoundWindow::Draw
        | RoundWindow::Signal
        | RoundWindow::Resubmission
        | RoundWindow::Human
        | RoundWindow::Execution => DeadlineKind::Ledger,
    };
    let deadline = state.next_window().map(|(window, at)| (at, kind(window)));
    row_of::<Round>(live, state.name().as_str(), deadline, Detail::of(state))
}
