//! What a record makes of a round. A stored log is input: whatever could not have been decided is
//! [`Illegal`], never a panic and never skipped.

use std::collections::BTreeSet;

use super::contest::Contest;
use super::event::{
    CycleDrawn, EscalationReason, RoundDecided, RoundEscalated, RoundEvent, RoundOpened,
    RoundWindow,
};
use super::follow::follow;
use super::message::{self, seat_of};
use super::opening::fits;
use super::rivals;
use super::state::{Countersignature, Opening, Phase, Reported, Seat, State, VoteRecord};
use super::tally::{Hindrance, Outcome};
use super::{Derived, Effect, Entry, Message, Recorded};
use crate::digest::Digest;
use crate::facts::consensus::{ConsensusFacts, HumanRuling, Mechanism};
use crate::machine::{self, Conclusion, Illegal, RecordRef};
use crate::time::TimestampMs;

/// The state after `recorded`.
pub(super) fn evolve(state: Option<State>, recorded: &Recorded<'_>) -> Result<State, Illegal> {
    let step = Evolving {
        name: state.as_ref().map_or("none", |state| state.name().as_str()),
        recorded,
    };
    let left = step.left_due(state.as_ref())?;
    let mut state = step.enter(state)?;
    if let Entry::Message(message) = recorded.entry {
        state.run_seat(message.envelope.from);
    }
    let new = follow(&state, recorded.entry, recorded.position, step.at());
    state.effects_due = left + new.len() as u64;
    Ok(state)
}

impl Evolving<'_> {
    /// How many records are still due once this one stands. What follows from a record stands before
    /// anything else; a retry's effect on the failed round is no record of the failed one's own.
    fn left_due(&self, state: Option<&State>) -> Result<u64, Illegal> {
        let due = state.map_or(0, |state| state.effects_due);
        match self.recorded.entry {
            Entry::Event(
                RoundEvent::RoundOpened(_)
                | RoundEvent::RoundDecided(_)
                | RoundEvent::RoundEscalated(_)
                | RoundEvent::AnomalyNoted(_),
            ) => due
                .checked_sub(1)
                .ok_or_else(|| self.illegal("it follows from no record")),
            Entry::Message(_)
            | Entry::Lapsed(_)
            | Entry::Drawn(_)
            | Entry::Event(RoundEvent::Resubmitted(_))
            | Entry::Notice
                if due > 0 =>
            {
                Err(self.illegal("what follows from the record before comes first"))
            }
            Entry::Message(_)
            | Entry::Lapsed(_)
            | Entry::Drawn(_)
            | Entry::Event(RoundEvent::Resubmitted(_))
            | Entry::Notice => Ok(0),
        }
    }

    fn enter(&self, state: Option<State>) -> Result<State, Illegal> {
        let step = self;
        match (state, step.recorded.entry) {
            (None, Entry::Message(message)) => step.open(message),
            (None, Entry::Lapsed(_) | Entry::Drawn(_) | Entry::Event(_) | Entry::Notice) => {
                Err(step.illegal("the first record must be a proposal"))
            }
            (Some(state), Entry::Message(message)) => step.message(state, message),
            (Some(state), Entry::Lapsed(window)) => step.lapsed(state, window),
            (Some(state), Entry::Drawn(drawn)) => step.drawn(state, drawn),
            (Some(state), Entry::Event(event)) => step.event(state, event),
            (Some(state), Entry::Notice) => Ok(state),
        }
    }
}

struct Evolving<'a> {
    name: &'static str,
    recorded: &'a Recorded<'a>,
}

impl Evolving<'_> {
    fn illegal(&self, why: &'static str) -> Illegal {
        Illegal {
            position: self.recorded.position,
            state: self.name,
            event: self.recorded.entry.type_name(),
            why,
        }
    }

    const fn at(&self) -> TimestampMs {
        self.recorded.recorded_at_ms
    }

    fn open(&self, message: &Message) -> Result<State, Illegal> {
        let ConsensusFacts::Propose(proposal) = &message.facts else {
            return Err(self.illegal("the first record must be a proposal"));
        };
        let rounds = self
            .recorded
            .rounds
            .ok_or_else(|| self.illegal("the parameters in force take no rounds"))?;
        message
            .facts
            .consistent()
            .map_err(|_| self.illegal("its members contradict each other"))?;
        let deadline = fits(proposal, &message.envelope, rounds, self.at())
            .map_err(|_| self.illegal("its parameters do not allow the proposal"))?;
        let Derived {
            authority: Some(authority),
            deadline_at_ms,
            effect: None,
            parameters: Some(_),
            seed: None,
        } = message.derived
        else {
            return Err(self.illegal("it must say the proposer's authority and the parameters"));
        };
        if deadline_at_ms != Some(deadline) {
            return Err(self.illegal("its deadline is another"));
        }
        let envelope = &message.envelope;
        let mut state = State {
            contest: Contest::default(),
            countersignature: Countersignature::NotDue {},
            decided: None,
            effects_due: 0,
            evidence_of: BTreeSet::new(),
            failure_told: false,
            hindrance: None,
            is_called: false,
            is_due: false,
            leader_said: None,
            lost_ms: 0,
            lost_timeout: false,
            opened_at: None,
            opening: Opening {
                authority,
                created_ms: envelope.created_ms,
                ledger_leads: proposal.leader == envelope.to,
                parameters: machine::not_restored(),
                proposal: (**proposal).clone(),
                proposer: envelope.from,
                record: RecordRef {
                    envelope: envelope.id,
                    hash: self.recorded.hash,
                    position: self.recorded.position,
                },
                recorded_at: self.at(),
                rounds: rounds.clone(),
            },
            phase: Phase::Proposed { deadline },
            retried_by: None,
            seats: vec![Seat::default(); proposal.participants.len()],
            seats_run: None,
            was_suspended: false,
        };
        self.hear(&mut state, message);
        Ok(state)
    }

    /// Whoever signs a message in the round is heard of (CX-24).
    fn hear(&self, state: &mut State, message: &Message) {
        if let Some(seat) = seat_of(state, message.envelope.from) {
            state.seats[seat].heard_at = Some(self.at());
        }
    }

    fn message(&self, mut state: State, message: &Message) -> Result<State, Illegal> {
        if message.facts.round() != state.opening.id() {
            return Err(self.illegal("the message names another round"));
        }
        // Who is a human is a matter of the parameters in force, which the decision looks at.
        let is_human = matches!(message.facts, ConsensusFacts::HumanDecision(_));
        let taken = message::advance(
            &state,
            &message.envelope,
            &message.facts,
            self.at(),
            is_human,
        )
        .map_err(|_| self.illegal("the round does not take this message"))?;
        let Conclusion::Record(derived) = taken else {
            return Err(self.illegal("it says what was said already"));
        };
        // Whether a vote closes a cycle takes other rounds: `settle` and the audit ask that.
        let derived = Derived {
            seed: message.derived.seed.clone(),
            ..derived
        };
        let draws = matches!(message.facts, ConsensusFacts::Vote(_)) && derived.effect.is_none();
        if derived != message.derived || (derived.seed.is_some() && !draws) {
            return Err(self.illegal("it was taken in another way"));
        }
        self.hear(&mut state, message);
        if derived.effect == Some(Effect::Evidence) {
            state.evidence_of.insert(message.envelope.from);
            return Ok(state);
        }
        self.take(&mut state, message, &derived)?;
        Ok(state)
    }

    fn take(&self, state: &mut State, message: &Message, derived: &Derived) -> Result<(), Illegal> {
        let seat = seat_of(state, message.envelope.from);
        match &message.facts {
            ConsensusFacts::Propose(_) => return Err(self.illegal("it is proposed once")),
            ConsensusFacts::VoteRequest(_) => state.is_called = true,
            ConsensusFacts::Ready(_) => self.seat(state, seat)?.is_ready = true,
            ConsensusFacts::Vote(vote) => {
                let said = vote
                    .said()
                    .map_err(|_| self.illegal("the vote says nothing"))?;
                let vote = VoteRecord::of(vote, said, self.recorded.position);
                self.seat(state, seat)?.vote = Some(vote);
            }
            ConsensusFacts::Reveal(reveal) => {
                let vote = self.seat(state, seat)?.vote.as_mut();
                let vote = vote.ok_or_else(|| self.illegal("nothing was committed to"))?;
                vote.choice = Some(reveal.choice());
                vote.reveal = Some(self.recorded.position);
            }
            ConsensusFacts::Commit(_) => self.signal(state, Outcome::Commit),
            ConsensusFacts::Abort(_) => self.signal(state, Outcome::Abort),
            ConsensusFacts::Suspend(_) => {
                state.was_suspended = true;
                state.phase = Phase::Suspended {};
            }
            ConsensusFacts::Resume(_) => state.phase = Phase::Open {},
            ConsensusFacts::Withdraw(_) => {
                state.hindrance = Some(Hindrance::Withdrawn);
                state.is_due = true;
            }
            ConsensusFacts::Escalate(_) => {}
            ConsensusFacts::HumanDecision(decision) => {
                state.phase = match (decision.decision, derived.deadline_at_ms) {
                    (HumanRuling::Approve, Some(deadline)) => Phase::HumanApproved { deadline },
                    (HumanRuling::Approve | HumanRuling::Reject, _) => Phase::HumanRejected {},
                };
            }
            ConsensusFacts::Executed(_) => self.report(state, seat, Reported::Executed)?,
            ConsensusFacts::Failed(_) => self.report(state, seat, Reported::Failed)?,
        }
        Ok(())
    }

    fn seat<'s>(&self, state: &'s mut State, seat: Option<usize>) -> Result<&'s mut Seat, Illegal> {
        seat.and_then(|seat| state.seats.get_mut(seat))
            .ok_or_else(|| self.illegal("the sender has no seat"))
    }

    fn signal(&self, state: &mut State, outcome: Outcome) {
        if state.decided.is_some() {
            state.countersignature = Countersignature::Given {};
        } else {
            state.leader_said = Some(outcome);
        }
    }

    fn report(
        &self,
        state: &mut State,
        seat: Option<usize>,
        report: Reported,
    ) -> Result<(), Illegal> {
        self.seat(state, seat)?.report = Some(report);
        if state.seats.iter().all(|seat| seat.report.is_some()) {
            state.phase = Phase::Done {};
        }
        Ok(())
    }

    fn lapsed(&self, mut state: State, window: RoundWindow) -> Result<State, Illegal> {
        let Some((next, deadline)) = state.next_window() else {
            return Err(self.illegal("no window is open"));
        };
        if next != window {
            return Err(self.illegal("another window ends first"));
        }
        if self.at() <= deadline {
            return Err(self.illegal("the window had not passed"));
        }
        match (window, state.phase) {
            (RoundWindow::Signal, _) => state.countersignature = Countersignature::Silent {},
            (RoundWindow::Open, _) => {
                let is_weighted = state.opening.proposal.mechanism == Mechanism::Weighted;
                state.is_due = true;
                state.hindrance = Some(if is_weighted && !state.all_are_ready() {
                    Hindrance::WeightsUnacknowledged
                } else {
                    Hindrance::NotOpened
                });
            }
            (RoundWindow::Votes, Phase::Suspended {}) => {
                state.is_due = true;
                state.hindrance = Some(Hindrance::Suspended);
            }
            (RoundWindow::Votes, _) => self.close(&mut state),
            (RoundWindow::Reveals, _) => state.is_due = true,
            (RoundWindow::Resubmission, _) => state.phase = Phase::Aborted {},
            (RoundWindow::Human, _) => state.phase = Phase::Undecided {},
            (RoundWindow::Execution, _) => state.phase = Phase::Done {},
            (RoundWindow::Hold, _) => state.is_due = true,
            (RoundWindow::Draw, _) => state.contest.waits = None,
        }
        Ok(state)
    }

    /// The timeout: sealed votes are revealed next, and others are counted.
    fn close(&self, state: &mut State) {
        let is_sealed = |seat: &Seat| seat.vote.as_ref().is_some_and(|vote| vote.choice.is_none());
        if state.seats.iter().any(is_sealed) {
            state.phase = Phase::Revealing {
                deadline: self.at().saturating_add_ms(state.opening.reveal_ms()),
            };
            return;
        }
        state.is_due = true;
        if state.lost_too_much() {
            state.hindrance = Some(Hindrance::LedgerDown);
        }
    }

    /// The block draws: a later one than the vote that closed the cycle, at the height that was fixed then.
    fn drawn(&self, mut state: State, drawn: &CycleDrawn) -> Result<State, Illegal> {
        let waits = state.contest.waits.take();
        let Some((closing, draw)) = waits.and_then(|it| Some((it.closing, it.draw?))) else {
            return Err(self.illegal("no cycle was closed in this round"));
        };
        if closing != drawn.closing || !drawn.rounds.iter().eq(&draw.rounds) {
            return Err(self.illegal("it draws for another cycle than the one closed here"));
        }
        if draw.height != drawn.block.number {
            return Err(self.illegal("the block that draws is at another height"));
        }
        let mined_at_ms = drawn.block.timestamp_s.saturating_mul(1_000);
        if mined_at_ms <= draw.closed_at.as_ms() {
            return Err(self.illegal("the block was there before the cycle was closed"));
        }
        let seed = Digest::from_bytes(*drawn.block.hash.as_bytes());
        if rivals::drawn(seed, draw.rounds) != Some(drawn.winner) {
            return Err(self.illegal("the block draws another round"));
        }
        Ok(state)
    }

    fn event(&self, mut state: State, event: &RoundEvent) -> Result<State, Illegal> {
        match event {
            RoundEvent::RoundOpened(opened) => self.opened(&mut state, opened)?,
            RoundEvent::RoundDecided(decided) => self.decided(&mut state, decided)?,
            RoundEvent::Resubmitted(resubmitted) => {
                if state.failure().is_none() {
                    return Err(self.illegal("only a failed round is retried"));
                }
                state.retried_by = Some(resubmitted.round);
                state.phase = Phase::Aborted {};
            }
            RoundEvent::RoundEscalated(escalated) => self.escalated(&mut state, escalated)?,
            RoundEvent::AnomalyNoted(_) => {}
        }
        Ok(state)
    }

    fn opened(&self, state: &mut State, opened: &RoundOpened) -> Result<(), Illegal> {
        let proposal = &state.opening.proposal;
        if !state.is_to_be_opened()
            || (opened.leader, opened.term) != (proposal.leader, proposal.attempt)
        {
            return Err(self.illegal("it opens once, under the leader and attempt of its proposal"));
        }
        state.opened_at = Some(self.at());
        state.phase = Phase::Open {};
        Ok(())
    }

    fn decided(&self, state: &mut State, decided: &RoundDecided) -> Result<(), Illegal> {
        if !state.is_to_be_decided(self.at()) {
            return Err(self.illegal("its moment has not come, or it is decided already"));
        }
        let verdict = state.verdict(self.at());
        if *decided != RoundDecided::of(decided.cause, state, &verdict) {
            return Err(self.illegal("the votes lead to another verdict"));
        }
        let rounds = &state.opening.rounds;
        let until = |window_ms| self.at().saturating_add_ms(window_ms);
        state.phase = match verdict.outcome {
            Outcome::Commit => Phase::Committed {
                deadline: until(rounds.execution_ms),
            },
            Outcome::Abort if verdict.reason.is_failure() => Phase::Failed {
                deadline: until(rounds.resubmit_ms),
                since: self.at(),
            },
            Outcome::Abort => Phase::Aborted {},
        };
        if state.owes_a_signal(&verdict) {
            state.countersignature = Countersignature::Awaited {
                deadline: until(rounds.signal_ms),
            };
        }
        state.contest = Contest {
            winner: decided.winner,
            ..Contest::default()
        };
        state.decided = Some(verdict);
        state.is_due = false;
        Ok(())
    }

    fn escalated(&self, state: &mut State, escalated: &RoundEscalated) -> Result<(), Illegal> {
        let verdict = state.decided.as_ref();
        if verdict.map(|verdict| verdict.votes_digest) != Some(escalated.votes_digest) {
            return Err(self.illegal("it escalates another decision"));
        }
        if escalated.reason == EscalationReason::Execution {
            if state.failure_told || !state.has_failed_report() {
                return Err(self.illegal("the first failure is told, once"));
            }
            state.failure_told = true;
            return Ok(());
        }
        let names_deadlock = escalated.reason == EscalationReason::Deadlock;
        let is_in_deadlock =
            names_deadlock && state.is_in_deadlock() && state.phase == Phase::Aborted {};
        let is_another = names_deadlock && !state.is_in_deadlock();
        if (state.failure().is_none() && !is_in_deadlock) || is_another {
            return Err(self.illegal("only a failed round is escalated"));
        }
        let rounds = &state.opening.rounds;
        state.phase = if rounds.humans.is_empty() {
            Phase::Undecided {}
        } else {
            Phase::Escalated {
                deadline: self.at().saturating_add_ms(rounds.human_ms),
                position: self.recorded.position,
            }
        };
        Ok(())
    }
}
