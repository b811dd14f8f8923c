//! The trial machine: an agent gives another its word for some seconds. When they are over, that it
//! was due stands in its conduct.

use crate::code::Code;
use crate::did::Did;
use crate::envelope::AcceptedHeader;
use crate::event::{Derived, EnvelopeAccepted, Event, Lapsed, LapsedWindow, PledgeWindow};
use crate::facts::Facts;
use crate::id::PledgeId;
use crate::machine::{
    Conclusion, Illegal, Input, LedgerView, Machine, RecordRef, Recorded, Told, not_restored,
};
use crate::parameters::Parameters;
use crate::refusal::Refusal;
use crate::stream::Subject;
use crate::time::TimestampMs;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// What its giver and its receiver are told when it is due.
pub const DUE: Code = Code::ResultTimeout;

/// A pledge; members stand in the order of their names, in which a state is hashed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct State {
    /// Until when its giver is held to it; downtime moves it.
    pub deadline: TimestampMs,
    /// Who gave it.
    pub from: Did,
    /// Whether that moment has passed.
    pub is_due: bool,
    /// The parameters it was given under. Not in the stored form.
    #[serde(skip, default = "not_restored")]
    pub parameters: Arc<Parameters>,
    /// The message that gave it.
    pub record: RecordRef,
    /// Who was given it.
    pub to: Did,
}

/// The machine; it has no values, its state is [`State`].
#[derive(Debug, Clone, Copy)]
pub enum Pledge {}

fn given(recorded: &Recorded<'_>, accepted: &EnvelopeAccepted) -> Option<State> {
    let AcceptedHeader { from, to, .. } = accepted.envelope;
    Some(State {
        deadline: accepted.derived.deadline_at_ms?,
        from,
        is_due: false,
        parameters: recorded.parameters?.clone(),
        record: recorded.record_ref(accepted),
        to,
    })
}

/// The lapse of its window.
const LAPSED: Event = Event::Lapsed(Lapsed {
    window: LapsedWindow::Pledge(PledgeWindow::Pledge),
    code: DUE,
});

impl Machine for Pledge {
    type Id = PledgeId;
    type State = State;
    /// The position of the parameters in force.
    type Context<'a> = u64;

    fn context<'a, V: LedgerView>(
        view: &'a V,
        _state: Option<&'a State>,
        _input: &Input<'a>,
    ) -> Result<u64, Refusal> {
        Ok(view.parameters().0)
    }

    fn decide(
        state: Option<&State>,
        input: &Input<'_>,
        parameters: &u64,
        now: TimestampMs,
    ) -> Result<Conclusion, Refusal> {
        let (None, Facts::Pledge(pledge)) = (state, input.facts) else {
            return Err(Refusal::state("a pledge is given once"));
        };
        Ok(Conclusion::Record(Derived {
            deadline_at_ms: Some(now.saturating_add_ms(pledge.window_s.saturating_mul(1_000))),
            parameters: Some(*parameters),
            ..Derived::default()
        }))
    }

    fn evolve(state: Option<State>, recorded: &Recorded<'_>) -> Result<State, Illegal> {
        let illegal = |why| recorded.illegal("pledge", why);
        match (state, recorded.event) {
            (None, Event::EnvelopeAccepted(accepted)) => {
                given(recorded, accepted).ok_or_else(|| illegal("it has no end"))
            }
            (Some(state), lapsed)
                if *lapsed == LAPSED
                    && !state.is_due
                    && recorded.recorded_at_ms > state.deadline =>
            {
                let is_due = true;
                Ok(State { is_due, ..state })
            }
            (Some(state), Event::NoticeIssued(_)) => Ok(state),
            (_, _) => Err(illegal("it is given once, and due once")),
        }
    }

    fn deadline(state: &State) -> Option<TimestampMs> {
        (!state.is_due).then_some(state.deadline)
    }

    fn expire<V: LedgerView>(state: &State, _view: &V) -> Option<Event> {
        (!state.is_due).then_some(LAPSED)
    }

    fn is_terminal(state: &State) -> bool {
        state.is_due
    }

    fn subject(id: PledgeId) -> Subject {
        Subject::Pledge(id)
    }

    fn id(state: &State) -> PledgeId {
        PledgeId::from(state.record.envelope)
    }

    fn members(state: &State) -> Vec<Did> {
        vec![state.from, state.to]
    }

    fn open_between(state: &State) -> Option<(Did, Did)> {
        (!state.is_due).then_some((state.from, state.to))
    }

    fn told(before: &State, event: &Event, _after: &State) -> Option<Told> {
        let is_due = matches!(event, Event::Lapsed(_));
        is_due.then(|| Told::error(DUE, before.record.envelope))
    }

    fn moves_with_downtime(state: &State) -> bool {
        !state.is_due
    }

    fn after_downtime(state: State, gap_ms: u64, _back_at: TimestampMs) -> State {
        let deadline = state.deadline.saturating_add_ms(gap_ms);
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
}
