//! What a ledger records in the stream of a round besides messages (round.md, "Events of `round:<id>`").

use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

use super::state::State;
use super::tally::{Outcome, Reason, Tally, TallyVerdict};
use crate::code::Code;
use crate::did::Did;
use crate::digest::Digest;
use crate::evm::BlockHash;
use crate::id::RoundId;
use crate::observation::Block;

/// A window of a round.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RoundWindow {
    /// Proposal to opening.
    Open,
    /// Until the timeout: a signed moment, which never moves.
    Votes,
    /// Until sealed votes are revealed.
    Reveals,
    /// For rivals that rank higher, before the round is decided.
    Hold,
    /// For the block that draws.
    Draw,
    /// For the leader's signal.
    Signal,
    /// For a retry.
    Resubmission,
    /// For the decision of a human.
    Human,
    /// For reports of what was done.
    Execution,
}

impl RoundWindow {
    /// All nine windows.
    pub const ALL: [RoundWindow; 9] = [
        RoundWindow::Open,
        RoundWindow::Votes,
        RoundWindow::Reveals,
        RoundWindow::Hold,
        RoundWindow::Draw,
        RoundWindow::Signal,
        RoundWindow::Resubmission,
        RoundWindow::Human,
        RoundWindow::Execution,
    ];

    /// The code of its lapse.
    pub const fn code(self) -> Code {
        match self {
            RoundWindow::Open | RoundWindow::Signal => Code::LeaderSilent,
            RoundWindow::Votes | RoundWindow::Hold => Code::VotesClosed,
            RoundWindow::Reveals => Code::RevealsClosed,
            RoundWindow::Draw => Code::ResponseTimeout,
            RoundWindow::Resubmission => Code::NotResubmitted,
            RoundWindow::Human => Code::HumanSilent,
            RoundWindow::Execution => Code::ExecutionOverdue,
        }
    }
}

/// `round_opened`: from here on votes are taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RoundOpened {
    /// Position of the record that it follows from.
    pub cause: u64,
    /// Who leads (CX-21).
    pub leader: Did,
    /// Number of the attempt, from 1.
    pub term: u64,
}

/// `round_decided`: exactly one for each round.
#[skip_serializing_none]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RoundDecided {
    /// Position of the record that it follows from.
    pub cause: u64,
    /// How it ends.
    pub outcome: Outcome,
    /// Why it ends so.
    pub reason: Reason,
    /// Superseded: the hash of the block that drew the one that stays, if one did.
    pub seed: Option<BlockHash>,
    /// How many voted for what.
    pub tally: Tally,
    /// Which votes were counted.
    pub votes_digest: Digest,
    /// Superseded: by which round.
    pub winner: Option<RoundId>,
}

impl RoundDecided {
    /// What follows from the record at `cause`, where no other round has to do with it.
    pub const fn new(cause: u64, verdict: &TallyVerdict) -> RoundDecided {
        RoundDecided {
            cause,
            outcome: verdict.outcome,
            reason: verdict.reason,
            seed: None,
            tally: verdict.tally,
            votes_digest: verdict.votes_digest,
            winner: None,
        }
    }

    /// What follows from the record at `cause`, which led to that state.
    pub(super) fn of(cause: u64, state: &State, verdict: &TallyVerdict) -> RoundDecided {
        let (winner, seed) = state.superseded_by(verdict.reason);
        RoundDecided {
            seed,
            winner,
            ..RoundDecided::new(cause, verdict)
        }
    }

    /// The tally and what follows from it.
    pub const fn verdict(&self) -> TallyVerdict {
        TallyVerdict {
            outcome: self.outcome,
            reason: self.reason,
            tally: self.tally,
            votes_digest: self.votes_digest,
        }
    }
}

/// `cycle_drawn`, in the round whose vote closed the cycle: an observation (round.md, "When it is decided",
/// rule 9).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CycleDrawn {
    /// The block whose hash draws.
    pub block: Block,
    /// Position of the vote that closed the cycle.
    pub closing: u64,
    /// Those of the cycle that are still open, in order; at most 64.
    pub rounds: Vec<RoundId>,
    /// The one that stays.
    pub winner: RoundId,
}

/// `resubmitted`, in the failed round.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Resubmitted {
    /// Position of the proposal that retries it.
    pub cause: u64,
    /// The round that it opened.
    pub round: RoundId,
}

/// Why humans are asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EscalationReason {
    /// Rounds block each other, or the same voters were missing twice.
    Deadlock,
    /// The last attempt failed.
    Retries,
    /// There is no time for a retry.
    TimeCritical,
    /// Somebody could not do what was decided: this informs, and changes nothing.
    Execution,
}

/// `round_escalated`: humans are asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RoundEscalated {
    /// Position of the record that it follows from.
    pub cause: u64,
    /// Why humans are asked.
    pub reason: EscalationReason,
    /// Of the decision.
    pub votes_digest: Digest,
}

/// What was noticed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Anomaly {
    /// A second vote that says something else (CX-14).
    SecondVote,
    /// A signal by somebody who does not lead (CX-21).
    SecondLeader,
    /// A commitment that was not revealed (CX-51).
    Unrevealed,
    /// No signal in time.
    LeaderSilent,
    /// Equal rationales (CX-50).
    EqualRationales,
    /// Votes at nearly one moment (CX-50).
    Synchronised,
}

/// `anomaly_noted`: a finding, which never changes a tally.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AnomalyNoted {
    /// Whose doing it is; at most 128.
    pub agents: Vec<Did>,
    /// Position of the record that it follows from.
    pub cause: u64,
    /// What was noticed, in a word.
    pub kind: Anomaly,
    /// Positions of the records that show it; at most 128.
    pub records: Vec<u64>,
}

/// An event of a round that is no message and no lapse.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum RoundEvent {
    /// Votes are taken from here.
    RoundOpened(RoundOpened),
    /// The round is decided, with its tally.
    RoundDecided(RoundDecided),
    /// A retry was proposed.
    Resubmitted(Resubmitted),
    /// Humans are asked.
    RoundEscalated(RoundEscalated),
    /// Something was noticed.
    AnomalyNoted(AnomalyNoted),
}

impl RoundEvent {
    /// The `type` member.
    pub const fn type_name(&self) -> &'static str {
        match self {
            RoundEvent::RoundOpened(_) => "round_opened",
            RoundEvent::RoundDecided(_) => "round_decided",
            RoundEvent::Resubmitted(_) => "resubmitted",
            RoundEvent::RoundEscalated(_) => "round_escalated",
            RoundEvent::AnomalyNoted(_) => "anomaly_noted",
        }
    }

    /// Position of the record that it follows from.
    pub const fn cause(&self) -> u64 {
        match self {
            RoundEvent::RoundOpened(opened) => opened.cause,
            RoundEvent::RoundDecided(decided) => decided.cause,
            RoundEvent::Resubmitted(resubmitted) => resubmitted.cause,
            RoundEvent::RoundEscalated(escalated) => escalated.cause,
            RoundEvent::AnomalyNoted(noted) => noted.cause,
        }
    }
}
