//! What agents have earned: the sum of how their interactions stand, and, where the parameters have a block
//! `capabilities`, of the breaches recorded against them (agents.md section 4); part of the root of all
//! states.

use super::apply::Applying;
use super::{Fault, World};
use crate::agent::Agent;
use std::sync::Arc;
use x811_protocol::capability::conduct::Conduct;
use x811_protocol::did::Did;
use x811_protocol::event::{Effect, Event};
use x811_protocol::interaction::State;
use x811_protocol::trust::{Merit, TrustCounters};

impl World {
    /// All agents that registered, which the ledger itself did not.
    pub fn registered(&self) -> impl Iterator<Item = (Did, &Arc<Agent>)> {
        let ledger = self.identity.as_ref().map(|ledger| ledger.did);
        let agents = self.agents.iter().map(|(did, agent)| (*did, agent));
        agents.filter(move |(did, _)| Some(*did) != ledger)
    }

    /// What a DID has earned.
    pub fn trust(&self, did: Did) -> TrustCounters {
        self.trust.get(&did).copied().unwrap_or_default()
    }

    /// Whose counters the last record moved.
    pub(crate) fn trust_moved(&self) -> impl Iterator<Item = Did> {
        self.trust_moved.into_iter().flatten()
    }

    /// Counts an interaction as it stands `after` a record, and no longer as it stood `before`.
    pub(super) fn count_merit(&mut self, before: Option<&State>, after: &State) {
        let before = before.map(Merit::of).unwrap_or_default();
        let merit = Merit::of(after);
        let opening = after.opening();
        self.trust_moved = [
            self.move_trust(opening.initiator, before.initiator, merit.initiator),
            self.move_trust(opening.provider, before.provider, merit.provider),
        ];
    }

    /// Takes a record of the conduct of a provider in, and counts a breach under the parameters in force.
    pub(super) fn apply_conduct(
        &mut self,
        step: &Applying<'_>,
        provider: Did,
    ) -> Result<(), Fault> {
        self.apply_subject::<Conduct>(step, provider)?;
        let is_breach = matches!(step.event, Event::Effect(Effect::BreachRecorded(_)));
        if is_breach && self.has_capabilities() {
            let moved = self.move_trust(provider, TrustCounters::NONE, TrustCounters::BREACH);
            self.trust_moved = [moved, None];
        }
        Ok(())
    }

    /// Whether the parameters in force have a block of capabilities, by which breaches count.
    pub fn has_capabilities(&self) -> bool {
        self.parameters()
            .is_some_and(|(_, set)| set.capabilities.is_some())
    }

    fn move_trust(&mut self, did: Did, before: TrustCounters, after: TrustCounters) -> Option<Did> {
        if before == after {
            return None;
        }
        let counters = self.trust(did).moved(before, after);
        if counters.has_history() {
            self.trust.insert(did, counters);
        } else {
            self.trust.remove(&did);
        }
        Some(did)
    }
}
