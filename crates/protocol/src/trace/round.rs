//! Traces of rounds (CC-95 to CC-97, CX-46): a proposal, the votes behind its outcome, the outcome, and what
//! humans decided; attempt by attempt.

use std::collections::BTreeMap;

use uuid::Uuid;

use super::content::{Commit, Escalation, HumanDecision, Propose, Vote, Votes};
use super::{Act, Node, Recorded, jti};
use crate::did::Did;
use crate::event::{Effect, EnvelopeAccepted, Event};
use crate::facts::consensus::{Proposal, Said};
use crate::facts::{ConsensusFacts, Facts};
use crate::id::RoundId;
use crate::stream::Subject;

/// Predecessors that a node names itself; of more votes there are nodes that sum them up.
pub(super) const MOST_VOTES: usize = 100;

/// What is known of one round on the way.
#[derive(Debug, Default)]
struct Attempt {
    propose: Option<Uuid>,
    /// By voter, in the order of their positions: who has voted once has.
    votes: Vec<Node>,
    decision: Option<Uuid>,
    escalation: Option<Uuid>,
}

/// The nodes of a round and of its retries, whose `records` come in order of position. Votes are among
/// them behind the outcome alone.
pub(super) fn round_nodes<'a>(records: impl IntoIterator<Item = Recorded<'a>>) -> Vec<Node> {
    let mut attempts = BTreeMap::<RoundId, Attempt>::new();
    let mut nodes = Vec::new();
    for recorded in records {
        let Subject::Round(round) = recorded.subject else {
            continue;
        };
        let before = retried(recorded.event).and_then(|failed| attempts.get(&failed)?.decision);
        let attempt = attempts.entry(round).or_default();
        if let Event::EnvelopeAccepted(accepted) = recorded.event {
            nodes.extend(attempt.said(round, &recorded, accepted, before));
        } else if let Event::Effect(effect) = recorded.event {
            nodes.extend(attempt.followed(round, &recorded, effect));
        }
    }
    nodes
}

/// The failed round that a proposal retries.
fn retried(event: &Event) -> Option<RoundId> {
    let Event::EnvelopeAccepted(accepted) = event else {
        return None;
    };
    let Facts::Consensus(ConsensusFacts::Propose(proposal)) = &accepted.facts else {
        return None;
    };
    proposal.resubmission_of
}

impl Attempt {
    /// The node of a message, if it has one now: votes wait for the outcome.
    fn said(
        &mut self,
        round: RoundId,
        recorded: &Recorded<'_>,
        accepted: &EnvelopeAccepted,
        before: Option<Uuid>,
    ) -> Option<Node> {
        let from = accepted.envelope.from;
        if accepted.derived.effect.is_some() {
            return None;
        }
        let Facts::Consensus(facts) = &accepted.facts else {
            return None;
        };
        if let ConsensusFacts::Propose(proposal) = facts {
            let pred = before.into_iter().collect();
            let content = proposed(round, proposal, from, recorded);
            let node = recorded.node(Act::Propose, pred, &content);
            let node = node.with_own(recorded.own(from));
            self.propose = Some(node.jti);
            return Some(node);
        }
        if let ConsensusFacts::HumanDecision(decision) = facts {
            let content = HumanDecision {
                decision: decision.decision,
                human: from,
                proposal_id: round,
                rationale: recorded.text("rationale"),
                rationale_hash: decision.rationale_hash,
            };
            let pred = self.escalation.into_iter().collect();
            let node = recorded.node(Act::HumanDecision, pred, &content);
            return Some(node.with_own(recorded.own(from)));
        }
        let choice = if let ConsensusFacts::Vote(vote) = facts {
            match vote.said() {
                Ok(Said::Open(choice)) => Some(choice),
                Ok(Said::Sealed(_)) | Err(_) => None,
            }
        } else if let ConsensusFacts::Reveal(reveal) = facts {
            Some(reveal.choice())
        } else {
            None
        };
        if let Some(choice) = choice {
            let content = Vote {
                decision: choice.decision,
                proposal_id: round,
                rationale: recorded.text("rationale"),
                rationale_hash: choice.rationale_hash,
                vote_hash: choice.vote_hash,
                voter: from,
            };
            let pred = self.propose.into_iter().collect();
            let node = recorded.node(Act::Vote, pred, &content);
            self.votes.push(node.with_own(recorded.own(from)));
        }
        None
    }

    /// What follows from a record by itself.
    fn followed(&mut self, round: RoundId, recorded: &Recorded<'_>, effect: &Effect) -> Vec<Node> {
        if let Effect::RoundDecided(decided) = effect {
            let mut nodes = std::mem::take(&mut self.votes);
            let mut pred: Vec<Uuid> = self.propose.into_iter().collect();
            let votes: Vec<Uuid> = nodes.iter().map(|vote| vote.jti).collect();
            if votes.len() <= MOST_VOTES {
                pred.extend(votes);
            } else {
                for (chunk, votes) in votes.chunks(MOST_VOTES).enumerate() {
                    let sum = summary(round, recorded, chunk, votes);
                    pred.push(sum.jti);
                    nodes.push(sum);
                }
            }
            let content = Commit {
                outcome: decided.outcome,
                proposal_id: round,
                reason: decided.reason,
                seed: decided.seed,
                tally: decided.tally,
                votes_digest: decided.votes_digest,
                winner: decided.winner,
            };
            let node = recorded.node(Act::Commit, pred, &content);
            self.decision = Some(node.jti);
            nodes.push(node);
            return nodes;
        }
        if let Effect::RoundEscalated(escalated) = effect {
            let content = Escalation {
                proposal_id: round,
                reason: escalated.reason,
            };
            let pred = self.decision.into_iter().collect();
            let node = recorded.node(Act::Escalate, pred, &content);
            self.escalation = Some(node.jti);
            return vec![node];
        }
        Vec::new()
    }
}

/// The content of a proposal's node.
fn proposed(
    round: RoundId,
    proposal: &Proposal,
    proposer: Did,
    recorded: &Recorded<'_>,
) -> Propose {
    Propose {
        action_hash: proposal.action_hash,
        action_type: proposal.action_type.clone(),
        attempt: proposal.attempt,
        leader: proposal.leader,
        mechanism: proposal.mechanism,
        proposal_hash: proposal.proposal_hash,
        proposal_id: round,
        proposer,
        subject: recorded.text("subject"),
        subject_hash: proposal.subject_hash,
        timeout_ms: proposal.timeout_ms,
        weights_hash: proposal.weights_hash,
    }
}

/// A node that stands for up to 100 votes.
fn summary(of: RoundId, recorded: &Recorded<'_>, chunk: usize, votes: &[Uuid]) -> Node {
    let chunk = chunk as u64;
    let content = Votes {
        chunk,
        proposal_id: of,
        votes: votes.len() as u64,
    };
    Node {
        jti: summary_jti(of, chunk),
        ..recorded.node(Act::Votes, votes.to_vec(), &content)
    }
}

/// The id of the node for that chunk of the votes of a round.
pub(super) fn summary_jti(of: RoundId, chunk: u64) -> Uuid {
    let uuid = of.proposal_id().uuid();
    jti(&[uuid.as_bytes(), &chunk.to_be_bytes()])
}
