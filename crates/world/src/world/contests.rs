//! What rounds do to each other (round.md, "When it is decided", rules 8 and 9): worked out behind each
//! record of a round, from all that are not over. No record says it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use imbl::OrdSet;
use serde::{Deserialize, Serialize};
use x811_protocol::did::Did;
use x811_protocol::digest::Digest;
use x811_protocol::event::{Effect, Event};
use x811_protocol::facts::{ConsensusFacts, Facts};
use x811_protocol::id::RoundId;
use x811_protocol::round::{
    self, Board, Failed, InARow, Reason, Relation, Round, RoundPlace, Seed, Shown, State,
};
use x811_protocol::time::TimestampMs;

use super::apply::Applying;
use super::roots::EVERY_RECORDS;
use super::{Fault, World};

/// What an extract of a log has of rounds whose rivals are not in it.
#[derive(Debug, Clone, Default)]
pub(super) struct Alone {
    /// The decision of a round, where the last record of any round was one.
    decided: Option<(RoundId, u64)>,
    /// What closing votes say of the blocks that draw.
    seeds: imbl::OrdMap<RoundId, Seed>,
}

impl Alone {
    /// Position of that round's decision, where a record at `position` stands directly behind it: nothing
    /// but a root of all states may be between, and a bundle has no roots.
    fn decided_before(&self, id: RoundId, position: u64) -> Option<u64> {
        let (_, at) = self.decided.filter(|(round, _)| *round == id)?;
        let is_root_between = at + 2 == position && position.is_multiple_of(EVERY_RECORDS);
        (at + 1 == position || is_root_between).then_some(at)
    }
}

impl Board for World {
    fn round(&self, id: RoundId) -> Option<&State> {
        self.subjects.rounds.get(id).map(|live| &live.state)
    }

    fn about(&self, tags: &[Digest]) -> BTreeSet<RoundId> {
        let lists = tags.iter().filter_map(|tag| self.rounds_about.get(tag));
        lists.flatten().copied().collect()
    }

    fn failed(&self, proposer: Did, relations: &[Relation], at: TimestampMs) -> Vec<Arc<Failed>> {
        // In an extract a round that is not here may have ended a row of those about one resource; a retry's
        // stands with the round that it retries.
        let is_known = |relation: &&Relation| match relation {
            Relation::Retry(_) => true,
            Relation::Tag(_) => self.alone.is_none(),
        };
        let known = relations.iter().filter(is_known);
        let known = known.filter_map(|relation| self.failed.get(&(proposer, *relation)));
        let lately = known.filter(|(until, _)| at <= *until);
        lately.map(|(_, failed)| failed.clone()).collect()
    }
}

impl World {
    /// Takes a record of a round in.
    pub(super) fn apply_round(&mut self, step: &Applying<'_>, id: RoundId) -> Result<(), Fault> {
        self.assume_others(step, id);
        let before = self.subjects.rounds.get(id).cloned();
        self.apply_subject::<Round>(step, id)?;
        self.charge(step);
        let Some(after) = self.subjects.rounds.latest(id).cloned() else {
            return Ok(());
        };
        let before = before.as_deref().map(|live| &live.state);
        let changed = round::settled(self, before, &after.state, step.event, step.round_place());
        for state in changed {
            let changed = state.opening.id();
            self.put_round(changed, state);
            if changed != id {
                self.rounds_moved.push(changed);
                self.list_round(changed);
            }
        }
        self.list_round(id);
        if let Event::Effect(Effect::RoundDecided(decided)) = step.event {
            self.remember(&after.state, decided.reason, step.at);
        }
        Ok(())
    }

    /// Keeps in mind which rounds failed in a row, and forgets those of long ago. Nothing of it is hashed: it
    /// is found again from the log.
    fn remember(&mut self, state: &State, reason: Reason, at: TimestampMs) {
        while let Some((until, key)) = self.failed_until.get_min().copied()
            && until < at
        {
            self.forget_failed(key);
        }
        let proposer = state.opening.proposer;
        let in_a_row = InARow::of(reason);
        if in_a_row != InARow::PassedOver {
            for relation in state.related_by() {
                self.forget_failed((proposer, relation));
            }
        }
        if in_a_row == InARow::Counts {
            let until = at.saturating_add_ms(state.opening.rounds.related_ms);
            let failed = Arc::new(state.as_failed());
            for relation in state.remembered_by() {
                let key = (proposer, relation);
                self.failed.insert(key, (until, failed.clone()));
                self.failed_until.insert((until, key));
            }
        }
    }

    fn forget_failed(&mut self, key: (Did, Relation)) {
        if let Some((until, _)) = self.failed.remove(&key) {
            self.failed_until.remove(&(until, key));
        }
    }

    /// Puts back what a snapshot remembers.
    pub(super) fn remember_failed(&mut self, stored: Vec<StoredFailed>) {
        for one in stored {
            let failed = Arc::new(one.failed);
            for relation in one.relations {
                let key = (one.proposer, relation);
                self.failed.insert(key, (one.until, failed.clone()));
                self.failed_until.insert((one.until, key));
            }
        }
    }

    /// Failed rounds that are remembered, as a snapshot holds them: who was missing is stored once a round,
    /// whatever it is remembered by.
    pub(super) fn failed_rounds(&self) -> Vec<StoredFailed> {
        let mut stored = BTreeMap::<RoundId, StoredFailed>::new();
        for ((proposer, relation), (until, failed)) in &self.failed {
            let one = stored.entry(failed.round).or_insert_with(|| StoredFailed {
                failed: (**failed).clone(),
                proposer: *proposer,
                relations: Vec::new(),
                until: *until,
            });
            one.relations.push(*relation);
        }
        stored.into_values().collect()
    }

    /// Charges whoever proposes for what is delivered. Only the present day is held, and nothing of it is
    /// hashed: it is counted again from the log.
    fn charge(&mut self, step: &Applying<'_>) {
        let Event::EnvelopeAccepted(accepted) = step.event else {
            return;
        };
        let Facts::Consensus(ConsensusFacts::Propose(proposal)) = &accepted.facts else {
            return;
        };
        if self
            .parameters()
            .is_some_and(|(_, set)| set.rounds.is_some())
        {
            let from = accepted.envelope.from;
            let taken = self.delivered_on(from, step.at);
            let charged = taken.saturating_add(round::deliveries_of(proposal));
            self.charged.insert(from, (step.at.day(), charged));
        }
    }

    /// What that agent is charged on the day of `at`.
    pub(crate) fn delivered_on(&self, proposer: Did, at: TimestampMs) -> u64 {
        let charged = self.charged.get(&proposer);
        let today = charged.filter(|(day, _)| *day == at.day());
        today.map_or(0, |(_, deliveries)| *deliveries)
    }

    /// Who decides what is escalated, by the parameters in force.
    pub(crate) fn humans(&self) -> &[Did] {
        let block = self.parameters().and_then(|(_, set)| set.rounds.as_deref());
        block.map_or(&[], |block| &block.humans)
    }

    /// Place of the first reveal that nobody is to read yet: others may still reveal or not.
    pub fn first_hidden_reveal(&self) -> Option<u64> {
        self.hidden.values().min().copied()
    }

    /// Rounds that the last record changed beside its own.
    pub(crate) fn rounds_moved(&self) -> &[RoundId] {
        &self.rounds_moved
    }

    /// Rounds in which the block at that height is to draw.
    pub fn drawn_at(&self, network: &str, height: u64) -> Vec<RoundId> {
        let draws = self.draws.iter();
        let these = draws.filter(|(_, draw)| draw.0 == network && draw.1 == height);
        these.map(|(id, _)| *id).collect()
    }

    /// Heights of the blocks of a network that are to draw.
    pub fn heights_awaited(&self, network: &str) -> BTreeSet<u64> {
        let of_network = self.draws.values().filter(|draw| draw.0 == network);
        of_network.map(|draw| draw.1).collect()
    }

    /// Lists all rounds once they are put back.
    pub(super) fn list_rounds(&mut self) {
        let ids: Vec<RoundId> = self.subjects.rounds.iter().map(|(id, _)| *id).collect();
        for id in ids {
            self.list_round(id);
        }
    }

    fn put_round(&mut self, id: RoundId, state: State) {
        if let Some(live) = self.subjects.rounds.get(id).cloned() {
            let then = live.beside(state);
            self.replace_subject::<Round>(id, Some(&live), then);
        }
    }

    /// Keeps what rounds are found by: an open one by its resources, one that draws by the block.
    fn list_round(&mut self, id: RoundId) {
        let Some(live) = self.subjects.rounds.latest(id).cloned() else {
            return;
        };
        let state = &live.state;
        let is_due = state.is_open();
        for tag in &state.opening.proposal.resource_tags {
            let mut listed = self.rounds_about.get(tag).cloned().unwrap_or_default();
            if listed.contains(&id) == is_due {
                continue;
            }
            if is_due {
                listed.insert(id);
            } else {
                listed.remove(&id);
            }
            if listed.is_empty() {
                self.rounds_about.remove(tag);
            } else {
                self.rounds_about.insert(*tag, listed);
            }
        }
        match state.first_hidden_reveal() {
            Some(position) => {
                self.hidden.insert(id, position);
            }
            None => {
                self.hidden.remove(&id);
            }
        }
        match state.draw() {
            Some(draw) => {
                let block = (draw.network.clone(), draw.height);
                self.draws.insert(id, block);
            }
            None => {
                self.draws.remove(&id);
            }
        }
    }

    /// In an extract: what rounds that are not here must have done to it before this record.
    fn assume_others(&mut self, step: &Applying<'_>, id: RoundId) {
        let (Some(alone), Some(live)) = (&self.alone, self.subjects.rounds.get(id).cloned()) else {
            return;
        };
        let shown = Shown {
            decided_at: alone.decided_before(id, step.position),
            drawn_from: alone.seeds.get(&id),
            last_at: live.updated_at,
        };
        let then = round::assumed_before(&live.state, step.event, step.round_place(), shown);
        if let Some(then) = then {
            self.put_round(id, then);
        }
        let Some(alone) = &mut self.alone else {
            return;
        };
        let is_decision = matches!(step.event, Event::Effect(Effect::RoundDecided(_)));
        alone.decided = is_decision.then_some((id, step.position));
        if let Event::EnvelopeAccepted(accepted) = step.event
            && let Some(seed) = &accepted.derived.seed
        {
            alone.seeds.insert(id, seed.clone());
        }
    }
}

impl Applying<'_> {
    const fn round_place(&self) -> RoundPlace {
        RoundPlace {
            hash: self.hash,
            position: self.position,
            recorded_at_ms: self.at,
        }
    }
}

/// Open rounds about a resource.
pub(super) type Listed = OrdSet<RoundId>;

/// A failed round that is remembered.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StoredFailed {
    /// Which, and who was missing.
    pub failed: Failed,
    pub(crate) proposer: Did,
    /// By what later rounds are related to it, in order.
    pub(crate) relations: Vec<Relation>,
    /// The last moment at which it counts.
    pub(crate) until: TimestampMs,
}
