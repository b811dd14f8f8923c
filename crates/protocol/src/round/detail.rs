//! The detail of a round's row. While the round is open it names the agents that have voted, and no vote.

use super::state::{Phase, Reported, Seat, State};
use crate::did::Did;
use crate::digest::Digest;
use crate::facts::consensus::{Mechanism, Voting};
use crate::id::RoundId;
use crate::time::TimestampMs;
use serde::Serialize;
use serde_json::Value;
use serde_with::skip_serializing_none;

/// The detail of a row.
#[skip_serializing_none]
#[derive(Debug, Serialize)]
pub(super) struct Detail<'a> {
    action_hash: Digest,
    action_type: &'a str,
    attempt: u64,
    /// True if humans were asked.
    escalated: bool,
    /// Agents that have reported that the action was done.
    executed: Vec<Did>,
    /// Agents that have reported that it could not be done.
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
    /// Agents that have cast a vote, whatever it says.
    voted: Vec<Did>,
    voting: Voting,
    weights_hash: Option<Digest>,
}

impl<'a> Detail<'a> {
    pub(super) fn of(state: &'a State) -> Detail<'a> {
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
