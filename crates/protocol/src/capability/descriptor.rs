//! One agent's descriptor: the last advert is in force, and each is one revision above the one
//! before, so that two of them cannot overtake each other.

mod detail;

use crate::code::Code;
use crate::did::Did;
use crate::event::{Derived, EnvelopeAccepted, Event};
use crate::facts::{AdvertiseFacts, CapabilityFacts, Facts};
use crate::machine::{
    BundleBasis, Conclusion, Erasable, Illegal, Input, LedgerView, Machine, NamedBlock, OpenWindow,
    RecordRef, Recorded, Told, not_restored,
};
use crate::parameters::Parameters;
use crate::refusal::Refusal;
use crate::stream::{Stream, Subject};
use crate::time::TimestampMs;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// An hour, in which adverts are counted.
const HOUR_MS: u64 = 3_600_000;

/// Which hour that is, counted from the Unix epoch.
const fn hour(at: TimestampMs) -> u64 {
    at.as_ms() / HOUR_MS
}

/// The machine; it has no values, its state is [`State`].
#[derive(Debug, Clone, Copy)]
pub enum Descriptor {}

/// Parameters as of now.
#[derive(Debug, Clone)]
pub struct Context<'a> {
    /// Parameters in force.
    pub parameters: &'a Parameters,
    /// Their position in the log.
    pub parameters_position: u64,
    /// The ledger, which adverts are addressed to.
    pub ledger: Did,
}

/// What an agent says of itself. Members stand in the order of their names, in which a state is
/// hashed after every record.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct State {
    /// Adverts that were recorded in that hour.
    pub adverts: u64,
    /// Whose it is.
    pub agent: Did,
    /// The last advert.
    pub descriptor: AdvertiseFacts,
    /// The hour of the last advert, counted from the Unix epoch.
    pub hour: u64,
    /// The parameters of the last advert. Not in the stored form.
    #[serde(skip, default = "not_restored")]
    pub parameters: Arc<Parameters>,
    /// The record of the last advert.
    pub record: RecordRef,
}

impl State {
    /// How many adverts were recorded in the hour of `now`.
    pub fn adverts_in_hour_of(&self, now: TimestampMs) -> u64 {
        if self.hour == hour(now) {
            self.adverts
        } else {
            0
        }
    }
}

/// Decides what an advert is recorded with besides its facts.
///
/// # Errors
/// Why it is refused: X811-4001 while the ledger takes no descriptors or to another recipient,
/// CCN-4002 for another revision than the next.
fn derived(
    state: Option<&State>,
    Input { envelope, facts }: &Input<'_>,
    context: &Context<'_>,
) -> Result<Derived, Refusal> {
    let Facts::Capability(CapabilityFacts::Advertise(advert)) = facts else {
        return Err(Refusal::state("the message is no advert"));
    };
    if context.parameters.capabilities.is_none() {
        return Err(Refusal::guard(
            Code::InvalidStateTransition,
            "this ledger takes no descriptors of capabilities: register task types instead",
        ));
    }
    if envelope.to != context.ledger {
        return Err(Refusal::sender(format!(
            "a descriptor is published to everybody: set `to` to the ledger, {}",
            context.ledger
        )));
    }
    let due = state.map_or(1, |state| state.descriptor.revision + 1);
    if advert.revision != due {
        return Err(Refusal::guard(
            Code::NotYourTurn,
            format!(
                "revision is {} and the next is {due}: read the descriptor in force and publish \
                 again",
                advert.revision
            ),
        ));
    }
    Ok(Derived {
        parameters: Some(context.parameters_position),
        ..Derived::default()
    })
}

fn evolve(state: Option<State>, recorded: &Recorded<'_>) -> Result<State, Illegal> {
    let name = state.as_ref().map_or("none", |_| STATE);
    let illegal = |why| recorded.illegal(name, why);
    let Event::EnvelopeAccepted(accepted) = recorded.event else {
        return Err(illegal("the stream holds adverts only"));
    };
    let Facts::Capability(CapabilityFacts::Advertise(advert)) = &accepted.facts else {
        return Err(illegal("the stream holds adverts only"));
    };
    let parameters = recorded.parameters;
    let parameters = parameters.ok_or_else(|| illegal("its parameters are not known"))?;
    if parameters.capabilities.is_none() {
        return Err(illegal("the parameters in force take no descriptors"));
    }
    if advert.revision
        != state
            .as_ref()
            .map_or(1, |state| state.descriptor.revision + 1)
    {
        return Err(illegal("its revision is not the next"));
    }
    let before = state.map_or(0, |state| state.adverts_in_hour_of(recorded.recorded_at_ms));
    Ok(State {
        adverts: before + 1,
        agent: accepted.envelope.from,
        descriptor: (**advert).clone(),
        hour: hour(recorded.recorded_at_ms),
        parameters: parameters.clone(),
        record: RecordRef {
            envelope: accepted.envelope.id,
            hash: recorded.hash,
            position: recorded.position,
        },
    })
}

/// The one state there is.
pub const STATE: &str = "advertised";

impl Machine for Descriptor {
    type Id = Did;
    type State = State;
    type Context<'a> = Context<'a>;

    fn context<'a, V: LedgerView>(
        view: &'a V,
        _state: Option<&'a State>,
        _input: &Input<'a>,
    ) -> Result<Context<'a>, Refusal> {
        let (parameters_position, parameters) = view.parameters();
        Ok(Context {
            parameters,
            parameters_position,
            ledger: view.ledger(),
        })
    }

    fn decide(
        state: Option<&State>,
        input: &Input<'_>,
        context: &Context<'_>,
        _now: TimestampMs,
    ) -> Result<Conclusion, Refusal> {
        derived(state, input, context).map(Conclusion::Record)
    }

    fn evolve(state: Option<State>, recorded: &Recorded<'_>) -> Result<State, Illegal> {
        evolve(state, recorded)
    }

    fn window(_state: &State) -> Option<OpenWindow> {
        None
    }

    fn expire<V: LedgerView>(_state: &State, _view: &V) -> Option<Event> {
        None
    }

    fn is_terminal(_state: &State) -> bool {
        false
    }

    fn subject(id: Did) -> Subject {
        Subject::Descriptor(id)
    }

    fn id(state: &State) -> Did {
        state.agent
    }

    fn members(state: &State) -> Vec<Did> {
        vec![state.agent]
    }

    fn state_name(_state: &State) -> &'static str {
        STATE
    }

    fn detail(state: &State) -> impl Serialize {
        detail::Detail::of(state)
    }

    fn open_between(_state: &State) -> Option<(Did, Did)> {
        None
    }

    fn told(_before: &State, _event: &Event, _after: &State) -> Option<Told> {
        None
    }

    fn moves_with_downtime(_state: &State) -> bool {
        false
    }

    fn after_downtime(state: State, _gap_ms: u64, _back_at: TimestampMs) -> State {
        state
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

    /// Adverts in an hour of UTC (capability.md, "Parameters").
    fn limits<V: LedgerView>(
        view: &V,
        state: Option<&State>,
        _input: &Input<'_>,
    ) -> Result<(), Refusal> {
        let (_, parameters) = view.parameters();
        let (Some(block), Some(state)) = (parameters.capabilities.as_ref(), state) else {
            return Ok(());
        };
        let now = view.now();
        let adverts = state.adverts_in_hour_of(now);
        if adverts < block.adverts_per_hour {
            return Ok(());
        }
        let why =
            format!("{adverts} descriptors of yours were published this hour, which is the limit");
        let left_ms = HOUR_MS - now.as_ms() % HOUR_MS;
        let until = "the next hour of UTC has begun";
        Err(Refusal::exceeded(&why, until, left_ms))
    }

    fn state_after(_accepted: &EnvelopeAccepted) -> Option<&'static str> {
        Some(STATE)
    }

    fn opening(event: &Event) -> Option<BundleBasis> {
        let accepted = event.accepted()?;
        BundleBasis::by_message(accepted, vec![accepted.envelope.from])
    }

    const HAS_LINKS: bool = false;

    fn links(_event: &Event) -> Vec<Stream> {
        Vec::new()
    }

    fn erasable() -> Erasable {
        Erasable::Never(
            "a descriptor is public and is not erased: the agent publishes another revision",
        )
    }

    fn opens(_event: &Event) -> Option<Subject> {
        None
    }

    fn blocks<'a>(_state: Option<&'a State>, _event: &'a Event) -> Vec<NamedBlock<'a>> {
        Vec::new()
    }
}
