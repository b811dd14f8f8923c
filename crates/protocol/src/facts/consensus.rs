//! Facts of `x811.consensus/…`, which the machine `round` decides on (round.md, "Messages and facts").

mod messages;
mod proposal;

pub use messages::{
    Choice, Escalate, HumanDecision, LeaderSignal, OfRound, Ready, Report, Reveal, Said, Vote,
    VoteRequest,
};
pub(crate) use proposal::MOST_PARTICIPANTS;
pub use proposal::{Proposal, Threshold};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::UnknownWord;
use crate::code::Code;
use crate::id::RoundId;
use crate::refusal::{Kind, Refusal};

/// The most tags of resources, and the most rounds that one message names as blocking.
const MOST_NAMED: usize = 8;

verbs! {
    /// The messages of a round; the first opens one.
    ConsensusVerb, "consensus" {
        /// A decision is put to participants.
        Propose = "propose",
        /// The leader opens the round.
        VoteRequest = "vote-request",
        /// A participant takes part, under this leader and these weights.
        Ready = "ready",
        /// What a participant says to the proposal, or a commitment to it.
        Vote = "vote",
        /// What a commitment stood for.
        Reveal = "reveal",
        /// The leader's signal: it is done.
        Commit = "commit",
        /// The leader's signal: it is not done.
        Abort = "abort",
        /// The leader suspends the round.
        Suspend = "suspend",
        /// The leader goes on with it.
        Resume = "resume",
        /// The proposer takes the proposal back.
        Withdraw = "withdraw",
        /// Humans are asked.
        Escalate = "escalate",
        /// What a human decides.
        HumanDecision = "human-decision",
        /// A participant did what was decided.
        Executed = "executed",
        /// A participant could not do it.
        Failed = "failed",
    }
}

words! {
    /// How votes decide (CC-11).
    Mechanism, "majority, weighted, leader, optimistic" {
        /// More approvals than rejections.
        Majority = "majority",
        /// More approving weight than a part of the total.
        Weighted = "weighted",
        /// The leader decides, votes are advice.
        Leader = "leader",
        /// Accepted unless somebody objects.
        Optimistic = "optimistic",
    }
}

words! {
    /// Whether votes can be read before the tally.
    Voting, "open, sealed" {
        /// By the leader and whoever reads the log.
        Open = "open",
        /// By nobody: votes are commitments, which are revealed afterwards (CX-51).
        Sealed = "sealed",
    }
}

words! {
    /// What a vote says (CC-19).
    Decision, "approve, reject, abstain" {
        /// For the proposal.
        Approve = "approve",
        /// Against the proposal.
        Reject = "reject",
        /// Neither for the proposal nor against it.
        Abstain = "abstain",
    }
}

words! {
    /// What a human decides.
    HumanRuling, "approve, reject" {
        /// It is done.
        Approve = "approve",
        /// It is not done.
        Reject = "reject",
    }
}

words! {
    /// What the proposer says of the action's risk (CX-19).
    Risk, "low, medium, high" {
        /// The proposer says that little is at risk.
        Low = "low",
        /// The proposer says that something is at risk.
        Medium = "medium",
        /// The proposer says that much is at risk.
        High = "high",
    }
}

words! {
    /// Why a message asks for humans.
    EscalationPlea, "time_critical" {
        /// There is no time for a retry (CC-46).
        TimeCritical = "time_critical",
    }
}

facts_of_verbs! {
    /// The facts of one message of a round.
    ConsensusFacts of ConsensusVerb {
        Propose(Box<Proposal>),
        VoteRequest(VoteRequest),
        Ready(Ready),
        Vote(Box<Vote>),
        Reveal(Box<Reveal>),
        Commit(LeaderSignal),
        Abort(LeaderSignal),
        Suspend(OfRound),
        Resume(OfRound),
        Withdraw(OfRound),
        Escalate(Escalate),
        HumanDecision(HumanDecision),
        Executed(Report),
        Failed(Report),
    }
}

impl ConsensusFacts {
    /// Rounds beside its own that it names: those in its way, and the failed one that it retries.
    pub fn names(&self) -> Vec<RoundId> {
        match self {
            ConsensusFacts::Propose(proposal) => {
                let blocked_by = proposal.blocked_by.iter().copied();
                blocked_by.chain(proposal.resubmission_of).collect()
            }
            ConsensusFacts::Vote(vote) => vote.blocked_by.clone().unwrap_or_default(),
            ConsensusFacts::VoteRequest(_)
            | ConsensusFacts::Ready(_)
            | ConsensusFacts::Reveal(_)
            | ConsensusFacts::Commit(_)
            | ConsensusFacts::Abort(_)
            | ConsensusFacts::Suspend(_)
            | ConsensusFacts::Resume(_)
            | ConsensusFacts::Withdraw(_)
            | ConsensusFacts::Escalate(_)
            | ConsensusFacts::HumanDecision(_)
            | ConsensusFacts::Executed(_)
            | ConsensusFacts::Failed(_) => Vec::new(),
        }
    }

    /// The round that the message is about; a proposal's is named by the envelope that carries it.
    pub fn round(&self) -> RoundId {
        match self {
            ConsensusFacts::Propose(proposal) => proposal.proposal_id,
            ConsensusFacts::VoteRequest(call) => call.proposal_id,
            ConsensusFacts::Ready(ready) => ready.proposal_id,
            ConsensusFacts::Vote(vote) => vote.proposal_id,
            ConsensusFacts::Reveal(reveal) => reveal.proposal_id,
            ConsensusFacts::Commit(signal) | ConsensusFacts::Abort(signal) => signal.proposal_id,
            ConsensusFacts::Suspend(of)
            | ConsensusFacts::Resume(of)
            | ConsensusFacts::Withdraw(of) => of.proposal_id,
            ConsensusFacts::Escalate(escalate) => escalate.proposal_id,
            ConsensusFacts::HumanDecision(decision) => decision.proposal_id,
            ConsensusFacts::Executed(report) | ConsensusFacts::Failed(report) => report.proposal_id,
        }
    }

    /// Checks that the members agree with each other.
    ///
    /// # Errors
    /// CCN-1001, naming what does not.
    pub fn consistent(&self) -> Result<(), Refusal> {
        match self {
            ConsensusFacts::Propose(proposal) => proposal.consistent(),
            ConsensusFacts::Vote(vote) => vote.consistent(),
            ConsensusFacts::Reveal(reveal) => reveal.choice().consistent(),
            ConsensusFacts::VoteRequest(_)
            | ConsensusFacts::Ready(_)
            | ConsensusFacts::Commit(_)
            | ConsensusFacts::Abort(_)
            | ConsensusFacts::Suspend(_)
            | ConsensusFacts::Resume(_)
            | ConsensusFacts::Withdraw(_)
            | ConsensusFacts::Escalate(_)
            | ConsensusFacts::HumanDecision(_)
            | ConsensusFacts::Executed(_)
            | ConsensusFacts::Failed(_) => Ok(()),
        }
    }
}

/// CCN-1001: the form of a message of a round.
pub(crate) fn malformed(message: impl AsRef<str>) -> Refusal {
    Refusal::new(Code::Schema, Kind::Shape, message)
}
