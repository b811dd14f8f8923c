//! When a round is decided, and what its votes come to then (round.md, "When it is decided").

use super::state::{Phase, Seat, State, VoteRecord};
use super::tally::{Cast, Poll, TallyVerdict};
use super::votes_digest;
use crate::facts::consensus::{Decision, Mechanism, Voting};
use crate::time::TimestampMs;

impl State {
    /// Everything that the tally depends on, as of `at`.
    pub fn casts(&self, at: TimestampMs) -> Vec<Cast> {
        let liveness = self.opening.rounds.liveness_ms;
        let is_connected = |seat: &Seat| {
            let heard_at = seat.heard_at;
            heard_at.is_some_and(|heard| liveness.is_none_or(|most| at.since(heard) <= most))
        };
        let cast = |seat: &Seat| {
            let vote = seat.vote.as_ref();
            Cast {
                connected: is_connected(seat),
                decision: vote
                    .and_then(|vote| vote.choice)
                    .map(|choice| choice.decision),
                unrevealed: vote.is_some_and(VoteRecord::is_unrevealed),
            }
        };
        self.seats.iter().map(cast).collect()
    }

    /// The poll over these casts.
    pub fn poll<'a>(&'a self, seats: &'a [Cast]) -> Poll<'a> {
        let proposal = &self.opening.proposal;
        Poll {
            abstain_counts: self.opening.rounds.abstain_counts,
            f: proposal.f,
            hindrance: self.hindrance,
            leader: self.leader_said,
            mechanism: proposal.mechanism,
            quorum: proposal.quorum,
            seats,
            threshold: proposal.threshold(),
            weights: proposal.weights.as_deref().unwrap_or_default(),
        }
    }

    /// The verdict as of `at`.
    pub fn verdict(&self, at: TimestampMs) -> TallyVerdict {
        self.contested(self.counted(at))
    }

    /// What its votes alone come to. Of a round that is held, as of when its moment came: whoever holds it
    /// cannot make its voters be heard of too long ago.
    fn counted(&self, at: TimestampMs) -> TallyVerdict {
        let at = if let Phase::Held { since, .. } = self.phase {
            since
        } else {
            at
        };
        let casts = self.casts(at);
        let (tally, outcome, reason) = self.poll(&casts).decide();
        let choices = self
            .seats
            .iter()
            .filter_map(|seat| seat.vote.as_ref()?.choice);
        TallyVerdict {
            outcome,
            reason,
            tally,
            votes_digest: votes_digest(choices.map(|choice| choice.vote_hash)),
        }
    }

    /// Whether its moment has come at `at` (round.md, "When it is decided", rule 2).
    pub fn is_to_be_decided(&self, at: TimestampMs) -> bool {
        if self.decided.is_some() {
            return false;
        }
        if self.is_due {
            return true;
        }
        let proposal = &self.opening.proposal;
        let has_voted = |seat: &Seat| seat.vote.is_some();
        match (self.phase, proposal.mechanism) {
            (Phase::Open {}, Mechanism::Leader) => self.leader_said.is_some(),
            (Phase::Open {}, Mechanism::Optimistic) => {
                let objects = |cast: &Cast| cast.decision == Some(Decision::Reject);
                self.casts(at).iter().any(objects)
            }
            (Phase::Open {}, Mechanism::Majority | Mechanism::Weighted)
                if proposal.voting == Voting::Open =>
            {
                let is_early = || {
                    let casts = self.casts(at);
                    self.opening.rounds.early_close && self.poll(&casts).is_settled()
                };
                self.seats.iter().all(has_voted) || is_early()
            }
            (Phase::Revealing { .. }, _) => {
                let is_out = |seat: &Seat| {
                    let vote = seat.vote.as_ref();
                    vote.is_some_and(VoteRecord::is_unrevealed)
                };
                !self.seats.iter().any(is_out)
            }
            (
                Phase::Proposed { .. }
                | Phase::Open {}
                | Phase::Suspended {}
                | Phase::Held { .. }
                | Phase::Committed { .. }
                | Phase::Done {}
                | Phase::Aborted {}
                | Phase::Failed { .. }
                | Phase::Escalated { .. }
                | Phase::HumanApproved { .. }
                | Phase::HumanRejected {}
                | Phase::Undecided {},
                _,
            ) => false,
        }
    }
}
