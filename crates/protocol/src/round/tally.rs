//! The tally: a pure function of who has said what, in integers (CC-26 to CC-42, CX-10 to CX-20).
//!
//! The order of the questions is that of round.md, "When it is decided", rule 3: what hindered the round,
//! an objection, the quorum, connectivity, the mechanism. Nothing here knows in which order votes came.

use serde::{Deserialize, Serialize};

use crate::digest::Digest;
use crate::facts::consensus::{Decision, Mechanism, Threshold};

named! {
    /// How a round ends.
    #[derive(Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    pub enum Outcome {
        /// It is done.
        Commit = "commit",
        /// It is not done.
        Abort = "abort",
    }
}

named! {
    /// Why it ends so (CX-10; round.md adds five).
    #[derive(Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    pub enum Reason {
        /// The mechanism accepts it.
        Accepted = "accepted",
        /// The mechanism does not.
        Rejected = "rejected",
        /// As many for it as against it.
        Tie = "tie",
        /// Too few votes.
        NoQuorum = "no_quorum",
        /// Votes, but none for or against it.
        NoDecisiveVotes = "no_decisive_votes",
        /// Optimistic: somebody objected.
        Objection = "objection",
        /// A rival was accepted.
        Superseded = "superseded",
        /// Less than a majority was heard, or the round was suspended at its timeout.
        Partition = "partition",
        /// Mechanism leader: the leader's word.
        LeaderDecision = "leader_decision",
        /// The proposer took it back.
        Withdrawn = "withdrawn",
        /// The leader said nothing.
        LeaderSilent = "leader_silent",
        /// Optimistic: the ledger was away for too long.
        LedgerDown = "ledger_down",
        /// Weighted: not everybody acknowledged the weights.
        WeightsUnacknowledged = "weights_unacknowledged",
        /// Rounds block each other.
        Deadlock = "deadlock",
    }
}

impl Reason {
    /// Whether the round ended without a decision, so that it may be tried again (CX-22).
    pub const fn is_failure(self) -> bool {
        match self {
            Reason::NoQuorum
            | Reason::NoDecisiveVotes
            | Reason::Partition
            | Reason::LeaderSilent
            | Reason::LedgerDown
            | Reason::WeightsUnacknowledged => true,
            Reason::Accepted
            | Reason::Rejected
            | Reason::Tie
            | Reason::Objection
            | Reason::Superseded
            | Reason::LeaderDecision
            | Reason::Withdrawn
            | Reason::Deadlock => false,
        }
    }

    /// Whether nobody but the ledger or the leader was at fault: then a retry may be just as long.
    pub const fn is_no_fault_of_voters(self) -> bool {
        matches!(
            self,
            Reason::LeaderSilent | Reason::LedgerDown | Reason::Partition
        )
    }

    /// How a round ends for this reason, if its leader said `leader`.
    pub(super) const fn outcome(self, leader: Option<Outcome>) -> Outcome {
        match (self, leader) {
            (Reason::Accepted, _) | (Reason::LeaderDecision, Some(Outcome::Commit)) => {
                Outcome::Commit
            }
            (
                Reason::LeaderDecision
                | Reason::Rejected
                | Reason::Tie
                | Reason::NoQuorum
                | Reason::NoDecisiveVotes
                | Reason::Objection
                | Reason::Superseded
                | Reason::Partition
                | Reason::Withdrawn
                | Reason::LeaderSilent
                | Reason::LedgerDown
                | Reason::WeightsUnacknowledged
                | Reason::Deadlock,
                _,
            ) => Outcome::Abort,
        }
    }
}

/// What one participant has done by the time of the tally.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Cast {
    /// Was heard of in the round, in time (CX-24).
    pub connected: bool,
    /// What its vote says; of a sealed one, once it is revealed.
    pub decision: Option<Decision>,
    /// Committed itself and revealed nothing.
    pub unrevealed: bool,
}

/// What decides before any vote is counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Hindrance {
    /// Optimistic: more of the window was lost than is allowed.
    LedgerDown,
    /// It was suspended when its timeout came.
    Suspended,
    /// It never opened: the leader was silent.
    NotOpened,
    /// It never opened: somebody did not acknowledge the weights.
    WeightsUnacknowledged,
    /// The proposer took it back.
    Withdrawn,
}

impl Hindrance {
    const fn reason(self) -> Reason {
        match self {
            Hindrance::LedgerDown => Reason::LedgerDown,
            Hindrance::Suspended => Reason::Partition,
            Hindrance::NotOpened => Reason::LeaderSilent,
            Hindrance::WeightsUnacknowledged => Reason::WeightsUnacknowledged,
            Hindrance::Withdrawn => Reason::Withdrawn,
        }
    }
}

/// Everything that a tally depends on.
#[derive(Debug, Clone, Copy)]
pub struct Poll<'a> {
    /// Whether an abstention is a vote received (CX-12).
    pub abstain_counts: bool,
    /// How many faulty agents are to be tolerated (CX-48).
    pub f: Option<u64>,
    /// What keeps votes from deciding, if anything does.
    pub hindrance: Option<Hindrance>,
    /// Mechanism leader: what the leader said.
    pub leader: Option<Outcome>,
    /// How votes decide.
    pub mechanism: Mechanism,
    /// The least number of votes, as the proposal says.
    pub quorum: u64,
    /// Each participant, in their order.
    pub seats: &'a [Cast],
    /// Weighted: what approving weight must exceed.
    pub threshold: Threshold,
    /// Weighted: of each participant; one that is missing has none.
    pub weights: &'a [u64],
}

/// Weights as they were counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WeightTally {
    /// Of those who approve.
    pub approve: u64,
    /// Of those who voted, abstentions included (CC-33).
    pub participating: u64,
    /// What `approve` must exceed, as a part of `total`.
    pub threshold: Threshold,
    /// Of all participants.
    pub total: u64,
}

impl WeightTally {
    /// True if at least half of the weight took part.
    pub(super) fn is_half(self) -> bool {
        u128::from(self.participating) * 2 >= u128::from(self.total)
    }
}

/// The counts. Members stand in the order of their names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Tally {
    /// Votes for neither.
    pub abstain: u64,
    /// Votes for it.
    pub approve: u64,
    /// Participants that were heard of.
    pub connected: u64,
    /// Participants, whether they voted or not.
    pub eligible: u64,
    /// Commitments without a valid reveal.
    pub invalid: u64,
    /// How they decide.
    pub mechanism: Mechanism,
    /// Whether enough voted.
    pub quorum_met: bool,
    /// Votes that it takes; with `f`, that many for or against it (CX-48).
    pub quorum_required: u64,
    /// Votes that count.
    pub received: u64,
    /// Votes against it.
    pub reject: u64,
    /// Mechanism weighted: the weights as they were counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub weights: Option<WeightTally>,
}

/// A tally and what follows from it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TallyVerdict {
    /// How it ends.
    pub outcome: Outcome,
    /// Why it ends so.
    pub reason: Reason,
    /// How many voted for what.
    pub tally: Tally,
    /// Which votes were counted: [`super::votes_digest`].
    pub votes_digest: Digest,
}

impl Poll<'_> {
    /// Counts, and says what follows.
    pub fn decide(&self) -> (Tally, Outcome, Reason) {
        let tally = self.count();
        let reason = tally.reason(self.hindrance, self.leader);
        (tally, reason.outcome(self.leader), reason)
    }

    /// What the votes advise the leader (CX-17); `None` where they advise nothing.
    pub fn recommendation(&self) -> Option<Outcome> {
        let tally = self.count();
        match tally.approve.cmp(&tally.reject) {
            std::cmp::Ordering::Greater => Some(Outcome::Commit),
            std::cmp::Ordering::Less => Some(Outcome::Abort),
            std::cmp::Ordering::Equal => None,
        }
    }

    /// Whether no vote that is still out can change the verdict (CX-15): neither approvals nor
    /// rejections nor abstentions of all who are silent, nor their silence. What lies between these is
    /// between their verdicts, because each count only grows with its own votes.
    pub fn is_settled(&self) -> bool {
        let (_, outcome, reason) = self.decide();
        [Decision::Approve, Decision::Reject, Decision::Abstain]
            .into_iter()
            .all(|decision| {
                let mut seats = self.seats.to_vec();
                for seat in seats.iter_mut().filter(|seat| seat.decision.is_none()) {
                    seat.decision = Some(decision);
                    seat.connected = true;
                }
                let filled = Poll {
                    seats: &seats,
                    ..*self
                };
                let (_, then, why) = filled.decide();
                (then, why) == (outcome, reason)
            })
    }

    fn count(&self) -> Tally {
        let of = |decision| self.counted(|seat| seat.decision == Some(decision));
        let (approve, reject, abstain) = (
            of(Decision::Approve),
            of(Decision::Reject),
            of(Decision::Abstain),
        );
        let weights = (self.mechanism == Mechanism::Weighted).then(|| self.weigh());
        let eligible = self.seats.len() as u64;
        let received = approve + reject + abstain;
        let votes = if self.abstain_counts {
            received
        } else {
            approve + reject
        };
        let least = match self.mechanism {
            Mechanism::Majority => self.quorum.max(eligible.div_ceil(2)),
            Mechanism::Weighted => self.quorum,
            Mechanism::Leader | Mechanism::Optimistic => 0,
        };
        let decisive = match self.mechanism {
            Mechanism::Majority | Mechanism::Weighted => {
                self.f.map_or(0, |f| f.saturating_mul(2).saturating_add(1))
            }
            Mechanism::Leader | Mechanism::Optimistic => 0,
        };
        let half_takes_part = weights.is_none_or(WeightTally::is_half);
        Tally {
            abstain,
            approve,
            connected: self.counted(|seat| seat.connected),
            eligible,
            invalid: self.counted(|seat| seat.unrevealed),
            mechanism: self.mechanism,
            quorum_met: votes >= least && approve + reject >= decisive && half_takes_part,
            quorum_required: least.max(decisive),
            received,
            reject,
            weights,
        }
    }

    fn counted(&self, which: impl Fn(&Cast) -> bool) -> u64 {
        self.seats.iter().filter(|seat| which(seat)).count() as u64
    }

    fn weigh(&self) -> WeightTally {
        let of = |which: &dyn Fn(&Cast) -> bool| {
            let seats = self.seats.iter().zip(self.weights);
            let sum = seats
                .filter(|(seat, _)| which(seat))
                .map(|(_, weight)| weight);
            // The sum of all is at most 2^53 - 1: a proposal with more is refused.
            sum.fold(0_u64, |sum, weight| sum.saturating_add(*weight))
        };
        WeightTally {
            approve: of(&|seat| seat.decision == Some(Decision::Approve)),
            participating: of(&|seat| seat.decision.is_some()),
            threshold: self.threshold,
            total: of(&|_| true),
        }
    }
}

impl Tally {
    /// Why a round with these counts ends, whatever other rounds do to it.
    pub(super) fn reason(&self, hindrance: Option<Hindrance>, leader: Option<Outcome>) -> Reason {
        if let Some(hindrance) = hindrance {
            return hindrance.reason();
        }
        if self.mechanism == Mechanism::Optimistic && self.reject > 0 {
            return Reason::Objection;
        }
        if self.mechanism == Mechanism::Leader && leader.is_none() {
            return Reason::LeaderSilent;
        }
        if !self.quorum_met {
            return Reason::NoQuorum;
        }
        if !self.is_connected() {
            return Reason::Partition;
        }
        match self.mechanism {
            Mechanism::Optimistic => Reason::Accepted,
            Mechanism::Leader => Reason::LeaderDecision,
            Mechanism::Majority | Mechanism::Weighted if self.approve + self.reject == 0 => {
                Reason::NoDecisiveVotes
            }
            Mechanism::Majority => match self.approve.cmp(&self.reject) {
                std::cmp::Ordering::Greater => Reason::Accepted,
                std::cmp::Ordering::Less => Reason::Rejected,
                std::cmp::Ordering::Equal => Reason::Tie,
            },
            Mechanism::Weighted if self.weights.is_some_and(exceeds) => Reason::Accepted,
            Mechanism::Weighted => Reason::Rejected,
        }
    }

    /// True if more than half of the participants were heard of (CX-24).
    const fn is_connected(&self) -> bool {
        self.connected.saturating_mul(2) > self.eligible
    }
}

/// Strictly greater, by cross-multiplication (CC-32, CX-16).
fn exceeds(weights: WeightTally) -> bool {
    let Threshold { den, num } = weights.threshold;
    u128::from(weights.approve) * u128::from(den) > u128::from(weights.total) * u128::from(num)
}
