//! Lasting silence (round.md, "When it is decided", rule 9 (b); CX-29): two related rounds in a row fail for
//! lack of the same voters. Retries would change nothing then, so that humans are asked at once.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::state::State;
use super::tally::{Reason, TallyVerdict};
use crate::did::Did;
use crate::digest::Digest;
use crate::facts::consensus::{Decision, Mechanism};
use crate::id::RoundId;

/// What one proposer's rounds are related by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Relation {
    /// A resource that both name.
    Tag(Digest),
    /// The failed round itself, which its retry names.
    Retry(RoundId),
}

/// What is remembered of a round that failed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Failed {
    /// Participants that voted neither for it nor against it.
    pub missing: BTreeSet<Did>,
    /// Id of the round: the envelope id of its proposal.
    pub round: RoundId,
}

/// What a decision makes of the memory of failures in a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InARow {
    /// It is remembered in place of an earlier one.
    Counts,
    /// Nothing is remembered any more: it was accepted or rejected.
    Ends,
    /// It changes nothing: nobody but the ledger, the leader, the proposer or a rival had a part in it.
    PassedOver,
}

impl InARow {
    /// What a decision for that reason does.
    pub const fn of(reason: Reason) -> InARow {
        match reason {
            Reason::NoQuorum | Reason::NoDecisiveVotes | Reason::Partition => InARow::Counts,
            Reason::Accepted
            | Reason::Rejected
            | Reason::Tie
            | Reason::Objection
            | Reason::LeaderDecision => InARow::Ends,
            Reason::Superseded
            | Reason::Withdrawn
            | Reason::LeaderSilent
            | Reason::LedgerDown
            | Reason::WeightsUnacknowledged
            | Reason::Deadlock => InARow::PassedOver,
        }
    }
}

impl State {
    /// What it is remembered by once it failed: its resources, and itself for a retry.
    pub fn remembered_by(&self) -> Vec<Relation> {
        let tags = self.opening.proposal.resource_tags.iter();
        let own = Relation::Retry(self.opening.id());
        tags.map(|tag| Relation::Tag(*tag)).chain([own]).collect()
    }

    /// By what an earlier failure of the same proposer is related to it.
    pub fn related_by(&self) -> Vec<Relation> {
        let proposal = &self.opening.proposal;
        let tags = proposal.resource_tags.iter().copied().map(Relation::Tag);
        let retried = proposal.resubmission_of.map(Relation::Retry);
        tags.chain(retried).collect()
    }

    /// What is remembered of it as failed.
    pub fn as_failed(&self) -> Failed {
        let seats = self.seats.iter().zip(&self.opening.proposal.participants);
        let missing = seats.filter_map(|(seat, agent)| {
            let vote = seat.vote.as_ref();
            let said = vote
                .and_then(|vote| vote.choice)
                .map(|choice| choice.decision);
            matches!(said, None | Some(Decision::Abstain)).then_some(*agent)
        });
        Failed {
            missing: missing.collect(),
            round: self.opening.id(),
        }
    }

    /// Whether it failed in such a way that it may be the second one in a row, the first of which only
    /// whoever has the whole log knows: one about the same resource, as its retries are in its bundle.
    pub fn may_lack_as_another(&self) -> bool {
        self.contest.lacking_since.is_none()
            && !self.opening.proposal.resource_tags.is_empty()
            && self.lacks_as(&self.as_failed())
    }

    /// Whether it failed for lack of voters who were missing in `before` too, so that without them there is
    /// no quorum, or nobody at all.
    pub(super) fn lacks_as(&self, before: &Failed) -> bool {
        let Some(verdict) = &self.decided else {
            return false;
        };
        let now = self.as_failed();
        let both: BTreeSet<Did> = now.missing.intersection(&before.missing).copied().collect();
        match verdict.reason {
            Reason::NoQuorum => !self.could_be_quorate_without(&both, verdict),
            Reason::NoDecisiveVotes => both.len() == self.seats.len(),
            Reason::Accepted
            | Reason::Rejected
            | Reason::Tie
            | Reason::Objection
            | Reason::Superseded
            | Reason::Partition
            | Reason::LeaderDecision
            | Reason::Withdrawn
            | Reason::LeaderSilent
            | Reason::LedgerDown
            | Reason::WeightsUnacknowledged
            | Reason::Deadlock => false,
        }
    }

    fn could_be_quorate_without(&self, missing: &BTreeSet<Did>, verdict: &TallyVerdict) -> bool {
        let proposal = &self.opening.proposal;
        let there = |agent: &&Did| !missing.contains(agent);
        let left = proposal.participants.iter().filter(there).count() as u64;
        if left < verdict.tally.quorum_required {
            return false;
        }
        let Some(weights) = proposal
            .weights
            .as_ref()
            .filter(|_| proposal.mechanism == Mechanism::Weighted)
        else {
            return true;
        };
        let of = |which: &dyn Fn(&Did) -> bool| -> u128 {
            let seats = proposal.participants.iter().zip(weights);
            let weights = seats.filter(|(agent, _)| which(agent));
            weights.map(|(_, weight)| u128::from(*weight)).sum()
        };
        of(&|agent| !missing.contains(agent)) * 2 >= of(&|_| true)
    }
}
