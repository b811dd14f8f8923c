//! The `interaction` machine: one AEEP lifecycle from REQUEST to a confirmed transfer.
//!
//! | file | what it decides |
//! |---|---|
//! | [`table`] | who may send what in which state; which window leads where |
//! | `state` | what each state carries |
//! | `message` | guards of the eight messages |
//! | `settlement` | the schedule of looks and what a sweep means |
//! | `over` | what a sweep means once it is over |
//! | `clock` | what downtime and blindness do to its clocks |
//! | `evolve` | what a record makes of the state |
//! | `stored` | the state outside of memory |
//! | `told` | which events the two parties are notified of |
//! | `detail` | what its row shows besides the columns of every row |
//! | `written` | what is written once, for all states that it is in |
//!
//! What its payment is held to, and what pays, is decided in [`crate::settlement`].
//!
//! Sources: AE-9…37, AE-98…105, AX-1…20, design.md section 7, ledger-contract.md section 5.

mod clock;
mod context;
mod detail;
mod evolve;
mod message;
mod outline;
mod over;
mod settlement;
mod state;
mod stored;
pub mod table;
mod told;
mod written;

pub use crate::machine::RecordRef;
pub use context::Context;
pub use message::{offer_deadline, state_after, window_end};
pub use outline::Outline;
pub use settlement::FAILURES_TO_DISPUTE;
pub use state::{
    Acceptance, Closing, Deal, Delivery, Dispute, Offer, OfferDeadline, Opening, PaymentRecord,
    Schedule, Settlement, Stage, State, StateName, Unpaid,
};
pub use written::WrittenOnce;

use crate::did::Did;
use crate::event::{EnvelopeAccepted, Event, Lapsed, Window};
use crate::evm::TxHash;
use crate::facts::Facts;
use crate::id::InteractionId;
use crate::machine::{
    BundleBasis, Conclusion, Erasable, ErasureWords, Illegal, Input, LedgerView, Machine,
    NamedBlock, OpenWindow, Recorded, Told, WindowEnd,
};
use crate::observation::Sweep;
use crate::parameters::Parameters;
use crate::refusal::Refusal;
use crate::settlement::{Aftermath, SettlingMachine, Watched, named_blocks};
use crate::stream::{Stream, Subject};
use crate::time::TimestampMs;
use serde::Serialize;
use std::collections::BTreeSet;
use std::sync::Arc;

/// The machine; it has no values, its state is [`State`].
#[derive(Debug, Clone, Copy)]
pub enum Interaction {}

/// The name of the window in which a payment is confirmed.
const CONFIRMATION: &str = "the window for the confirmation";

/// The deal and its settlement, once the result is verified and nothing is to be paid for it.
fn owing_nothing(state: &State) -> Option<(&Deal, &Settlement)> {
    if let State::Verified {
        settlement: Stage::Watching(settlement),
        deal,
        ..
    } = state
        && deal.offer.total.is_zero()
    {
        Some((deal, settlement))
    } else {
        None
    }
}

impl Machine for Interaction {
    type Id = InteractionId;
    type State = State;
    type Context<'a> = Context<'a>;

    fn context<'a, V: LedgerView>(
        view: &'a V,
        state: Option<&'a State>,
        input: &Input<'a>,
    ) -> Result<Context<'a>, Refusal> {
        Ok(Context::of(view, state, input))
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
        let ends_at = state.deadline()?;
        if owing_nothing(state).is_some() {
            return Some(OpenWindow {
                ends_at,
                name: CONFIRMATION,
                end: WindowEnd::NothingDue,
            });
        }
        let rule = table::lapse_of(state.open_window()?);
        Some(OpenWindow {
            ends_at,
            name: match rule.window {
                Window::Offer => "the window for an OFFER",
                Window::Accept => "the window for an ACCEPT",
                Window::Result => "the window for a RESULT",
                Window::Verify => "the window for a VERIFY",
                Window::Payment => "the window for a PAYMENT",
                Window::Confirmation => CONFIRMATION,
            },
            end: WindowEnd::Lapse(Lapsed {
                window: rule.window.into(),
                code: rule.code,
            }),
        })
    }

    fn expire<V: LedgerView>(state: &State, view: &V) -> Option<Event> {
        if let Some((deal, settlement)) = owing_nothing(state) {
            let payee = view.agent(deal.opening.provider);
            return Some(settlement::confirm_nothing_due(
                deal, settlement, state, payee,
            ));
        }
        Self::window(state)?.lapse()
    }

    fn is_terminal(state: &State) -> bool {
        state.name().is_terminal()
    }

    fn subject(id: InteractionId) -> Subject {
        Subject::Interaction(id)
    }

    fn id(state: &State) -> InteractionId {
        state.opening().id
    }

    fn members(state: &State) -> Vec<Did> {
        let opening = state.opening();
        vec![opening.initiator, opening.provider]
    }

    fn state_name(state: &State) -> &'static str {
        state.name().as_str()
    }

    fn detail(state: &State) -> impl Serialize {
        detail::Detail::of(state)
    }

    fn open_between(state: &State) -> Option<(Did, Did)> {
        let opening = state.opening();
        (!state.name().is_terminal()).then_some((opening.initiator, opening.provider))
    }

    fn told(before: &State, event: &Event, after: &State) -> Option<Told> {
        told::code(event, after).map(|code| Told::error(code, before.opener()))
    }

    fn moves_with_downtime(state: &State) -> bool {
        !state.name().is_terminal() || state.aftermath().is_some()
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
        let Facts::Request(_) = facts else {
            return Ok(());
        };
        let (from, limits) = (envelope.from, &view.parameters().1.limits);
        let open = view.open::<Interaction>(from, None);
        let which = "interactions of yours are open";
        Refusal::check_room(open, limits.open_per_initiator, which)?;
        let open = view.open::<Interaction>(from, Some(envelope.to));
        let which = "interactions with this provider are open";
        Refusal::check_room(open, limits.open_per_pair, which)
    }

    fn state_after(accepted: &EnvelopeAccepted) -> Option<&'static str> {
        state_after(&accepted.facts).map(StateName::as_str)
    }

    fn opening(event: &Event) -> Option<BundleBasis> {
        Some(BundleBasis {
            is_paid: true,
            ..BundleBasis::between(event.accepted()?)?
        })
    }

    /// The contract and the agreement of a REQUEST.
    const HAS_LINKS: bool = true;

    fn links(event: &Event) -> Vec<Stream> {
        let request = event.accepted();
        let request = request.filter(|accepted| matches!(accepted.facts, Facts::Request(_)));
        let Some(EnvelopeAccepted { derived, .. }) = request else {
            return Vec::new();
        };
        let contract = derived.contract.map(|used| Subject::Contract(used.id));
        let agreement = derived.agreement.map(|used| Subject::Agreement(used.id));
        let subjects = contract.into_iter().chain(agreement);
        subjects.map(Stream::Of).collect()
    }

    fn erasable() -> Erasable {
        Erasable::WhenOver(ErasureWords {
            live: ": bodies are erased once it is over and its settlement final",
            settling: ", but its transactions are still watched or a party is still owed a notice: ask \
                       again when its settlement is final",
            unknown: ": name the envelope id of its REQUEST, as `x811 history` does",
            kept: "which was not over or is in dispute",
        })
    }

    fn opens(_event: &Event) -> Option<Subject> {
        None
    }

    /// The heads of an ACCEPT, and what is named of its payment.
    fn blocks<'a>(state: Option<&'a State>, event: &'a Event) -> Vec<NamedBlock<'a>> {
        if let Some(accepted) = event.accepted() {
            let heads = accepted.derived.heads.as_deref().unwrap_or_default();
            let each = heads.iter().enumerate();
            let named = each.map(|(index, head)| NamedBlock {
                block: head.block(),
                member: format!("derived.heads[{index}]"),
                network: &head.network,
            });
            return named.collect();
        }
        let Some(Watched { network, .. }) = state.and_then(State::watched) else {
            return Vec::new();
        };
        let named = named_blocks(event).into_iter();
        let named = named.map(|(member, block)| NamedBlock {
            block,
            member,
            network,
        });
        named.collect()
    }
}

impl SettlingMachine for Interaction {
    fn payee(state: &State) -> Did {
        state.opening().provider
    }

    fn watched(state: &State) -> Option<Watched<'_>> {
        state.watched()
    }

    fn aftermath(state: &State) -> Option<&Aftermath> {
        state.aftermath().map(|(_, aftermath)| aftermath)
    }

    fn blinded(state: State, network: &str, at: TimestampMs) -> State {
        state.blinded(network, at)
    }

    fn sighted(state: State, network: &str, at: TimestampMs) -> State {
        state.sighted(network, at)
    }

    fn reversed(state: &State) -> BTreeSet<TxHash> {
        state.reversed().collect()
    }

    fn repeated(state: &State, input: &Input<'_>) -> Option<u64> {
        message::repeated_payment(state, input)
    }

    fn observe(
        state: &State,
        sweep: &Sweep,
        looked_up: &crate::settlement::Context<'_>,
        now: TimestampMs,
    ) -> Vec<Event> {
        if state.name().is_terminal() {
            over::observe(state, sweep, looked_up, now)
        } else {
            settlement::observe(state, sweep, looked_up, now)
        }
    }
}
