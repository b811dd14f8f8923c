//! What a decision about a round may look at.

use crate::agent::{self, Agent};
use crate::{Live, World};
use imbl::OrdMap;
use std::collections::BTreeMap;
use std::sync::Arc;
use x811_protocol::did::Did;
use x811_protocol::facts::ConsensusFacts;
use x811_protocol::id::RoundId;
use x811_protocol::parameters::Parameters;
use x811_protocol::round::{self, Context, Seed, State, VoterStanding};
use x811_protocol::time::TimestampMs;

/// The capability whose registration says that an agent takes part in rounds.
const CAPABILITY: &str = "x811.consensus";

/// What a decision about a round may look at, held so that a context can borrow it.
pub struct Surroundings {
    parameters: Arc<Parameters>,
    parameters_position: u64,
    ledger: Did,
    around: Around,
    head: Option<u64>,
    /// The network that draws cannot be seen.
    is_blind: bool,
}

/// Agents that a message names, and all rounds.
#[derive(Default)]
struct Around {
    standings: BTreeMap<Did, VoterStanding>,
    rounds: OrdMap<RoundId, Arc<Live<State>>>,
}

impl round::Surroundings for Around {
    fn standing(&self, agent: Did) -> VoterStanding {
        self.standings.get(&agent).copied().unwrap_or_default()
    }

    fn round(&self, id: RoundId) -> Option<&State> {
        self.rounds.get(&id).map(|live| &live.state)
    }
}

/// Height of the last known head of the network that draws in the round of a vote, and whether that is
/// blind; then its head is none.
fn seen(world: &World, facts: &ConsensusFacts) -> Option<(Option<u64>, bool)> {
    let ConsensusFacts::Vote(vote) = facts else {
        return None;
    };
    let opening = &world.round(vote.proposal_id)?.state.opening;
    let sight = world.sight(opening.rounds.cycle_network.as_deref()?)?;
    let head = sight.head.as_ref().or(sight.recorded.as_ref());
    let is_blind = sight.blind_since.is_some();
    let seen = head.filter(|_| !is_blind).map(|head| head.number);
    Some((seen, is_blind))
}

/// What an agent is to the ledger at `now`.
fn standing(world: &World, did: Did, agent: &Agent, now: TimestampMs) -> VoterStanding {
    VoterStanding {
        age_ms: now.since(agent.registered_at_ms),
        is_active: agent.standing(now) == agent::AgentStanding::Active,
        is_excluded: world.is_excluded_from_rounds(did, now),
        takes_part: agent.capabilities.iter().any(|name| name == CAPABILITY),
        trust_hundredths: u64::from(world.trust(did).score_hundredths()),
    }
}

impl Surroundings {
    /// Of a message with these facts; `None` before the ledger has parameters.
    pub fn of(
        world: &World,
        from: Did,
        facts: &ConsensusFacts,
        now: TimestampMs,
    ) -> Option<Surroundings> {
        let mut around = Around::default();
        if let ConsensusFacts::Propose(proposal) = facts {
            let named = proposal.participants.iter().copied().chain([from]);
            let known = named.filter_map(|did| {
                let agent = world.agent(did)?;
                Some((did, standing(world, did, agent, now)))
            });
            around.standings = known.collect();
        }
        around.rounds = world.rounds().shared();
        let seen = seen(world, facts);
        Some(Surroundings {
            around,
            head: seen.and_then(|seen| seen.0),
            is_blind: seen.is_none_or(|seen| seen.1),
            ..Surroundings::bare(world)?
        })
    }

    /// Where time alone acts.
    pub fn bare(world: &World) -> Option<Surroundings> {
        let (parameters_position, parameters) = world.parameters()?;
        Some(Surroundings {
            parameters: parameters.clone(),
            parameters_position,
            ledger: world.identity()?.did,
            around: Around::default(),
            head: None,
            is_blind: true,
        })
    }

    /// Where nobody's trust can be counted: the proposer has that much, and everybody enough.
    pub fn with_trust(mut self, proposer: Did, trust_hundredths: u64) -> Surroundings {
        for standing in self.around.standings.values_mut() {
            standing.trust_hundredths = u64::MAX;
        }
        if let Some(standing) = self.around.standings.get_mut(&proposer) {
            standing.trust_hundredths = trust_hundredths;
        }
        self
    }

    /// The head is what a watcher saw: the word of what was recorded, where that names one.
    pub fn with_head_of(mut self, id: RoundId, seed: Option<&Seed>) -> Surroundings {
        let live = self.around.rounds.get(&id);
        let ahead = live.map(|live| live.state.opening.rounds.draw_blocks);
        let said = seed
            .zip(ahead)
            .and_then(|(seed, ahead)| seed.height.checked_sub(ahead));
        if !self.is_blind {
            self.head = said.or(self.head);
        }
        self
    }

    /// What guards and transitions read.
    pub fn context(&self) -> Context<'_> {
        Context {
            around: &self.around,
            head: self.head,
            ledger: self.ledger,
            parameters_position: self.parameters_position,
            rounds: self.parameters.rounds.as_deref(),
        }
    }
}
