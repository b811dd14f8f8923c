//! What a record makes of a session. A stored log is input: whatever `decide` could not have written
//! is [`Illegal`], never a panic and never skipped.

use super::message::sender;
use super::table::{self, Sender, StateName};
use super::{Ending, ProposedTerms, Renewal, Signed, State};
use crate::capability::version::Version;
use crate::event::{
    CloseReason, Effect, EnvelopeAccepted, Event, Lapsed, LapsedWindow, SessionClosed,
};
use crate::facts::{CapabilityFacts, Facts, SessionAgree, SessionRequest, SessionTerms};
use crate::id::SessionId;
use crate::machine::{Illegal, RecordRef, Recorded};

/// The state after `recorded`.
pub(super) fn evolve(state: Option<State>, recorded: &Recorded<'_>) -> Result<State, Illegal> {
    let step = Evolving {
        name: state.as_ref().map_or("none", |state| state.state.as_str()),
        recorded,
    };
    match (state, recorded.event) {
        (None, Event::EnvelopeAccepted(accepted)) => step.open(accepted),
        (None, _) => Err(step.illegal("the first event must be an accepted request")),
        (Some(state), Event::NoticeIssued(_)) if state.is_closed => Ok(state),
        (Some(state), Event::Effect(Effect::SessionClosed(closed))) => step.closed(state, *closed),
        (Some(state), _) if state.ending.is_some() => {
            Err(step.illegal("it has ended, and `session_closed` is its last record"))
        }
        (Some(state), Event::EnvelopeAccepted(accepted)) => step.message(state, accepted),
        (Some(state), Event::Lapsed(lapsed)) => step.lapsed(state, *lapsed),
        (Some(_), _) => Err(step.illegal("the event does not belong to a session's stream")),
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
        let Facts::Capability(CapabilityFacts::Request(request)) = &accepted.facts else {
            return Err(self.illegal("the first event must be an accepted request"));
        };
        let parameters = self
            .recorded
            .parameters
            .ok_or_else(|| self.illegal("the parameters it was opened under are not known"))?;
        if parameters.capabilities.is_none() {
            return Err(self.illegal("the parameters in force take no sessions"));
        }
        let version: Version = accepted
            .derived
            .version
            .ok_or_else(|| self.illegal("a request settles the version"))?;
        let deadline = accepted.derived.deadline_at_ms;
        let declined = Ending {
            closed_by: None,
            reason: CloseReason::Declined,
        };
        Ok(State {
            author: accepted.envelope.from,
            capability: request.capability.clone(),
            counters: 0,
            deadline,
            ending: deadline.is_none().then_some(declined),
            id: SessionId::from(accepted.envelope.id),
            initiator: accepted.envelope.from,
            is_closed: false,
            last: self.recorded.record_ref(accepted),
            parameters: parameters.clone(),
            parameters_hash: request.parameters_hash,
            renews: self.renews(request)?,
            signatures: Vec::new(),
            state: match deadline {
                Some(_) => StateName::Requested,
                None => StateName::Closed,
            },
            target: accepted.envelope.to,
            terms: None,
            version,
        })
    }

    fn renews(&self, request: &SessionRequest) -> Result<Option<Renewal>, Illegal> {
        match (request.agreement_id, request.reason, request.revision) {
            (None, None, None) => Ok(None),
            (Some(agreement), Some(reason), Some(revision)) => Ok(Some(Renewal {
                agreement,
                reason,
                revision,
            })),
            _ => Err(self.illegal("agreement_id, revision and reason stand together")),
        }
    }

    fn message(&self, state: State, accepted: &EnvelopeAccepted) -> Result<State, Illegal> {
        let Facts::Capability(facts) = &accepted.facts else {
            return Err(self.illegal("the message is about no capability"));
        };
        if facts.subject().and_then(crate::stream::Subject::session) != Some(state.id) {
            return Err(self.illegal("the message names another session"));
        }
        let from = accepted.envelope.from;
        let sender = sender(&state, from);
        let row = table::transition(state.state, facts.verb(), sender);
        let row = row
            .filter(|_| sender != Sender::Stranger)
            .ok_or_else(|| self.illegal("the state does not take this message from its sender"))?;
        if facts.step().is_some() && facts.step() != state.terms.map(|terms| terms.record.envelope)
        {
            return Err(self.illegal("it answers terms that are not the last"));
        }
        let record = self.recorded.record_ref(accepted);
        let opened = accepted.derived.deadline_at_ms;
        let after = State {
            author: from,
            last: record,
            state: row.to,
            ..state
        };
        let ended = |reason| Ending {
            closed_by: Some(from),
            reason,
        };
        match facts {
            CapabilityFacts::Response(response) if response.willing => Ok(State {
                deadline: Some(opened.ok_or_else(|| self.illegal("it opens a window"))?),
                ..after
            }),
            CapabilityFacts::Response(_) => Ok(ending(after, ended(CloseReason::Declined))),
            CapabilityFacts::Offer(offer) => Ok(proposed(after, record, offer.terms)),
            CapabilityFacts::Counter(counter) => {
                let block = after.parameters.capabilities;
                if block.is_some_and(|block| after.counters >= block.counters) {
                    return Err(self.illegal("all counters are used"));
                }
                let counters = after.counters + 1;
                let after = proposed(after, record, counter.terms);
                Ok(State { counters, ..after })
            }
            CapabilityFacts::Accept(accept) => {
                let due = after.terms.map(|terms| terms.terms.terms_hash);
                if due != Some(accept.terms_hash) {
                    return Err(self.illegal("it accepts other terms"));
                }
                Ok(State {
                    deadline: Some(opened.ok_or_else(|| self.illegal("it opens a window"))?),
                    ..after
                })
            }
            CapabilityFacts::Reject(_) => Ok(ending(after, ended(CloseReason::Rejected))),
            CapabilityFacts::Close(_) => Ok(ending(after, ended(CloseReason::Abandoned))),
            CapabilityFacts::Agree(agree) => self.signed(after, agree, accepted, record),
            CapabilityFacts::Advertise(_)
            | CapabilityFacts::Request(_)
            | CapabilityFacts::Revoke(_) => Err(self.illegal("it is of another stream")),
        }
    }

    fn signed(
        &self,
        mut state: State,
        agree: &SessionAgree,
        accepted: &EnvelopeAccepted,
        record: RecordRef,
    ) -> Result<State, Illegal> {
        let by = accepted.envelope.from;
        let is_fit = agree.agreement_id == state.agreement()
            && agree.revision == state.revision()
            && agree.capability == state.capability
            && agree.version == state.version
            && agree.parameters_hash == state.parameters_hash
            && Some(agree.terms_hash) == state.terms.map(|terms| terms.terms.terms_hash)
            && agree.kid == accepted.envelope.key;
        if !is_fit {
            return Err(self.illegal("it signs something else than the session came to"));
        }
        let signed = Signed {
            agreement_hash: agree.agreement_hash,
            by,
            consumer: agree.consumer,
            provider: agree.provider,
            record,
            revision: agree.revision,
        };
        if let Some(first) = state.signatures.first() {
            let same = Signed {
                by: first.by,
                record: first.record,
                ..signed
            };
            if first.by == by || *first != same {
                return Err(self.illegal("both sign once, and one object"));
            }
        }
        state.signatures.push(signed);
        if state.signatures.len() < 2 {
            return Ok(state);
        }
        let closed = Ending {
            closed_by: Some(by),
            reason: CloseReason::Agreed,
        };
        Ok(ending(state, closed))
    }

    fn lapsed(&self, state: State, lapsed: Lapsed) -> Result<State, Illegal> {
        let LapsedWindow::Session(window) = lapsed.window else {
            return Err(self.illegal("the window is of another machine"));
        };
        if state.state.window() != Some(window) || lapsed.code != table::lapse_of(window).0 {
            return Err(self.illegal("this window is not open, or its code is another"));
        }
        let had_passed = |deadline| self.recorded.recorded_at_ms > deadline;
        if !state.deadline.is_some_and(had_passed) {
            return Err(self.illegal("the window had not passed"));
        }
        let timeout = Ending {
            closed_by: None,
            reason: CloseReason::Timeout,
        };
        Ok(ending(state, timeout))
    }

    fn closed(&self, state: State, closed: SessionClosed) -> Result<State, Illegal> {
        let due = state.due_ending();
        let said = Ending {
            closed_by: closed.closed_by,
            reason: closed.reason,
        };
        if due != Some(said) {
            return Err(self.illegal("it did not end so, or was closed before"));
        }
        Ok(State {
            is_closed: true,
            ..state
        })
    }
}

fn ending(state: State, ending: Ending) -> State {
    State {
        deadline: None,
        ending: Some(ending),
        state: StateName::Closed,
        ..state
    }
}

fn proposed(state: State, record: RecordRef, terms: SessionTerms) -> State {
    State {
        terms: Some(ProposedTerms { record, terms }),
        ..state
    }
}
