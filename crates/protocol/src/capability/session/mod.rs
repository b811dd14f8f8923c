//! The `session` machine: two agents negotiate the terms of a capability's use, and both sign the
//! agreement they come to.
//!
//! | file | what it decides |
//! |---|---|
//! | [`table`] | who may send what in which state; which window leads where |
//! | `state` | what is known |
//! | `context` | what decisions read besides the state |
//! | `open` | the request |
//! | `message` | guards of the messages that follow |
//! | `evolve` | what a record makes of the state |
//! | `detail` | what its row shows besides the columns of every row |
//!
//! Sources: capability.md ("session"), machines.md, CC-76 to CC-88, CX-36 to CX-42.

mod context;
mod detail;
mod evolve;
mod message;
mod open;
mod state;
pub mod table;

pub use context::{Context, OpenCounts};
pub use state::{Ending, ProposedTerms, Renewal, Signed, State};
pub use table::StateName;

use crate::did::Did;
use crate::event::{CloseReason, Derived, Effect, EnvelopeAccepted, Event, Lapsed, SessionWindow};
use crate::facts::{CapabilityFacts, Facts};
use crate::id::SessionId;
use crate::machine::{
    BundleBasis, Conclusion, Erasable, ErasureWords, Illegal, Input, LedgerView, Machine,
    NamedBlock, News, ONCE_CLOSED, OpenWindow, Recorded, Told, WindowEnd,
};
use crate::parameters::Parameters;
use crate::refusal::Refusal;
use crate::stream::{Stream, Subject};
use crate::time::TimestampMs;
use serde::Serialize;
use std::sync::Arc;

/// The machine; it has no values, its state is [`State`].
#[derive(Debug, Clone, Copy)]
pub enum Session {}

impl Machine for Session {
    type Id = SessionId;
    type State = State;
    type Context<'a> = Context<'a>;

    fn context<'a, V: LedgerView>(
        view: &'a V,
        _state: Option<&'a State>,
        input: &Input<'a>,
    ) -> Result<Context<'a>, Refusal> {
        Context::of(view, input)
    }

    fn decide(
        state: Option<&State>,
        input: &Input<'_>,
        context: &Context<'_>,
        now: TimestampMs,
    ) -> Result<Conclusion, Refusal> {
        message::derived(state, input, context, now).map(Conclusion::Record)
    }

    fn evolve(state: Option<State>, recorded: &Recorded<'_>) -> Result<State, Illegal> {
        evolve::evolve(state, recorded)
    }

    fn window(state: &State) -> Option<OpenWindow> {
        let window = state.state.window()?;
        let (code, _) = table::lapse_of(window);
        Some(OpenWindow {
            ends_at: state.deadline?,
            name: match window {
                SessionWindow::Response => "the window for a response",
                SessionWindow::Session => "the life",
                SessionWindow::Agree => "the window for signatures",
            },
            end: WindowEnd::Lapse(Lapsed {
                window: window.into(),
                code,
            }),
        })
    }

    fn expire<V: LedgerView>(state: &State, _view: &V) -> Option<Event> {
        Self::window(state)?.lapse()
    }

    fn is_terminal(state: &State) -> bool {
        state.is_closed
    }

    fn subject(id: SessionId) -> Subject {
        Subject::Session(id)
    }

    fn id(state: &State) -> SessionId {
        state.id
    }

    fn members(state: &State) -> Vec<Did> {
        vec![state.initiator, state.target]
    }

    fn state_name(state: &State) -> &'static str {
        state.state.as_str()
    }

    fn detail(state: &State) -> impl Serialize {
        detail::Detail::of(state)
    }

    fn open_between(state: &State) -> Option<(Did, Did)> {
        (!state.is_closed).then_some((state.initiator, state.target))
    }

    fn told(_before: &State, event: &Event, after: &State) -> Option<Told> {
        let Event::Effect(Effect::SessionClosed(closed)) = event else {
            return None;
        };
        let code = match closed.reason {
            CloseReason::Timeout => Some(after.lapsed_code()),
            // Nobody's message: the ledger declined.
            CloseReason::Declined if closed.closed_by.is_none() => None,
            CloseReason::Agreed
            | CloseReason::Rejected
            | CloseReason::Abandoned
            | CloseReason::Declined => return None,
        };
        let related = Some(after.last.envelope);
        Some(Told::news(News::SessionClosed, code, related))
    }

    fn moves_with_downtime(state: &State) -> bool {
        state.deadline.is_some()
    }

    fn after_downtime(state: State, gap_ms: u64, _back_at: TimestampMs) -> State {
        let deadline = state.deadline.map(|at| at.saturating_add_ms(gap_ms));
        State { deadline, ..state }
    }

    fn parameters(state: &State) -> &Arc<Parameters> {
        &state.parameters
    }

    fn with_parameters(state: State, parameters: Arc<Parameters>) -> State {
        State {
            parameters,
            ..state
        }
    }

    /// Limits on sessions are parts of the decision.
    fn limits<V: LedgerView>(
        _view: &V,
        _state: Option<&State>,
        _input: &Input<'_>,
    ) -> Result<(), Refusal> {
        Ok(())
    }

    fn state_after(accepted: &EnvelopeAccepted) -> Option<&'static str> {
        let Facts::Capability(facts) = &accepted.facts else {
            return None;
        };
        state_after(facts, &accepted.derived).map(StateName::as_str)
    }

    fn opening(event: &Event) -> Option<BundleBasis> {
        BundleBasis::between(event.accepted()?)
    }

    /// The descriptor that a request is decided by or the agreement that it renews, and the agreement that the
    /// second signature makes.
    const HAS_LINKS: bool = true;

    fn links(event: &Event) -> Vec<Stream> {
        let asked = event.accepted().and_then(|accepted| {
            let Facts::Capability(CapabilityFacts::Request(request)) = &accepted.facts else {
                return None;
            };
            let renewed = request.agreement_id.map(Subject::Agreement);
            Some(renewed.unwrap_or(Subject::Descriptor(accepted.envelope.to)))
        });
        let linked = asked.or_else(|| Session::opens(event));
        linked.map(Stream::Of).into_iter().collect()
    }

    fn erasable() -> Erasable {
        Erasable::WhenOver(ErasureWords {
            live: ONCE_CLOSED,
            settling: ONCE_CLOSED,
            unknown: "",
            kept: "which was not closed, or whose agreement was in force",
        })
    }

    fn opens(event: &Event) -> Option<Subject> {
        let accepted = event.accepted()?;
        let Facts::Capability(CapabilityFacts::Agree(agree)) = &accepted.facts else {
            return None;
        };
        let is_second = accepted.derived.signatures == Some(2);
        is_second.then_some(Subject::Agreement(agree.agreement_id))
    }

    fn blocks<'a>(_state: Option<&'a State>, _event: &'a Event) -> Vec<NamedBlock<'a>> {
        Vec::new()
    }
}

/// The state that an accepted message leads to, without replaying: what its answer says.
fn state_after(facts: &CapabilityFacts, derived: &Derived) -> Option<StateName> {
    Some(match facts {
        CapabilityFacts::Advertise(_) | CapabilityFacts::Revoke(_) => return None,
        // No window: what was asked for is unavailable.
        CapabilityFacts::Request(_) if derived.deadline_at_ms.is_none() => StateName::Closed,
        CapabilityFacts::Request(_) => StateName::Requested,
        CapabilityFacts::Response(response) if response.willing => StateName::Open,
        CapabilityFacts::Offer(_) => StateName::Offered,
        CapabilityFacts::Counter(_) => StateName::Countered,
        CapabilityFacts::Agree(_) if derived.signatures == Some(2) => StateName::Closed,
        CapabilityFacts::Accept(_) | CapabilityFacts::Agree(_) => StateName::Agreeing,
        CapabilityFacts::Response(_) | CapabilityFacts::Reject(_) | CapabilityFacts::Close(_) => {
            StateName::Closed
        }
    })
}
