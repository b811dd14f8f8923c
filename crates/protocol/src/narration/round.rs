//! What a record or message of a round says.

use crate::facts::ConsensusFacts;
use crate::facts::consensus::{HumanRuling, LeaderSignal, Proposal, Said, Vote};
use crate::round::{
    Anomaly, AnomalyNoted, EscalationReason, RoundDecided, RoundEscalated, RoundOpened, RoundWindow,
};

/// What a message says.
pub(super) fn message(facts: &ConsensusFacts) -> String {
    match facts {
        ConsensusFacts::Propose(proposal) => self::proposal(proposal),
        ConsensusFacts::VoteRequest(call) => format!("asks for votes, attempt {}", call.term),
        ConsensusFacts::Ready(_) => "is ready to vote".to_owned(),
        ConsensusFacts::Vote(vote) => self::vote(vote),
        ConsensusFacts::Reveal(reveal) => format!("reveals its vote: {}", reveal.decision),
        ConsensusFacts::Commit(signal) => self::signal("commit", signal),
        ConsensusFacts::Abort(signal) => self::signal("abort", signal),
        ConsensusFacts::Suspend(_) => "suspends the round".to_owned(),
        ConsensusFacts::Resume(_) => "resumes the round".to_owned(),
        ConsensusFacts::Withdraw(_) => "takes the proposal back".to_owned(),
        ConsensusFacts::Escalate(_) => "asks humans to decide: there is no time".to_owned(),
        ConsensusFacts::HumanDecision(decision) => match decision.decision {
            HumanRuling::Approve => "a human approves".to_owned(),
            HumanRuling::Reject => "a human rejects".to_owned(),
        },
        ConsensusFacts::Executed(_) => "has done what was decided".to_owned(),
        ConsensusFacts::Failed(_) => "could not do what was decided".to_owned(),
    }
}

fn proposal(proposal: &Proposal) -> String {
    let attempt = match proposal.attempt {
        1 => String::new(),
        attempt => format!(", attempt {attempt}"),
    };
    format!(
        "proposal: {}, decided by {} ({} votes) of {} agents until {}{attempt}",
        proposal.action_type,
        proposal.mechanism,
        proposal.voting,
        proposal.participants.len(),
        proposal.timeout_ms.to_rfc3339()
    )
}

fn vote(vote: &Vote) -> String {
    match vote.said() {
        Ok(Said::Open(choice)) => format!("votes {}", choice.decision),
        Ok(Said::Sealed(_)) | Err(_) => "votes, sealed".to_owned(),
    }
}

fn signal(outcome: &str, signal: &LeaderSignal) -> String {
    match signal.tally_hash {
        Some(_) => format!("the leader signals {outcome} over the tally"),
        None => format!("the leader signals {outcome}"),
    }
}

/// Votes are taken.
pub(super) fn opened(opened: &RoundOpened) -> String {
    format!("the round is open, led by {}", opened.leader)
}

pub(super) fn decided(decided: &RoundDecided) -> String {
    let tally = &decided.tally;
    format!(
        "decided: {}, {} ({} for, {} against, {} abstain, of {})",
        decided.outcome.as_str(),
        decided.reason.as_str(),
        tally.approve,
        tally.reject,
        tally.abstain,
        tally.eligible
    )
}

/// Humans are asked.
pub(super) fn escalated(escalated: &RoundEscalated) -> String {
    let why = match escalated.reason {
        EscalationReason::Deadlock => {
            "no retry can help: rounds block each other, or the same voters were missing twice"
        }
        EscalationReason::Retries => "no retry is left",
        EscalationReason::TimeCritical => "there is no time for a retry",
        EscalationReason::Execution => "somebody could not do what was decided",
    };
    format!("humans are told: {why}")
}

/// Something was noticed.
pub(super) fn noted(noted: &AnomalyNoted) -> String {
    let what = match noted.kind {
        Anomaly::SecondVote => "a second, different vote",
        Anomaly::SecondLeader => "a signal by who does not lead",
        Anomaly::Unrevealed => "sealed votes that were not revealed",
        Anomaly::LeaderSilent => "a leader that gave no signal",
        Anomaly::EqualRationales => "equal reasons of several votes",
        Anomaly::Synchronised => "votes at nearly one moment",
    };
    match noted.agents.as_slice() {
        [agent] => format!("noticed: {what}, of {agent}"),
        agents => format!("noticed: {what}, of {} agents", agents.len()),
    }
}

pub(super) const fn window(window: RoundWindow) -> &'static str {
    match window {
        RoundWindow::Open => "time to open the round",
        RoundWindow::Votes => "time for votes",
        RoundWindow::Reveals => "time for reveals",
        RoundWindow::Hold => "time that it is held",
        RoundWindow::Draw => "time for the draw",
        RoundWindow::Signal => "time for the leader's signal",
        RoundWindow::Resubmission => "time for a retry",
        RoundWindow::Human => "time for humans",
        RoundWindow::Execution => "time for reports",
    }
}
