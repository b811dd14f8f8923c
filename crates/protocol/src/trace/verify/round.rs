//! A round and its retries, counted again from the votes shown.

use std::collections::BTreeSet;

use uuid::Uuid;

use super::{Counts, NotShown, TraceNode};
use crate::facts::consensus::{Decision, HumanRuling, Mechanism};
use crate::id::RoundId;
use crate::round::{EscalationReason, Outcome, Reason, Tally, TallyVerdict, votes_digest};
use crate::trace::content::{Commit, Content, Escalation, HumanDecision, Propose, Vote, Votes};
use crate::trace::round::MOST_VOTES;
use crate::trace::{MOST_PARTS, TraceFault, Wid};

/// One attempt so far, the last of the trace.
struct Attempt<'a> {
    at: &'a TraceNode<'a>,
    commit: Option<(&'a TraceNode<'a>, &'a Commit)>,
    /// Asked for a decision, by humans.
    escalation: Option<Uuid>,
    is_failure_told: bool,
    propose: &'a Propose,
    ruling: Option<HumanRuling>,
    sums: Vec<Uuid>,
    votes: Vec<(&'a TraceNode<'a>, &'a Vote)>,
}

#[derive(Default)]
struct Walk<'a> {
    attempt: Option<Attempt<'a>>,
    /// Participants, by the first tally.
    eligible: Option<u64>,
    rounds: BTreeSet<RoundId>,
}

pub(super) fn verify(
    wid: Wid,
    nodes: &[TraceNode<'_>],
    counts: &mut Counts,
) -> Result<(), TraceFault> {
    let mut walk = Walk::default();
    for node in nodes {
        if let Content::Propose(propose) = &node.content {
            walk.propose(wid, node, propose, counts)?;
            continue;
        }
        let attempt = walk.attempt.as_mut();
        let attempt = attempt.ok_or_else(|| node.fault("it comes before the first proposal"))?;
        match &node.content {
            Content::Vote(vote) => attempt.vote(node, vote, counts)?,
            Content::Votes(votes) => attempt.sum(node, votes)?,
            Content::Commit(commit) => {
                attempt.commit(node, commit)?;
                let eligible = *walk.eligible.get_or_insert(commit.tally.eligible);
                node.hold(
                    eligible == commit.tally.eligible,
                    "a retry has the participants of the round that failed",
                )?;
                counts.add(NotShown::Participants, 1);
                counts.add(NotShown::Moments, 1);
            }
            Content::Escalation(escalation) => attempt.escalate(node, escalation)?,
            Content::HumanDecision(decision) => {
                attempt.human(node, decision)?;
                let hash = Some(decision.rationale_hash);
                node.text(decision.rationale.as_ref(), hash, counts)?;
                counts.add(NotShown::Humans, 1);
            }
            Content::Propose(_)
            | Content::SessionClose(_)
            | Content::Revision(_)
            | Content::Revocation(_)
            | Content::ContractStep(_)
            | Content::ContractLapse(_)
            | Content::ContractEngage(_) => return Err(node.fault("it is of no round")),
        }
    }
    match walk.attempt {
        Some(Attempt {
            at,
            commit: None,
            votes,
            ..
        }) if !votes.is_empty() => {
            Err(at.fault("its votes are shown without the decision that shows them"))
        }
        Some(_) | None => Ok(()),
    }
}

impl<'a> Walk<'a> {
    fn propose(
        &mut self,
        wid: Wid,
        node: &'a TraceNode<'a>,
        propose: &'a Propose,
        counts: &mut Counts,
    ) -> Result<(), TraceFault> {
        node.text(propose.subject.as_ref(), Some(propose.subject_hash), counts)?;
        node.hold(
            propose.timeout_ms > node.claims.recorded_at_ms,
            "its timeout is not behind the proposal",
        )?;
        let is_weighted = propose.mechanism == Mechanism::Weighted;
        node.hold(
            propose.weights_hash.is_some() == is_weighted,
            "weights are of the mechanism weighted alone",
        )?;
        node.hold(
            propose.mechanism != Mechanism::Leader || propose.leader != node.claims.iss,
            "mechanism leader needs an agent that leads",
        )?;
        let is_new = self.rounds.insert(propose.proposal_id);
        node.hold(is_new, "its round is in the trace already")?;
        match self.attempt.take() {
            None => {
                let is_first = propose.attempt == 1 && node.claims.pred.is_empty();
                node.hold(
                    is_first && wid.to_string() == propose.proposal_id.to_string(),
                    "a trace begins with the first attempt, which it is named by",
                )?;
            }
            Some(failed) => failed.is_retried_by(node, propose)?,
        }
        node.hold(self.rounds.len() <= MOST_PARTS, "it has too many attempts")?;
        self.attempt = Some(Attempt {
            at: node,
            commit: None,
            escalation: None,
            is_failure_told: false,
            propose,
            ruling: None,
            sums: Vec::new(),
            votes: Vec::new(),
        });
        Ok(())
    }
}

impl<'a> Attempt<'a> {
    fn is_of(&self, node: &TraceNode<'_>, round: RoundId) -> Result<(), TraceFault> {
        let is_it = round == self.propose.proposal_id;
        node.hold(is_it, "it is of another round than the proposal before it")
    }

    /// Holds a retry to this attempt, which failed.
    fn is_retried_by(&self, node: &TraceNode<'_>, retry: &Propose) -> Result<(), TraceFault> {
        let failed = self.commit.filter(|(_, commit)| commit.reason.is_failure());
        let Some((decision, _)) = failed.filter(|_| self.escalation.is_none()) else {
            return Err(node.fault("it retries a round that did not fail, or is with humans"));
        };
        let first = self.propose;
        let is_same = (first.proposer, first.mechanism) == (retry.proposer, retry.mechanism)
            && first.action_hash == retry.action_hash
            && first.action_type == retry.action_type;
        node.hold(
            is_same && first.attempt.checked_add(1) == Some(retry.attempt),
            "it is not the next attempt of the same",
        )?;
        node.hold(
            node.claims.pred == [decision.claims.jti],
            "it does not rest on the decision that failed",
        )
    }

    fn vote(
        &mut self,
        node: &'a TraceNode<'a>,
        vote: &'a Vote,
        counts: &mut Counts,
    ) -> Result<(), TraceFault> {
        self.is_of(node, vote.proposal_id)?;
        node.hold(
            self.commit.is_none() && self.sums.is_empty(),
            "votes stand before the decision that counts them",
        )?;
        node.hold(
            node.claims.pred == [self.at.claims.jti],
            "a vote rests on the proposal",
        )?;
        let is_new = self
            .votes
            .iter()
            .all(|(_, other)| other.voter != vote.voter);
        node.hold(is_new, "its voter has voted")?;
        node.hold(
            vote.decision != Decision::Reject || vote.rationale_hash.is_some(),
            "a rejection has a rationale",
        )?;
        node.text(vote.rationale.as_ref(), vote.rationale_hash, counts)?;
        self.votes.push((node, vote));
        Ok(())
    }

    fn sum(&mut self, node: &TraceNode<'_>, votes: &Votes) -> Result<(), TraceFault> {
        self.is_of(node, votes.proposal_id)?;
        let due = self.votes.chunks(MOST_VOTES).nth(self.sums.len());
        let due = due.filter(|_| self.votes.len() > MOST_VOTES && self.commit.is_none());
        let due: Vec<Uuid> = due
            .into_iter()
            .flatten()
            .map(|(vote, _)| vote.claims.jti)
            .collect();
        node.hold(
            !due.is_empty()
                && node.claims.pred == due
                && votes.votes == due.len() as u64
                && votes.chunk == self.sums.len() as u64,
            "it does not sum up the next hundred votes",
        )?;
        self.sums.push(node.claims.jti);
        Ok(())
    }

    fn commit(&mut self, node: &'a TraceNode<'a>, commit: &'a Commit) -> Result<(), TraceFault> {
        self.is_of(node, commit.proposal_id)?;
        node.hold(self.commit.is_none(), "its round was decided")?;
        let votes: Vec<Uuid> = match self.sums.as_slice() {
            [] => self.votes.iter().map(|(vote, _)| vote.claims.jti).collect(),
            sums => sums.to_vec(),
        };
        let due: Vec<Uuid> = [self.at.claims.jti].into_iter().chain(votes).collect();
        node.hold(
            node.claims.pred == due && due.len() <= MOST_VOTES + 1,
            "it does not rest on its proposal and its votes",
        )?;
        let hashes = self.votes.iter().map(|(_, vote)| vote.vote_hash);
        node.hold(
            commit.votes_digest == votes_digest(hashes),
            "votes_digest is not that of the votes shown",
        )?;
        self.counts(node, &commit.tally)?;
        let verdict = TallyVerdict {
            outcome: commit.outcome,
            reason: commit.reason,
            tally: commit.tally,
            votes_digest: commit.votes_digest,
        };
        if let Some(why) = verdict.contradiction() {
            return Err(node.fault(why));
        }
        let is_superseded = commit.reason == Reason::Superseded;
        let is_other = commit.winner != Some(self.propose.proposal_id);
        node.hold(
            commit.winner.is_some() == is_superseded
                && is_other
                && (commit.seed.is_none() || is_superseded),
            "winner and seed are of a round that another one superseded",
        )?;
        self.times(node, commit)?;
        self.commit = Some((node, commit));
        Ok(())
    }

    /// Holds the counts to the votes shown.
    fn counts(&self, node: &TraceNode<'_>, tally: &Tally) -> Result<(), TraceFault> {
        let of = |decision| {
            let votes = self.votes.iter();
            votes.filter(|(_, vote)| vote.decision == decision).count() as u64
        };
        let shown = [Decision::Approve, Decision::Reject, Decision::Abstain].map(of);
        node.hold(
            [tally.approve, tally.reject, tally.abstain] == shown,
            "its tally does not count the votes shown",
        )?;
        node.hold(
            tally.mechanism == self.propose.mechanism,
            "its mechanism is not the proposal's",
        )
    }

    /// Holds the times of votes and decision to the timeout: open votes come before it, reveals of sealed ones
    /// behind it.
    fn times(&self, node: &TraceNode<'_>, commit: &Commit) -> Result<(), TraceFault> {
        let is_behind = |node: &TraceNode<'_>| node.claims.recorded_at_ms > self.propose.timeout_ms;
        let revealed = self
            .votes
            .iter()
            .filter(|(vote, _)| is_behind(vote))
            .count();
        let is_sealed = revealed > 0 || commit.tally.invalid > 0;
        let takes_sealed = matches!(
            self.propose.mechanism,
            Mechanism::Majority | Mechanism::Weighted
        );
        node.hold(
            !is_sealed || (takes_sealed && revealed == self.votes.len()),
            "some of its votes were recorded behind the timeout and others before it",
        )?;
        let is_unopposed =
            (self.propose.mechanism, commit.reason) == (Mechanism::Optimistic, Reason::Accepted);
        // A cycle of rounds ends them at any time.
        let by_others = matches!(commit.reason, Reason::Superseded | Reason::Deadlock);
        node.hold(
            is_behind(node) || by_others || !(is_sealed || is_unopposed),
            "it was decided before its timeout",
        )?;
        node.hold(
            commit.reason != Reason::LeaderSilent || self.propose.leader != node.claims.iss,
            "the ledger leads, and is never silent",
        )
    }

    fn escalate(
        &mut self,
        node: &TraceNode<'_>,
        escalation: &Escalation,
    ) -> Result<(), TraceFault> {
        self.is_of(node, escalation.proposal_id)?;
        let Some((decision, commit)) = self.commit else {
            return Err(node.fault("it comes before the decision"));
        };
        node.hold(
            node.claims.pred == [decision.claims.jti],
            "it does not rest on the decision",
        )?;
        let asks = self.escalation.is_none() && !self.is_failure_told;
        let follows = match escalation.reason {
            EscalationReason::Deadlock => {
                asks && (commit.reason == Reason::Deadlock || commit.reason.is_failure())
            }
            EscalationReason::Retries | EscalationReason::TimeCritical => {
                asks && commit.reason.is_failure()
            }
            EscalationReason::Execution => {
                let is_approved = self.ruling == Some(HumanRuling::Approve);
                !self.is_failure_told && (commit.outcome == Outcome::Commit || is_approved)
            }
        };
        node.hold(follows, "its reason does not follow from the decision")?;
        if escalation.reason == EscalationReason::Execution {
            self.is_failure_told = true;
        } else {
            self.escalation = Some(node.claims.jti);
        }
        Ok(())
    }

    fn human(&mut self, node: &TraceNode<'_>, decision: &HumanDecision) -> Result<(), TraceFault> {
        self.is_of(node, decision.proposal_id)?;
        let is_asked = self.escalation.is_some() && self.ruling.is_none();
        node.hold(is_asked, "no humans are asked")?;
        let pred: Vec<Uuid> = self.escalation.into_iter().collect();
        node.hold(
            node.claims.pred == pred,
            "it does not rest on what asked humans",
        )?;
        self.ruling = Some(decision.decision);
        Ok(())
    }
}
