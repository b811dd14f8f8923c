//! Who reads what is said in a round: messages go to the ledger, and members get those that are for all
//! (round.md, "Delivery"; decision 0225).

use std::collections::BTreeSet;
use x811_protocol::did::Did;
use x811_protocol::event::{EnvelopeAccepted, Event};
use x811_protocol::facts::consensus::Proposal;
use x811_protocol::facts::{ConsensusFacts, Facts};
use x811_protocol::machine::News;
use x811_protocol::round::{self, State};

/// The members of one round.
#[derive(Debug, Clone)]
pub struct Board {
    /// Who proposed, leads and votes.
    members: BTreeSet<Did>,
    /// The agent that leads, if one does.
    leader: Option<Did>,
}

impl Board {
    /// Of a round that is known.
    pub(crate) fn of(state: &State) -> Board {
        Board {
            members: state.members(),
            leader: state.opening.leading_agent(),
        }
    }

    /// Of one that `proposer` proposes to the ledger `to`.
    pub fn proposed(proposal: &Proposal, proposer: Did, to: Did) -> Board {
        let leader = Some(proposal.leader).filter(|leader| *leader != to);
        let mut members: BTreeSet<Did> = proposal.participants.iter().copied().collect();
        members.insert(proposer);
        members.extend(leader);
        Board { members, leader }
    }

    /// Who gets a notice that tells that, beside the ledger, which it is addressed to: all members, of an
    /// escalation the humans too, and of what was noticed they alone.
    pub fn told(&self, news: News, humans: &[Did]) -> Vec<Did> {
        let members = self.members.iter();
        let members = members.filter(|_| round::is_for_members(news));
        let humans = humans.iter().filter(|_| round::is_for_humans(news));
        let all: BTreeSet<Did> = members.chain(humans).copied().collect();
        all.into_iter().collect()
    }

    /// Members that get a record of the round, without who sent it. What is kept as evidence moves
    /// nothing, and is delivered to nobody.
    pub fn readers(&self, event: &Event) -> Vec<Did> {
        let Event::EnvelopeAccepted(EnvelopeAccepted {
            derived,
            envelope,
            facts: Facts::Consensus(facts),
        }) = event
        else {
            return Vec::new();
        };
        if derived.effect.is_some() {
            return Vec::new();
        }
        let is_other = |member: &Did| *member != envelope.from;
        match facts {
            ConsensusFacts::Propose(_)
            | ConsensusFacts::VoteRequest(_)
            | ConsensusFacts::Commit(_)
            | ConsensusFacts::Abort(_)
            | ConsensusFacts::Suspend(_)
            | ConsensusFacts::Resume(_)
            | ConsensusFacts::Withdraw(_)
            | ConsensusFacts::Escalate(_)
            | ConsensusFacts::HumanDecision(_) => {
                self.members.iter().copied().filter(is_other).collect()
            }
            ConsensusFacts::Ready(_) | ConsensusFacts::Executed(_) | ConsensusFacts::Failed(_) => {
                self.leader.into_iter().filter(is_other).collect()
            }
            ConsensusFacts::Vote(_) | ConsensusFacts::Reveal(_) => Vec::new(),
        }
    }
}
