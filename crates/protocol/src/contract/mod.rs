//! The `contract` machine: terms before work, from the first offer to the interaction that the
//! agreed terms open.
//!
//! | file | what it decides |
//! |---|---|
//! | [`table`] | who may send what in which state; which window leads where |
//! | `state` | what each state carries |
//! | `message` | guards of the five messages |
//! | `evolve` | what a record makes of the state |
//! | `detail` | what its row shows besides the columns of every row |
//! | [`engagement`] | what a REQUEST and an OFFER are held to by a contract |
//!
//! Sources: contract.md, machines.md, XN-1…9, XX-1…9.

mod detail;
pub mod engagement;
mod evolve;
mod message;
mod state;
pub mod table;

pub use state::{Closing, Engagement, Opening, State, StateName, Step};

use crate::did::Did;
use crate::event::{ContractWindow, Effect, EnvelopeAccepted, Event, Lapsed};
use crate::facts::{Facts, NegotiationFacts};
use crate::id::ContractId;
use crate::machine::{
    BundleBasis, Conclusion, Erasable, ErasureWords, Illegal, Input, LedgerView, Machine,
    NamedBlock, ONCE_CLOSED, OpenWindow, Recorded, Told, WindowEnd,
};
use crate::parameters::Parameters;
use crate::refusal::Refusal;
use crate::stream::{Stream, Subject};
use crate::time::TimestampMs;
use serde::Serialize;
use std::sync::Arc;

/// The machine; it has no values, its state is [`State`].
#[derive(Debug, Clone, Copy)]
pub enum Contract {}

/// Parameters and registry as of now.
#[derive(Debug, Clone)]
pub struct Context<'a> {
    /// Parameters that a new negotiation is opened under.
    pub parameters: &'a Parameters,
    /// Their position in the log.
    pub parameters_position: u64,
    /// The ledger: it is no party of any negotiation.
    pub ledger: Did,
    /// Whether the recipient's DID is active.
    pub recipient_is_active: bool,
}

impl Machine for Contract {
    type Id = ContractId;
    type State = State;
    type Context<'a> = Context<'a>;

    fn context<'a, V: LedgerView>(
        view: &'a V,
        _state: Option<&'a State>,
        input: &Input<'a>,
    ) -> Result<Context<'a>, Refusal> {
        let (parameters_position, parameters) = view.parameters();
        let recipient = view.agent(input.envelope.to);
        Ok(Context {
            parameters,
            parameters_position,
            ledger: view.ledger(),
            recipient_is_active: recipient.is_some_and(|agent| agent.is_active),
        })
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
        let rule = table::lapse_of(state.open_window()?);
        Some(OpenWindow {
            ends_at: state.deadline()?,
            name: match rule.window {
                ContractWindow::Contract => "the time to answer the terms",
                ContractWindow::Engagement => "the window for a REQUEST",
            },
            end: WindowEnd::Lapse(Lapsed {
                window: rule.window.into(),
                code: rule.code,
            }),
        })
    }

    fn expire<V: LedgerView>(state: &State, _view: &V) -> Option<Event> {
        Self::window(state)?.lapse()
    }

    fn is_terminal(state: &State) -> bool {
        state.is_over()
    }

    fn subject(id: ContractId) -> Subject {
        Subject::Contract(id)
    }

    fn id(state: &State) -> ContractId {
        state.opening().id
    }

    fn members(state: &State) -> Vec<Did> {
        let opening = state.opening();
        vec![opening.initiator, opening.responder]
    }

    fn state_name(state: &State) -> &'static str {
        state.name().as_str()
    }

    fn detail(state: &State) -> impl Serialize {
        detail::Detail::of(state)
    }

    fn open_between(state: &State) -> Option<(Did, Did)> {
        let opening = state.opening();
        (!state.is_over()).then_some((opening.initiator, opening.responder))
    }

    fn told(before: &State, event: &Event, _after: &State) -> Option<Told> {
        let Event::Lapsed(lapsed) = event else {
            return None;
        };
        let rule = table::lapse_of(before.open_window()?);
        Some(Told::error(lapsed.code, before.opener()).with_message(rule.what_to_do))
    }

    fn moves_with_downtime(state: &State) -> bool {
        state.open_window() == Some(ContractWindow::Engagement)
    }

    fn after_downtime(state: State, gap_ms: u64, _back_at: TimestampMs) -> State {
        state.after_downtime(gap_ms)
    }

    fn parameters(state: &State) -> &Arc<Parameters> {
        &state.opening().parameters
    }

    fn with_parameters(state: State, parameters: Arc<Parameters>) -> State {
        state.with_parameters(parameters)
    }

    fn limits<V: LedgerView>(
        view: &V,
        _state: Option<&State>,
        Input { envelope, facts }: &Input<'_>,
    ) -> Result<(), Refusal> {
        let (_, parameters) = view.parameters();
        let (Facts::Negotiation(NegotiationFacts::Offer(_)), Some(block)) =
            (facts, parameters.contracts)
        else {
            return Ok(());
        };
        let open = view.open::<Contract>(envelope.from, None);
        let which = "negotiations of yours are open";
        Refusal::check_room(open, block.open_per_initiator, which)?;
        let open = view.open::<Contract>(envelope.from, Some(envelope.to));
        let which = "negotiations with this agent are open";
        Refusal::check_room(open, block.open_per_pair, which)
    }

    fn state_after(accepted: &EnvelopeAccepted) -> Option<&'static str> {
        let Facts::Negotiation(facts) = &accepted.facts else {
            return None;
        };
        Some(message::state_after(facts).as_str())
    }

    fn opening(event: &Event) -> Option<BundleBasis> {
        BundleBasis::between(event.accepted()?)
    }

    const HAS_LINKS: bool = false;

    fn links(_event: &Event) -> Vec<Stream> {
        Vec::new()
    }

    fn erasable() -> Erasable {
        Erasable::WhenOver(ErasureWords {
            live: ONCE_CLOSED,
            settling: ONCE_CLOSED,
            unknown: ": name neg- and the envelope id of its offer, as `x811 negotiation list` does",
            kept: "which was not closed, or whose interaction was not over or is in dispute",
        })
    }

    fn opens(event: &Event) -> Option<Subject> {
        let Event::Effect(Effect::Engaged(engaged)) = event else {
            return None;
        };
        Some(Subject::Interaction(engaged.interaction))
    }

    fn blocks<'a>(_state: Option<&'a State>, _event: &'a Event) -> Vec<NamedBlock<'a>> {
        Vec::new()
    }
}
