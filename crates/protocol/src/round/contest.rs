//! What rounds do to each other (round.md, "When it is decided", rules 8 and 9): which is held for which,
//! which is ended by another, and which wait for a block that draws.
//!
//! A round is changed by records of its own alone, but for what stands here: no record says it, whoever
//! holds all rounds works it out behind each record with [`settle`], and an audit works it out again.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::event::{CycleDrawn, EscalationReason, RoundEvent, RoundWindow};
use super::lasting::{Failed, Relation};
use super::rivals::{Walk, drawn, walk};
use super::state::{Phase, State};
use super::tally::{Hindrance, Outcome, Reason, TallyVerdict};
use super::{Derived, Entry, Recorded, Seed};
use crate::did::Did;
use crate::digest::Digest;
use crate::evm::BlockHash;
use crate::facts::consensus::ConsensusFacts;
use crate::id::RoundId;
use crate::observation::Block;
use crate::parameters::CycleRule;
use crate::time::TimestampMs;

/// What other rounds did to a round that is not decided.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Contest {
    /// How a cycle ended it, until its decision stands.
    pub ending: Option<Ending>,
    /// Rivals of a higher rank that are not decided and that it is held for.
    pub held_for: BTreeSet<RoundId>,
    /// Decided: the related round before that failed for lack of the same voters, so that humans are
    /// asked instead of a retry.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lacking_since: Option<RoundId>,
    /// The cycle that it waits in.
    pub waits: Option<Waiting>,
    /// The rival that was accepted while this one was open, so that it can only be aborted; once it is
    /// decided, the round that supersedes it.
    pub winner: Option<RoundId>,
}

impl Contest {
    /// Whether no other round did anything to it.
    pub fn is_none(&self) -> bool {
        *self == Contest::default()
    }
}

/// How a cycle of rounds that block each other ends one of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Ending {
    /// Humans are asked about all of them.
    Deadlock {},
    /// Another one stays.
    Superseded {
        /// The hash of the block that drew it, if one did.
        seed: Option<BlockHash>,
        /// The round that stays.
        winner: RoundId,
    },
}

/// What a round in a cycle waits for.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Waiting {
    /// Position of the vote that closed the cycle.
    pub closing: u64,
    /// In the round of that vote: what is drawn, and until when.
    pub draw: Option<Draw>,
    /// The round of that vote.
    pub drawn_in: RoundId,
}

/// A draw among the rounds of a cycle.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Draw {
    /// When the vote was recorded that closed the cycle: the block is a later one.
    pub closed_at: TimestampMs,
    /// Until when the block is waited for.
    pub deadline: TimestampMs,
    /// Height of the block whose hash draws.
    pub height: u64,
    /// Name of the network whose block draws.
    pub network: String,
    /// Those of the cycle that are still open.
    pub rounds: BTreeSet<RoundId>,
}

/// All rounds that are not over, as whoever runs them holds them.
pub trait Board {
    /// The round of that id.
    fn round(&self, id: RoundId) -> Option<&State>;

    /// Open rounds about one of these resources.
    fn about(&self, tags: &[Digest]) -> BTreeSet<RoundId>;

    /// Failed rounds of that proposer by one of these relations, none of them longer ago at `at` than it is
    /// remembered; the last one by each.
    fn failed(&self, proposer: Did, relations: &[Relation], at: TimestampMs) -> Vec<Arc<Failed>>;
}

impl State {
    /// What it comes to, given what other rounds did to it.
    pub(super) fn contested(&self, verdict: TallyVerdict) -> TallyVerdict {
        let reason = match self.contest.ending {
            Some(Ending::Deadlock {}) => Reason::Deadlock,
            Some(Ending::Superseded { .. }) => Reason::Superseded,
            None if verdict.outcome == Outcome::Commit && self.contest.winner.is_some() => {
                Reason::Superseded
            }
            None => return verdict,
        };
        TallyVerdict {
            outcome: Outcome::Abort,
            reason,
            ..verdict
        }
    }

    /// The round that supersedes it, and the block that drew that one, where its verdict says so.
    pub(super) fn superseded_by(&self, reason: Reason) -> (Option<RoundId>, Option<BlockHash>) {
        match (reason, self.contest.ending) {
            (Reason::Superseded, Some(Ending::Superseded { seed, winner })) => (Some(winner), seed),
            (Reason::Superseded, _) => (self.contest.winner, None),
            (_, _) => (None, None),
        }
    }

    /// What it draws, if the cycle was closed in it.
    pub fn draw(&self) -> Option<&Draw> {
        self.contest.waits.as_ref()?.draw.as_ref()
    }

    /// What `block` draws in the cycle that it waits in; nothing where the block was there before the cycle
    /// was closed (round.md, "When it is decided", rule 9).
    pub fn drawn_by(&self, block: Block) -> Option<CycleDrawn> {
        let closing = self.contest.waits.as_ref()?.closing;
        let draw = self.draw()?;
        let mined_at_ms = block.timestamp_s.saturating_mul(1_000);
        let seed = Digest::from_bytes(*block.hash.as_bytes());
        let winner = drawn(seed, draw.rounds.iter().copied())?;
        (mined_at_ms > draw.closed_at.as_ms()).then(|| CycleDrawn {
            block,
            closing,
            rounds: draw.rounds.iter().copied().collect(),
            winner,
        })
    }

    /// What blocks it, as far as a walk goes on from it.
    fn leads_on_to(&self) -> BTreeSet<RoundId> {
        let goes_on = self.is_open() && self.contest.waits.is_none();
        if goes_on {
            self.blocked_by()
        } else {
            BTreeSet::new()
        }
    }

    /// From now on it waits for no block; where its moment has come, that of its decision is next.
    fn freed(&mut self, at: TimestampMs) {
        let Phase::Held { deadline, .. } = &mut self.phase else {
            return;
        };
        if self.contest.held_for.is_empty() && self.contest.waits.is_none() {
            *deadline = at;
        }
    }
}

/// The cycle that `after` closes by what blocks it that did not block `before`; a round that its moment has
/// come for closes none.
pub(super) fn closes(before: &State, after: &State, board: &dyn Board, at: TimestampMs) -> Walk {
    let own = after.opening.id();
    let new: BTreeSet<RoundId> = after
        .leads_on_to()
        .difference(&before.blocked_by())
        .copied()
        .collect();
    if new.is_empty() || after.is_to_be_decided(at) {
        return Walk::Ends;
    }
    walk(own, |id| {
        if id == own {
            return new.clone();
        }
        board.round(id).map(State::leads_on_to).unwrap_or_default()
    })
}

/// Where a vote closes a cycle in which a block draws: which one, as far as `head` is known.
pub(super) fn seed(way: &Walk, after: &State, head: Option<u64>) -> Option<Seed> {
    let rounds = &after.opening.rounds;
    if !matches!(way, Walk::Comes(_)) || rounds.cycle != CycleRule::Random {
        return None;
    }
    Some(Seed {
        height: head?.saturating_add(rounds.draw_blocks),
        network: rounds.cycle_network.clone()?,
    })
}

/// What a record of one round makes of this round and of others beside what it says: their states, changed.
/// `before` and `after` are the round's own without that. Whoever has `ending` set is decided next.
pub fn settle(
    board: &dyn Board,
    before: Option<&State>,
    after: &State,
    recorded: &Recorded<'_>,
) -> Vec<State> {
    let mut settling = Settling {
        board,
        own: after,
        changed: BTreeMap::new(),
        at: recorded.recorded_at_ms,
        position: recorded.position,
    };
    match (before, recorded.entry) {
        (Some(before), Entry::Message(message)) => {
            if matches!(message.facts, ConsensusFacts::Vote(_)) {
                settling.cycle(before, &message.derived);
            }
        }
        (Some(_), Entry::Drawn(drawn)) => settling.drawn(drawn),
        (Some(before), Entry::Lapsed(RoundWindow::Draw)) => {
            let rounds = before.draw().map(|draw| draw.rounds.clone());
            settling.oldest_stays(&rounds.unwrap_or_default());
        }
        (Some(before), Entry::Event(RoundEvent::RoundDecided(decided))) => {
            settling.leave(before);
            settling.free();
            if decided.outcome == Outcome::Commit {
                settling.mark(before);
            }
            settling.lack();
        }
        (None, _) | (Some(_), Entry::Lapsed(_) | Entry::Event(_) | Entry::Notice) => {}
    }
    settling.hold();
    settling.changed.into_values().collect()
}

struct Settling<'a> {
    board: &'a dyn Board,
    own: &'a State,
    changed: BTreeMap<RoundId, State>,
    at: TimestampMs,
    position: u64,
}

impl Settling<'_> {
    fn get(&self, id: RoundId) -> Option<&State> {
        let own = Some(self.own).filter(|own| own.opening.id() == id);
        self.changed
            .get(&id)
            .or(own)
            .or_else(|| self.board.round(id))
    }

    fn change(&mut self, id: RoundId, change: impl FnOnce(&mut State)) {
        if let Some(mut state) = self.get(id).cloned() {
            change(&mut state);
            self.changed.insert(id, state);
        }
    }

    /// A vote that closes a cycle ends all of it but one, or has them wait for the draw.
    fn cycle(&mut self, before: &State, derived: &Derived) {
        let own = self.own;
        let Walk::Comes(way) = closes(before, own, self.board, self.at) else {
            return;
        };
        let rounds: BTreeSet<RoundId> = way.into_iter().collect();
        match (own.opening.rounds.cycle, &derived.seed) {
            (CycleRule::Escalate, _) => {
                for round in rounds {
                    self.end(round, Ending::Deadlock {});
                }
            }
            (CycleRule::Random, Some(seed)) => self.wait(&rounds, seed),
            (CycleRule::Oldest, _) | (CycleRule::Random, None) => self.oldest_stays(&rounds),
        }
    }

    fn wait(&mut self, rounds: &BTreeSet<RoundId>, seed: &Seed) {
        let (drawn_in, at, closing) = (self.own.opening.id(), self.at, self.position);
        let draw = Draw {
            closed_at: at,
            deadline: at.saturating_add_ms(self.own.opening.rounds.draw_ms),
            height: seed.height,
            network: seed.network.clone(),
            rounds: rounds.clone(),
        };
        for round in rounds {
            let draw = (*round == drawn_in).then(|| draw.clone());
            self.change(*round, |state| {
                state.contest.waits = Some(Waiting {
                    closing,
                    draw,
                    drawn_in,
                });
            });
        }
    }

    fn drawn(&mut self, drawn: &CycleDrawn) {
        let rounds = drawn.rounds.iter().copied().collect();
        self.stays(&rounds, drawn.winner, Some(drawn.block.hash));
    }

    fn oldest_stays(&mut self, rounds: &BTreeSet<RoundId>) {
        let age = |id: &RoundId| self.get(*id).map(|state| state.opening.record.position);
        if let Some(oldest) = rounds.iter().copied().min_by_key(age) {
            self.stays(rounds, oldest, None);
        }
    }

    fn stays(&mut self, rounds: &BTreeSet<RoundId>, winner: RoundId, seed: Option<BlockHash>) {
        let at = self.at;
        for round in rounds {
            if *round == winner {
                self.change(winner, |state| {
                    state.contest.waits = None;
                    state.freed(at);
                });
            } else {
                self.end(*round, Ending::Superseded { seed, winner });
            }
        }
    }

    fn end(&mut self, round: RoundId, ending: Ending) {
        if self.get(round).is_some_and(State::is_open) {
            self.change(round, |state| {
                state.contest.waits = None;
                state.contest.ending = Some(ending);
                state.is_due = true;
                state.effects_due += 1;
            });
        }
    }

    /// A round that is taken back while it waits is drawn no more.
    fn leave(&mut self, before: &State) {
        let own = self.own.opening.id();
        let Some(waits) = &before.contest.waits else {
            return;
        };
        if waits.drawn_in != own {
            self.change(waits.drawn_in, |state| {
                if let Some(draw) = state.contest.waits.as_mut().and_then(|it| it.draw.as_mut()) {
                    draw.rounds.remove(&own);
                }
            });
        }
    }

    /// A round that fails as a related one did before, for lack of the same voters, is in deadlock.
    fn lack(&mut self) {
        let (own, at) = (self.own, self.at);
        let proposer = own.opening.proposer;
        let failed = self.board.failed(proposer, &own.related_by(), at);
        let before = failed.iter().find(|before| own.lacks_as(before));
        if let Some(before) = before.map(|before| before.round) {
            self.change(own.opening.id(), |state| state.lacks_since(before));
        }
    }

    fn about(&self) -> BTreeSet<RoundId> {
        self.board.about(&self.own.opening.proposal.resource_tags)
    }

    /// Nobody is held for a round that is decided.
    fn free(&mut self) {
        let (own, at) = (self.own.opening.id(), self.at);
        for id in self.about() {
            let is_held = |state: &State| state.contest.held_for.contains(&own);
            if self.get(id).is_some_and(is_held) {
                self.change(id, |state| {
                    state.contest.held_for.remove(&own);
                    state.freed(at);
                });
            }
        }
    }

    /// What is open beside a round that was accepted can only be aborted.
    fn mark(&mut self, before: &State) {
        let own = self.own.opening.id();
        for id in self.about() {
            let is_rival =
                |state: &State| state.contest.winner.is_none() && state.is_rival_of(before);
            if self.get(id).is_some_and(is_rival) {
                self.change(id, |state| state.contest.winner = Some(own));
            }
        }
    }

    /// The round whose moment has come waits for its cycle, or, where it would be accepted, for rivals of
    /// a higher rank.
    fn hold(&mut self) {
        let id = self.own.opening.id();
        let Some(state) = self.get(id) else {
            return;
        };
        let is_held_already = matches!(state.phase, Phase::Held { .. });
        let is_ended =
            state.contest.ending.is_some() || state.hindrance == Some(Hindrance::Withdrawn);
        if is_held_already || is_ended || !state.is_to_be_decided(self.at) {
            return;
        }
        let held_for = if state.verdict(self.at).outcome == Outcome::Commit {
            self.rivals_above(state)
        } else {
            BTreeSet::new()
        };
        if held_for.is_empty() && state.contest.waits.is_none() {
            return;
        }
        let since = self.at;
        self.change(id, |state| {
            state.phase = Phase::Held {
                deadline: since.saturating_add_ms(state.opening.rounds.hold_ms),
                since,
            };
            state.is_due = false;
            state.effects_due = state.effects_due.saturating_sub(1);
            state.contest.held_for = held_for;
        });
    }

    fn rivals_above(&self, state: &State) -> BTreeSet<RoundId> {
        let is_above = |id: &RoundId| {
            let rival = self.get(*id);
            rival.is_some_and(|rival| rival.rank() > state.rank() && rival.is_rival_of(state))
        };
        self.about().into_iter().filter(is_above).collect()
    }
}

/// What a bundle shows of a round before the next record of it.
#[derive(Debug, Clone, Copy)]
pub struct Shown<'a> {
    /// Position of its decision, where the next record can stand directly behind that.
    pub decided_at: Option<u64>,
    /// What its closing vote says of the draw.
    pub drawn_from: Option<&'a Seed>,
    /// When the record before was recorded.
    pub last_at: TimestampMs,
}

/// The state that rounds which are not here must have brought it to before a record, where it cannot have
/// come there by itself: a bundle has one round, and not its rivals.
pub fn assumed(state: &State, recorded: &Recorded<'_>, shown: Shown<'_>) -> Option<State> {
    if state.decided.is_some() {
        return lacking(state, recorded, shown.decided_at);
    }
    let (at, last_at, drawn_from) = (recorded.recorded_at_ms, shown.last_at, shown.drawn_from);
    let mut then = state.clone();
    let is_decision = matches!(recorded.entry, Entry::Event(RoundEvent::RoundDecided(_)));
    let is_held = matches!(then.phase, Phase::Held { .. });
    if !is_decision && !is_held && then.effects_due > 0 && then.is_to_be_decided(last_at) {
        then.phase = Phase::Held {
            deadline: last_at.saturating_add_ms(then.opening.rounds.hold_ms),
            since: last_at,
        };
        then.is_due = false;
        then.effects_due = 0;
    }
    match recorded.entry {
        Entry::Lapsed(RoundWindow::Hold) => {
            if let Phase::Held { deadline, .. } = &mut then.phase
                && (at <= *deadline || then.contest.waits.is_some())
            {
                *deadline = (*deadline).min(at.saturating_sub_ms(1));
                then.contest = Contest::default();
            }
        }
        Entry::Lapsed(RoundWindow::Draw) if then.draw().is_none() => {
            then.contest.waits = Some(waiting(&then, drawn_from, at, BTreeSet::new()));
        }
        Entry::Drawn(drawn) if then.draw().is_none() => {
            let rounds = drawn.rounds.iter().copied().collect();
            let mut waits = waiting(&then, drawn_from, at, rounds);
            waits.closing = drawn.closing;
            then.contest.waits = Some(waits);
        }
        Entry::Event(RoundEvent::RoundDecided(decided)) => match (decided.reason, decided.winner) {
            (Reason::Superseded | Reason::Deadlock, _) if then.contest.ending.is_some() => {}
            (Reason::Superseded, Some(winner)) if then.is_to_be_decided(at) => {
                then.contest.winner.get_or_insert(winner);
            }
            (Reason::Superseded, Some(winner)) => {
                let seed = decided.seed;
                then.ended_elsewhere(Ending::Superseded { seed, winner });
            }
            (Reason::Deadlock, None) => then.ended_elsewhere(Ending::Deadlock {}),
            (_, _) => {}
        },
        Entry::Message(_)
        | Entry::Lapsed(_)
        | Entry::Drawn(_)
        | Entry::Event(_)
        | Entry::Notice => {}
    }
    (then != *state).then_some(then)
}

/// A round that was escalated for lasting silence, where the failed one before is not here: all else has to
/// be so. It follows its decision directly and names it, and what the round shows leaves room for a failed
/// one before.
fn lacking(state: &State, recorded: &Recorded<'_>, decided_at: Option<u64>) -> Option<State> {
    let Entry::Event(RoundEvent::RoundEscalated(escalated)) = recorded.entry else {
        return None;
    };
    let follows = decided_at == Some(escalated.cause)
        && state.failure().map(|(_, since)| since) == Some(recorded.recorded_at_ms);
    if !follows || escalated.reason != EscalationReason::Deadlock || !state.may_lack_as_another() {
        return None;
    }
    let mut then = state.clone();
    then.lacks_since(state.opening.id());
    Some(then)
}

fn waiting(
    state: &State,
    seed: Option<&Seed>,
    at: TimestampMs,
    rounds: BTreeSet<RoundId>,
) -> Waiting {
    Waiting {
        closing: 0,
        draw: seed.map(|seed| Draw {
            closed_at: TimestampMs::new(0),
            deadline: at.saturating_sub_ms(1),
            height: seed.height,
            network: seed.network.clone(),
            rounds,
        }),
        drawn_in: state.opening.id(),
    }
}

impl State {
    /// Humans are asked in place of any retry that is left: one more record is due, where none was for the
    /// last retry.
    fn lacks_since(&mut self, before: RoundId) {
        if !self.has_no_retry_left() {
            self.effects_due += 1;
        }
        self.contest.lacking_since = Some(before);
    }

    fn ended_elsewhere(&mut self, ending: Ending) {
        if self.contest.ending.is_none() {
            self.contest.waits = None;
            self.contest.ending = Some(ending);
            self.is_due = true;
            self.effects_due = 1;
        }
    }
}
