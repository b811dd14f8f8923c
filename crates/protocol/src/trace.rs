//! Traces: what was decided and what it rests on, as execution-context tokens (round.md, "Trace"; CC-94 to
//! CC-97, CC-101, CX-46).
//!
//! A trace is a projection of records and has none of its own: nodes, each after those that it rests on,
//! so that they form a DAG. Nothing of it is an input to anything. [`token`] writes a node as a JWT that
//! the ledger signs, and [`check`] holds a stored trace to its form.

mod token;

pub use token::{Claims, TraceFault, check, token};

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};
use uuid::{Builder, Uuid};

use crate::did::Did;
use crate::digest::Digest;
use crate::event::{Effect, EnvelopeAccepted, Event};
use crate::facts::consensus::{Proposal, Said};
use crate::facts::{ConsensusFacts, Facts};
use crate::id::RoundId;
use crate::time::TimestampMs;

/// What a node's id is hashed over besides its record.
const DOMAIN: &[u8] = b"x811 ect v1";

/// Predecessors that a node names itself; of more votes there are nodes that sum them up.
const MOST_VOTES: usize = 100;

/// What was done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Act {
    /// A decision was put to participants.
    Propose,
    /// A vote that was counted.
    Vote,
    /// Up to 100 votes that were counted.
    Votes,
    /// The outcome, commit or abort.
    Commit,
    /// Humans were asked.
    Escalate,
    /// What a human decided.
    HumanDecision,
}

impl Act {
    /// `exec_act`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Act::Propose => "consensus_propose",
            Act::Vote => "consensus_vote",
            Act::Votes => "consensus_votes",
            Act::Commit => "consensus_commit",
            Act::Escalate => "consensus_escalate",
            Act::HumanDecision => "consensus_human_decision",
        }
    }
}

/// A record of a round, or of one that retries it.
#[derive(Debug, Clone, Copy)]
pub struct Recorded<'a> {
    /// What it holds.
    pub event: &'a Event,
    /// Record hash.
    pub hash: Digest,
    /// Place in the log.
    pub position: u64,
    /// The ledger's clock when it was decided.
    pub recorded_at_ms: TimestampMs,
    /// In whose stream it stands.
    pub round: RoundId,
}

/// One node of a trace.
#[derive(Debug, Clone, PartialEq)]
pub struct Node {
    /// What was done.
    pub act: Act,
    /// `ect_ext.consensus`.
    pub consensus: Map<String, Value>,
    /// Its id: a UUIDv8 of its record's hash.
    pub jti: Uuid,
    /// Nodes that it rests on, all of them before it.
    pub pred: Vec<Uuid>,
    /// When its record was recorded.
    pub recorded_at_ms: TimestampMs,
}

fn jti(parts: &[&[u8]]) -> Uuid {
    let digest = Digest::of_parts(&[&[DOMAIN], parts].concat());
    let mut bytes = [0; 16];
    bytes.copy_from_slice(&digest.as_bytes()[..16]);
    Builder::from_custom_bytes(bytes).into_uuid()
}

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
pub fn nodes<'a>(records: impl IntoIterator<Item = Recorded<'a>>) -> Vec<Node> {
    let mut attempts = BTreeMap::<RoundId, Attempt>::new();
    let mut nodes = Vec::new();
    for recorded in records {
        let before = retried(recorded.event).and_then(|failed| attempts.get(&failed)?.decision);
        let attempt = attempts.entry(recorded.round).or_default();
        if let Event::EnvelopeAccepted(accepted) = recorded.event {
            nodes.extend(attempt.said(&recorded, accepted, before));
        } else if let Event::Effect(effect) = recorded.event {
            nodes.extend(attempt.followed(&recorded, effect));
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

impl Recorded<'_> {
    fn node(&self, act: Act, pred: Vec<Uuid>, more: Value) -> Node {
        let mut consensus = json!({
            "position": self.position,
            "proposal_id": self.round,
            "record_hash": self.hash,
        });
        if let (Some(known), Value::Object(more)) = (consensus.as_object_mut(), more) {
            known.extend(more.into_iter().filter(|(_, value)| !value.is_null()));
        }
        Node {
            act,
            consensus: consensus.as_object().cloned().unwrap_or_default(),
            jti: jti(&[self.hash.as_bytes()]),
            pred,
            recorded_at_ms: self.recorded_at_ms,
        }
    }
}

impl Attempt {
    /// The node of a message, if it has one now: votes wait for the outcome.
    fn said(
        &mut self,
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
            let node = recorded.node(Act::Propose, pred, proposed(proposal, from));
            self.propose = Some(node.jti);
            return Some(node);
        }
        if let ConsensusFacts::HumanDecision(decision) = facts {
            let more = json!({
                "decision": decision.decision, "human": from,
                "rationale_hash": decision.rationale_hash,
            });
            let pred = self.escalation.into_iter().collect();
            return Some(recorded.node(Act::HumanDecision, pred, more));
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
            let more = json!({
                "decision": choice.decision, "rationale_hash": choice.rationale_hash,
                "vote_hash": choice.vote_hash, "voter": from,
            });
            let pred = self.propose.into_iter().collect();
            self.votes.push(recorded.node(Act::Vote, pred, more));
        }
        None
    }

    /// What follows from a record by itself.
    fn followed(&mut self, recorded: &Recorded<'_>, effect: &Effect) -> Vec<Node> {
        if let Effect::RoundDecided(decided) = effect {
            let mut nodes = std::mem::take(&mut self.votes);
            let mut pred: Vec<Uuid> = self.propose.into_iter().collect();
            let votes: Vec<Uuid> = nodes.iter().map(|vote| vote.jti).collect();
            if votes.len() <= MOST_VOTES {
                pred.extend(votes);
            } else {
                for (chunk, votes) in votes.chunks(MOST_VOTES).enumerate() {
                    let sum = summary(recorded, chunk, votes);
                    pred.push(sum.jti);
                    nodes.push(sum);
                }
            }
            let more = json!({
                "outcome": decided.outcome, "reason": decided.reason, "seed": decided.seed,
                "tally": decided.tally, "votes_digest": decided.votes_digest,
                "winner": decided.winner,
            });
            let node = recorded.node(Act::Commit, pred, more);
            self.decision = Some(node.jti);
            nodes.push(node);
            return nodes;
        }
        if let Effect::RoundEscalated(escalated) = effect {
            let more = json!({ "reason": escalated.reason });
            let pred = self.decision.into_iter().collect();
            let node = recorded.node(Act::Escalate, pred, more);
            self.escalation = Some(node.jti);
            return vec![node];
        }
        Vec::new()
    }
}

/// What a proposal says, without texts of agents.
fn proposed(proposal: &Proposal, proposer: Did) -> Value {
    json!({
        "action_hash": proposal.action_hash,
        "action_type": proposal.action_type,
        "attempt": proposal.attempt,
        "leader": proposal.leader,
        "mechanism": proposal.mechanism,
        "proposal_hash": proposal.proposal_hash,
        "proposer": proposer,
        "subject_hash": proposal.subject_hash,
        "timeout_ms": proposal.timeout_ms,
        "weights_hash": proposal.weights_hash,
    })
}

/// A node that stands for up to 100 votes.
fn summary(recorded: &Recorded<'_>, chunk: usize, votes: &[Uuid]) -> Node {
    let of = recorded.round.proposal_id().uuid();
    let number = (chunk as u64).to_be_bytes();
    Node {
        jti: jti(&[of.as_bytes(), &number]),
        ..recorded.node(
            Act::Votes,
            votes.to_vec(),
            json!({ "chunk": chunk, "votes": votes.len() }),
        )
    }
}

#[cfg(test)]
mod tests;
