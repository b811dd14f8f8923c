//! Facts of the messages that follow a proposal.

use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

use super::super::member::given;
use super::{Decision, EscalationPlea, HumanRuling, MOST_NAMED, malformed};
use crate::did::Did;
use crate::digest::Digest;
use crate::id::RoundId;
use crate::refusal::Refusal;
use crate::time::TimestampMs;

/// Facts of a vote-request.
#[skip_serializing_none]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct VoteRequest {
    /// Of the proposal that is put to the vote.
    pub proposal_hash: Digest,
    /// Id of the round: the envelope id of its proposal.
    pub proposal_id: RoundId,
    /// Number of the attempt, from 1.
    pub term: u64,
    /// Mechanism weighted: the weights that everybody acknowledged.
    #[serde(default, deserialize_with = "given")]
    pub weights_hash: Option<Digest>,
}

/// Facts of a ready.
#[skip_serializing_none]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Ready {
    /// Whom the participant takes as leader (CX-21).
    pub leader: Did,
    /// Of the proposal as it was read.
    pub proposal_hash: Digest,
    /// Id of the round: the envelope id of its proposal.
    pub proposal_id: RoundId,
    /// Number of the attempt, from 1.
    pub term: u64,
    /// Mechanism weighted: the weights that are acknowledged (CC-31).
    #[serde(default, deserialize_with = "given")]
    pub weights_hash: Option<Digest>,
}

/// What a vote says, once it can be read.
#[skip_serializing_none]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Choice {
    /// For it, against it or neither.
    pub decision: Decision,
    /// SHA-256 of `rationale`; a rejection has one (CC-20).
    #[serde(default, deserialize_with = "given")]
    pub rationale_hash: Option<Digest>,
    /// The same of `rationale` in lower case and with single spaces: equal ones are noticed (CX-50).
    #[serde(default, deserialize_with = "given")]
    pub rationale_tag: Option<Digest>,
    /// SHA-256 of the RFC 8785 form of the payload without its signature.
    pub vote_hash: Digest,
}

impl Choice {
    pub(super) fn consistent(&self) -> Result<(), Refusal> {
        if self.rationale_hash.is_some() != self.rationale_tag.is_some() {
            return Err(malformed(
                "rationale_hash and rationale_tag are of one rationale",
            ));
        }
        if self.decision == Decision::Reject && self.rationale_hash.is_none() {
            return Err(malformed(
                "a rejection needs a rationale that is not blank (CC-20): without it, it does not count",
            ));
        }
        Ok(())
    }
}

/// What is said in a vote.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Said {
    /// Readable at once.
    Open(Choice),
    /// Readable once it is revealed: [`crate::round::commitment`].
    Sealed(Digest),
}

/// Facts of a vote: `decision` and `vote_hash`, or `commitment`.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Vote {
    /// Open rounds that stand in the way, as the voter says; 1 to 8, or absent.
    #[serde(default, deserialize_with = "given")]
    pub blocked_by: Option<Vec<RoundId>>,
    /// Of a sealed vote.
    #[serde(default, deserialize_with = "given")]
    pub commitment: Option<Digest>,
    /// The round, under the vote's own signature: no vote counts in another attempt (CX-4).
    pub consensus_round_id: RoundId,
    /// For it, against it or neither.
    #[serde(default, deserialize_with = "given")]
    pub decision: Option<Decision>,
    /// Of the proposal as it was read.
    pub proposal_hash: Digest,
    /// Id of the round: the envelope id of its proposal.
    pub proposal_id: RoundId,
    /// As in [`Choice`].
    #[serde(default, deserialize_with = "given")]
    pub rationale_hash: Option<Digest>,
    /// As in [`Choice`].
    #[serde(default, deserialize_with = "given")]
    pub rationale_tag: Option<Digest>,
    /// When, as the voter says.
    pub timestamp_ms: TimestampMs,
    /// As in [`Choice`].
    #[serde(default, deserialize_with = "given")]
    pub vote_hash: Option<Digest>,
}

impl Vote {
    /// What it says.
    ///
    /// # Errors
    /// CCN-1001 where it is neither open nor sealed, or both.
    pub fn said(&self) -> Result<Said, Refusal> {
        match (self.decision, self.vote_hash, self.commitment) {
            (Some(decision), Some(vote_hash), None) => Ok(Said::Open(Choice {
                decision,
                rationale_hash: self.rationale_hash,
                rationale_tag: self.rationale_tag,
                vote_hash,
            })),
            (None, None, Some(commitment))
                if self.rationale_hash.is_none()
                    && self.rationale_tag.is_none()
                    && self.blocked_by.is_none() =>
            {
                Ok(Said::Sealed(commitment))
            }
            _ => Err(malformed(
                "a vote has a decision, or a commitment and nothing that would show it",
            )),
        }
    }

    pub(super) fn consistent(&self) -> Result<(), Refusal> {
        if self.proposal_id != self.consensus_round_id {
            return Err(malformed(
                "proposal_id and consensus_round_id must name the same round (CX-4)",
            ));
        }
        if let Some(blocked_by) = &self.blocked_by
            && !(1..=MOST_NAMED).contains(&blocked_by.len())
        {
            return Err(malformed(format!(
                "blocked_by has 1 to {MOST_NAMED} entries, or is left out"
            )));
        }
        match self.said()? {
            Said::Open(choice) => choice.consistent(),
            Said::Sealed(_) => Ok(()),
        }
    }
}

/// Facts of a reveal.
#[skip_serializing_none]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Reveal {
    /// Computed from what is revealed.
    pub commitment: Digest,
    /// For it, against it or neither.
    pub decision: Decision,
    /// Id of the round: the envelope id of its proposal.
    pub proposal_id: RoundId,
    /// As in [`Choice`].
    #[serde(default, deserialize_with = "given")]
    pub rationale_hash: Option<Digest>,
    /// As in [`Choice`].
    #[serde(default, deserialize_with = "given")]
    pub rationale_tag: Option<Digest>,
    /// That of the vote.
    pub timestamp_ms: TimestampMs,
    /// As in [`Choice`].
    pub vote_hash: Digest,
}

impl Reveal {
    /// What the commitment stood for.
    pub const fn choice(&self) -> Choice {
        Choice {
            decision: self.decision,
            rationale_hash: self.rationale_hash,
            rationale_tag: self.rationale_tag,
            vote_hash: self.vote_hash,
        }
    }
}

/// Facts of a commit and of an abort.
#[skip_serializing_none]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LeaderSignal {
    /// Id of the round: the envelope id of its proposal.
    pub proposal_id: RoundId,
    /// SHA-256 of `rationale`, if it is not blank.
    #[serde(default, deserialize_with = "given")]
    pub rationale_hash: Option<Digest>,
    /// SHA-256 of the RFC 8785 form of `tally` ([`crate::round::TallyVerdict::tally_hash`]).
    #[serde(default, deserialize_with = "given")]
    pub tally_hash: Option<Digest>,
}

/// Facts of a suspend, a resume and a withdraw.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OfRound {
    /// Id of the round: the envelope id of its proposal.
    pub proposal_id: RoundId,
}

/// Facts of an escalate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Escalate {
    /// Id of the round: the envelope id of its proposal.
    pub proposal_id: RoundId,
    /// Why humans are asked.
    pub reason: EscalationPlea,
}

/// Facts of a human's decision.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HumanDecision {
    /// What is decided.
    pub decision: HumanRuling,
    /// Position of the escalation that it answers.
    pub escalation: u64,
    /// Id of the round: the envelope id of its proposal.
    pub proposal_id: RoundId,
    /// SHA-256 of `rationale`, which is not blank.
    pub rationale_hash: Digest,
}

/// Facts of a report on what a participant did.
#[skip_serializing_none]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Report {
    /// Id of the round: the envelope id of its proposal.
    pub proposal_id: RoundId,
    /// SHA-256 of `report`: of a text's bytes, of an object's RFC 8785 form.
    #[serde(default, deserialize_with = "given")]
    pub report_hash: Option<Digest>,
}
