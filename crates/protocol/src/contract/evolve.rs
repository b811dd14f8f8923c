//! What a record makes of a negotiation. A stored log is input: whatever `decide` could not have
//! written is [`Illegal`], never a panic and never skipped.

use super::message::sender;
use super::state::last_moment;
use super::{Closing, Engagement, Opening, State, Step, table};
use crate::event::{Effect, EnvelopeAccepted, Event, Lapsed, LapsedWindow};
use crate::facts::{ContractOffer, Facts, NegotiationFacts, TermsFacts};
use crate::id::{ContractId, InteractionId};
use crate::machine::{Illegal, Recorded};
use crate::time::TimestampMs;

/// The state after `recorded`.
pub(super) fn evolve(state: Option<State>, recorded: &Recorded<'_>) -> Result<State, Illegal> {
    let step = Evolving {
        name: state.as_ref().map_or("none", |state| state.name().as_str()),
        recorded,
    };
    match (state, recorded.event) {
        (None, Event::EnvelopeAccepted(accepted)) => step.open(accepted),
        (None, _) => Err(step.illegal("the first event must be an accepted offer")),
        (Some(state), Event::EnvelopeAccepted(accepted)) => step.message(state, accepted),
        (Some(state), Event::Lapsed(lapsed)) => step.lapsed(state, *lapsed),
        (Some(state), Event::Effect(Effect::Engaged(engaged))) => {
            step.engaged(state, engaged.interaction)
        }
        (Some(state), Event::NoticeIssued(_)) => Ok(state),
        (Some(_), _) => Err(step.illegal("the event does not belong to a contract's stream")),
    }
}

struct Evolving<'a> {
    name: &'static str,
    recorded: &'a Recorded<'a>,
}

impl Evolving<'_> {
    fn illegal(&self, why: &'static str) -> Illegal {
        self.recorded.illegal(self.name, why)
    }

    fn open(&self, accepted: &EnvelopeAccepted) -> Result<State, Illegal> {
        let Facts::Negotiation(NegotiationFacts::Offer(offer)) = &accepted.facts else {
            return Err(self.illegal("the first event must be an accepted offer"));
        };
        let parameters = self
            .recorded
            .parameters
            .ok_or_else(|| self.illegal("the parameters it was opened under are not known"))?;
        let block = parameters
            .contracts
            .ok_or_else(|| self.illegal("the parameters in force take no contracts"))?;
        let ContractOffer {
            expires_at_ms,
            max_turns,
            terms,
            ..
        } = &**offer;
        let step = self.step(accepted, terms, *expires_at_ms, 1)?;
        let opening = Opening {
            id: ContractId::from(accepted.envelope.id),
            initiator: accepted.envelope.from,
            max_turns: max_turns.unwrap_or(block.max_turns),
            parameters: parameters.clone(),
            record: step.record,
            responder: accepted.envelope.to,
        };
        Ok(State::Pending { opening, step })
    }

    /// The terms that a message proposes; its deadline is the last moment before they end.
    fn step(
        &self,
        accepted: &EnvelopeAccepted,
        terms: &TermsFacts,
        expires_at: TimestampMs,
        turn: u64,
    ) -> Result<Step, Illegal> {
        if accepted.derived.deadline_at_ms != Some(last_moment(expires_at)) {
            return Err(self.illegal("its deadline is not the last moment before expires_at"));
        }
        Ok(Step {
            author: accepted.envelope.from,
            expires_at,
            record: self.recorded.record_ref(accepted),
            terms: terms.clone(),
            turn,
        })
    }

    fn message(&self, state: State, accepted: &EnvelopeAccepted) -> Result<State, Illegal> {
        let Facts::Negotiation(facts) = &accepted.facts else {
            return Err(self.illegal("the message is of no negotiation"));
        };
        if facts.contract() != Some(state.opening().id) {
            return Err(self.illegal("the message names another negotiation"));
        }
        let sender = sender(&state, state.opening(), &accepted.envelope);
        if table::transition(state.name(), facts.verb(), sender).is_none() {
            return Err(self.illegal("the state does not take this message from its sender"));
        }
        let (State::Pending { opening, step } | State::Countered { opening, step }) = state else {
            return Err(self.illegal("the state does not take this message"));
        };
        if facts.step() != Some(step.record.envelope) {
            return Err(self.illegal("it answers a step that is not the last"));
        }
        match facts {
            NegotiationFacts::Offer(_) => Err(self.illegal("it is opened once")),
            NegotiationFacts::Counter(_) if step.turn >= opening.max_turns => {
                Err(self.illegal("all turns are used"))
            }
            NegotiationFacts::Counter(counter) => {
                let expires_at = counter.expires_at_ms.unwrap_or(step.expires_at);
                let step = self.step(accepted, &counter.terms, expires_at, step.turn + 1)?;
                Ok(State::Countered { opening, step })
            }
            NegotiationFacts::Accept(accept) if accept.terms_hash != step.terms.terms_hash => {
                Err(self.illegal("it accepts other terms"))
            }
            NegotiationFacts::Accept(_) => {
                let deadline = accepted.derived.deadline_at_ms;
                let deadline = deadline
                    .ok_or_else(|| self.illegal("an accept opens the engagement window"))?;
                Ok(State::Accepted {
                    acceptance: self.recorded.record_ref(accepted),
                    engagement: Engagement::Open { deadline },
                    opening,
                    step,
                })
            }
            NegotiationFacts::Reject(_) | NegotiationFacts::Withdraw(_) => {
                Ok(State::Rejected(Closing { opening, step }))
            }
        }
    }

    fn lapsed(&self, state: State, lapsed: Lapsed) -> Result<State, Illegal> {
        let LapsedWindow::Contract(window) = lapsed.window else {
            return Err(self.illegal("the window is of another machine"));
        };
        if state.open_window() != Some(window) || lapsed.code != table::lapse_of(window).code {
            return Err(self.illegal("this window is not open, or its code is another"));
        }
        let had_passed = |deadline| self.recorded.recorded_at_ms > deadline;
        if !state.deadline().is_some_and(had_passed) {
            return Err(self.illegal("the window had not passed"));
        }
        match state {
            State::Pending { opening, step } | State::Countered { opening, step } => {
                Ok(State::Expired(Closing { opening, step }))
            }
            State::Accepted {
                acceptance,
                opening,
                step,
                ..
            } => Ok(State::Accepted {
                acceptance,
                engagement: Engagement::Lapsed,
                opening,
                step,
            }),
            State::Rejected(_) | State::Expired(_) => Err(self.illegal("it is over")),
        }
    }

    fn engaged(&self, state: State, interaction: InteractionId) -> Result<State, Illegal> {
        let State::Accepted {
            acceptance,
            engagement: Engagement::Open { .. },
            opening,
            step,
        } = state
        else {
            return Err(self.illegal("only an agreed contract opens an interaction, and one only"));
        };
        Ok(State::Accepted {
            acceptance,
            engagement: Engagement::Engaged { interaction },
            opening,
            step,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::digest::Digest;
    use crate::event::Engaged;
    use crate::facts::AmountOf;
    use crate::id::EnvelopeId;
    use crate::machine::{RecordRef, not_restored};

    const INTERACTION: &str = "019b76da-a800-7000-8000-000000000009";

    fn agreed(engagement: Engagement) -> State {
        let [payer, payee] = ["a", "b"].map(|last| {
            let did = format!("did:x811:019b76da-a800-7000-8000-00000000000{last}");
            did.parse().unwrap()
        });
        let record = RecordRef {
            envelope: EnvelopeId::from_parts(1, &[1; 10]),
            hash: Digest::ZERO,
            position: 1,
        };
        State::Accepted {
            acceptance: record,
            engagement,
            opening: Opening {
                id: ContractId::from(record.envelope),
                initiator: payer,
                max_turns: 3,
                parameters: not_restored(),
                record,
                responder: payee,
            },
            step: Step {
                author: payer,
                expires_at: TimestampMs::new(60_000),
                record,
                terms: TermsFacts {
                    amount: None,
                    amount_of: AmountOf::Price,
                    currency: "EUR".parse().unwrap(),
                    deadline_s: None,
                    deliverables_hash: None,
                    payee,
                    payer,
                    task_type: None,
                    terms_hash: Digest::ZERO,
                },
                turn: 1,
            },
        }
    }

    /// One interaction, and none once its window has passed: whoever wrote another record.
    #[test]
    fn xn_9_only_an_open_engagement_is_engaged() {
        let interaction = InteractionId::from(INTERACTION.parse::<EnvelopeId>().unwrap());
        let deadline = TimestampMs::new(90_000);
        let event = Event::Effect(Effect::Engaged(Engaged {
            cause: 8,
            interaction,
        }));
        let recorded = Recorded {
            event: &event,
            position: 9,
            hash: Digest::ZERO,
            recorded_at_ms: TimestampMs::new(80_000),
            parameters: None,
        };
        for (before, is_legal) in [
            (Engagement::Open { deadline }, true),
            (Engagement::Engaged { interaction }, false),
            (Engagement::Lapsed, false),
        ] {
            let after = evolve(Some(agreed(before)), &recorded);
            assert_eq!(after.is_ok(), is_legal, "{before:?}");
        }
    }
}
