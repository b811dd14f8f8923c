//! Facts of a proposal: what a round is opened with.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

use super::super::member::{MAX_SAFE_INTEGER, given, given_integer, is_task_type};
use super::{MOST_NAMED, Mechanism, Risk, Voting, malformed};
use crate::did::Did;
use crate::digest::Digest;
use crate::id::RoundId;
use crate::refusal::Refusal;
use crate::time::TimestampMs;

/// The most participants of a round.
pub(crate) const MOST_PARTICIPANTS: usize = 512;

/// The highest urgency and specificity.
const HIGHEST_RANK: u64 = 100;

/// The largest denominator of a threshold.
const LARGEST_DENOMINATOR: u64 = 1_000_000;

/// A part of the total weight: `num / den`, above 0 and below 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Threshold {
    /// Denominator, at most 1,000,000.
    pub den: u64,
    /// Numerator, above zero and below the denominator.
    pub num: u64,
}

impl Threshold {
    /// What holds where none is named (CC-32).
    pub const HALF: Threshold = Threshold { den: 2, num: 1 };

    /// True if it is more than nothing and less than everything, in numbers that a record takes.
    pub(crate) const fn is_a_part(self) -> bool {
        self.num > 0 && self.num < self.den && self.den <= LARGEST_DENOMINATOR
    }
}

/// Facts of a proposal. Members stand in the order of their names.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Proposal {
    /// SHA-256 of the RFC 8785 form of `action`.
    pub action_hash: Digest,
    /// `action.type`: at most 128 printable characters.
    pub action_type: String,
    /// 1, and one more for each retry.
    pub attempt: u64,
    /// Open rounds that stand in its way, as the proposer says; at most 8.
    pub blocked_by: Vec<RoundId>,
    /// The round: the envelope's own id.
    pub consensus_round_id: RoundId,
    /// How many faulty agents are to be tolerated (CX-48).
    #[serde(default, deserialize_with = "given_integer")]
    pub f: Option<u64>,
    /// The ledger, or the agent that leads.
    pub leader: Did,
    /// How votes decide.
    pub mechanism: Mechanism,
    /// Who votes: a set of 1 to 512.
    pub participants: Vec<Did>,
    /// SHA-256 of the RFC 8785 form of the payload without its signature.
    pub proposal_hash: Digest,
    /// The proposal: the envelope's own id.
    pub proposal_id: RoundId,
    /// The least number of votes.
    pub quorum: u64,
    /// Resources that the action is about, as hashes; at most 8.
    pub resource_tags: Vec<Digest>,
    /// The failed round that this one retries.
    #[serde(default, deserialize_with = "given")]
    pub resubmission_of: Option<RoundId>,
    /// How long sealed votes may be revealed, in milliseconds.
    #[serde(default, deserialize_with = "given_integer")]
    pub reveal_ms: Option<u64>,
    /// Whether the action can be undone.
    pub reversible: bool,
    /// What may go wrong.
    pub risk: Risk,
    /// How narrow the action is, 0 to 100; ranks rivals.
    pub specificity: u64,
    /// SHA-256 of the UTF-8 bytes of `subject`.
    pub subject_hash: Digest,
    /// Mechanism weighted: what approving weight must exceed; absent: one half.
    #[serde(default, deserialize_with = "given")]
    pub threshold: Option<Threshold>,
    /// The last moment for votes: signed, so that it never moves.
    pub timeout_ms: TimestampMs,
    /// How soon it must be decided, 0 to 100; ranks rivals.
    pub urgency: u64,
    /// Open or sealed.
    pub voting: Voting,
    /// Mechanism weighted: of each participant, in their order.
    #[serde(default, deserialize_with = "given")]
    pub weights: Option<Vec<u64>>,
    /// Mechanism weighted: [`crate::round::weights_hash`].
    #[serde(default, deserialize_with = "given")]
    pub weights_hash: Option<Digest>,
}

impl Proposal {
    /// The threshold, named or not.
    pub fn threshold(&self) -> Threshold {
        self.threshold.unwrap_or(Threshold::HALF)
    }

    /// What must agree whatever the ledger and its parameters are.
    pub(super) fn consistent(&self) -> Result<(), Refusal> {
        let seats = self.participants.len();
        let distinct: BTreeSet<&Did> = self.participants.iter().collect();
        if !(1..=MOST_PARTICIPANTS).contains(&seats) || distinct.len() != seats {
            return Err(malformed(format!(
                "participants must be 1 to {MOST_PARTICIPANTS} different agents (CX-7)"
            )));
        }
        if self.proposal_id != self.consensus_round_id {
            return Err(malformed(
                "proposal_id and consensus_round_id must both be the id of the envelope",
            ));
        }
        if self.resource_tags.len() > MOST_NAMED || self.blocked_by.len() > MOST_NAMED {
            return Err(malformed(format!(
                "action.resource and blocked_by have at most {MOST_NAMED} entries each"
            )));
        }
        if self.urgency > HIGHEST_RANK || self.specificity > HIGHEST_RANK {
            return Err(malformed(format!(
                "urgency and specificity are 0 to {HIGHEST_RANK}"
            )));
        }
        if !is_task_type(&self.action_type) {
            return Err(malformed(
                "action.type must be 1 to 128 printable characters",
            ));
        }
        if self.attempt == 0 || (self.attempt > 1) != self.resubmission_of.is_some() {
            return Err(malformed(
                "attempt is 1 for a first proposal, and one more than that of resubmission_of for a retry",
            ));
        }
        self.voted_on(seats as u64)?;
        self.weighed()
    }

    fn voted_on(&self, seats: u64) -> Result<(), Refusal> {
        let counts_votes = matches!(self.mechanism, Mechanism::Majority | Mechanism::Weighted);
        if counts_votes && self.quorum > seats {
            return Err(malformed(format!(
                "quorum is {} and there are {seats} participants (CX-6)",
                self.quorum
            )));
        }
        if self.voting == Voting::Sealed && !counts_votes {
            return Err(malformed(format!(
                "mechanism {} takes open votes: only majority and weighted can be sealed",
                self.mechanism
            )));
        }
        if self.reveal_ms.is_some() && self.voting == Voting::Open {
            return Err(malformed("reveal_ms is for sealed votes alone"));
        }
        let Some(faulty) = self.f else { return Ok(()) };
        let tolerates = faulty.checked_mul(3).is_some_and(|three| three < seats);
        if counts_votes && tolerates {
            return Ok(());
        }
        Err(malformed(format!(
            "f is {faulty}: it takes majority or weighted and 3f + 1 participants, and there are \
             {seats} (CX-48)"
        )))
    }

    fn weighed(&self) -> Result<(), Refusal> {
        let Some(weights) = &self.weights else {
            if self.mechanism == Mechanism::Weighted {
                return Err(malformed(
                    "mechanism weighted needs weights, one for each participant",
                ));
            }
            if self.threshold.is_some() || self.weights_hash.is_some() {
                return Err(malformed("threshold is for mechanism weighted alone"));
            }
            return Ok(());
        };
        if self.mechanism != Mechanism::Weighted || weights.len() != self.participants.len() {
            return Err(malformed(
                "weights are for mechanism weighted alone, one for each participant in their order",
            ));
        }
        let total: u128 = weights.iter().copied().map(u128::from).sum();
        if !(1..=u128::from(MAX_SAFE_INTEGER)).contains(&total) {
            return Err(malformed(
                "the sum of weights must be 1 to 2^53 - 1 (CX-16)",
            ));
        }
        if !self.threshold().is_a_part() {
            return Err(malformed(format!(
                "threshold must be num / den with 0 < num < den ≤ {LARGEST_DENOMINATOR} (CX-16)"
            )));
        }
        if self.weights_hash == Some(crate::round::weights_hash(&self.participants, weights)) {
            return Ok(());
        }
        Err(malformed(
            "weights_hash is not that of participants and weights",
        ))
    }
}
