//! What a turn promises every machine (design.md section 6), shown by a small one that is in no ledger: an agent
//! counts up to three within a minute, and after each lapse from one again, twice at most.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test that panics has failed"
)]

use crate::interaction::messages::{INITIATOR, PROVIDER, header};
use crate::interaction::world::{World, parameters};
use serde::{Deserialize, Serialize};
use std::sync::{Arc, LazyLock};
use x811_protocol::code::Code;
use x811_protocol::did::Did;
use x811_protocol::digest::Digest;
use x811_protocol::envelope::{AcceptedHeader, CoreType};
use x811_protocol::event::{Derived, EnvelopeAccepted, Event, Lapsed, LapsedWindow, SessionWindow};
use x811_protocol::facts::{CustomFacts, Facts};
use x811_protocol::id::{EnvelopeId, InteractionId, SessionId};
use x811_protocol::machine::{
    AgentView, AnswerRecord, BundleBasis, Conclusion, Erasable, Execution, Illegal, Input, Journal,
    LedgerView, Machine, NamedBlock, OpenWindow, Recorded, SchemaFit, Told, WindowEnd, execute,
    lapse_due, replay,
};
use x811_protocol::observation::NetworkHead;
use x811_protocol::parameters::Parameters;
use x811_protocol::refusal::Refusal;
use x811_protocol::stream::{self, Subject};
use x811_protocol::time::TimestampMs;

const WINDOW_MS: u64 = 60_000;

/// The machine; it has no values, its state is [`State`].
enum Count {}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct State {
    id: SessionId,
    /// Messages since the last lapse; the first is at that position.
    counted: u64,
    first: u64,
    lapses: u64,
    ends_at: TimestampMs,
}

const LAPSED: Lapsed = Lapsed {
    window: LapsedWindow::Session(SessionWindow::Session),
    code: Code::ResultTimeout,
};

impl Machine for Count {
    type Id = SessionId;
    type State = State;
    /// Records of the stream when the context was collected.
    type Context<'a> = u64;

    fn context<'a, V: LedgerView>(
        view: &'a V,
        _state: Option<&'a State>,
        input: &Input<'a>,
    ) -> Result<u64, Refusal> {
        Ok(view.trust_hundredths(input.envelope.from))
    }

    fn decide(
        state: Option<&State>,
        _input: &Input<'_>,
        records: &u64,
        now: TimestampMs,
    ) -> Result<Conclusion, Refusal> {
        match state {
            Some(state) if state.counted == 3 => Ok(Conclusion::Repeat { first: state.first }),
            Some(state) if state.counted == 2 && *records == 2 => {
                Err(Refusal::state("no window has passed yet"))
            }
            Some(_) | None => Ok(Conclusion::Record(Derived {
                deadline_at_ms: Some(now.saturating_add_ms(WINDOW_MS)),
                authority: Some(*records),
                ..Derived::default()
            })),
        }
    }

    fn evolve(state: Option<State>, recorded: &Recorded<'_>) -> Result<State, Illegal> {
        match (state, recorded.event) {
            (None, Event::EnvelopeAccepted(accepted)) => Ok(State {
                id: accepted.envelope.id.into(),
                counted: 1,
                first: recorded.position,
                lapses: 0,
                ends_at: recorded.recorded_at_ms.saturating_add_ms(WINDOW_MS),
            }),
            (Some(state), Event::EnvelopeAccepted(_)) if state.lapses < 2 => Ok(State {
                counted: state.counted + 1,
                ..state
            }),
            (Some(state), lapsed) if *lapsed == Event::Lapsed(LAPSED) && state.lapses < 2 => {
                Ok(State {
                    counted: 0,
                    lapses: state.lapses + 1,
                    ends_at: state.ends_at.saturating_add_ms(WINDOW_MS),
                    ..state
                })
            }
            (_, event) => Err(Illegal {
                position: recorded.position,
                state: "counting",
                event: event.type_name(),
                why: "it is over after two lapses",
            }),
        }
    }

    fn window(state: &State) -> Option<OpenWindow> {
        (state.lapses < 2).then_some(OpenWindow {
            ends_at: state.ends_at,
            name: "the window for a count",
            end: WindowEnd::Lapse(LAPSED),
        })
    }

    fn expire<V: LedgerView>(state: &State, _view: &V) -> Option<Event> {
        (state.lapses < 2).then_some(Event::Lapsed(LAPSED))
    }

    fn is_terminal(state: &State) -> bool {
        state.lapses == 2
    }

    fn subject(id: SessionId) -> Subject {
        Subject::Session(id)
    }

    fn id(state: &State) -> SessionId {
        state.id
    }

    fn members(_state: &State) -> Vec<Did> {
        vec![*INITIATOR, *PROVIDER]
    }

    fn state_name(_state: &State) -> &'static str {
        "counting"
    }

    fn detail(state: &State) -> impl Serialize {
        serde_json::json!({ "counted": state.counted })
    }

    fn open_between(state: &State) -> Option<(Did, Did)> {
        (state.lapses < 2).then_some((*INITIATOR, *PROVIDER))
    }

    fn told(_before: &State, _event: &Event, _after: &State) -> Option<Told> {
        None
    }

    fn moves_with_downtime(state: &State) -> bool {
        state.lapses < 2
    }

    fn after_downtime(state: State, gap_ms: u64, _back_at: TimestampMs) -> State {
        State {
            ends_at: state.ends_at.saturating_add_ms(gap_ms),
            ..state
        }
    }

    fn parameters(_state: &State) -> &Arc<Parameters> {
        &PARAMETERS
    }

    fn with_parameters(state: State, _parameters: Arc<Parameters>) -> State {
        state
    }

    fn limits<V: LedgerView>(
        _view: &V,
        _state: Option<&State>,
        _input: &Input<'_>,
    ) -> Result<(), Refusal> {
        Ok(())
    }

    fn state_after(_accepted: &EnvelopeAccepted) -> Option<&'static str> {
        Some("counting")
    }

    fn opening(_event: &Event) -> Option<BundleBasis> {
        None
    }

    fn erasable() -> Erasable {
        Erasable::Never("nothing of a count is erased")
    }

    fn opens(_event: &Event) -> Option<Subject> {
        None
    }

    fn blocks<'a>(_state: Option<&'a State>, _event: &'a Event) -> Vec<NamedBlock<'a>> {
        Vec::new()
    }

    const HAS_LINKS: bool = false;

    fn links(_event: &Event) -> Vec<stream::Stream> {
        Vec::new()
    }
}

static PARAMETERS: LazyLock<Arc<Parameters>> = LazyLock::new(|| Arc::new(parameters()));

/// A stream and the state that it has led to.
#[derive(Default)]
struct Stream {
    events: Vec<(Event, TimestampMs)>,
    state: Option<State>,
    now: TimestampMs,
    /// Whether the log refuses everything.
    is_full: bool,
}

/// A defect of the log.
#[derive(Debug)]
enum Fault {
    Illegal,
    Full,
}

impl From<Illegal> for Fault {
    fn from(_illegal: Illegal) -> Fault {
        Fault::Illegal
    }
}

impl Journal<Count> for Stream {
    type Fault = Fault;
    type View<'a> = View<'a>;

    fn state(&self) -> Option<&State> {
        self.state.as_ref()
    }

    fn view(&self) -> Result<View<'_>, Refusal> {
        Ok(View(self))
    }

    fn record(&mut self, event: Event) -> Result<u64, Fault> {
        if self.is_full {
            return Err(Fault::Full);
        }
        let position = self.events.len() as u64;
        self.events.push((event, self.now));
        let recorded = recorded(position, &self.events[self.events.len() - 1]);
        self.state = Some(Count::evolve(self.state.take(), &recorded)?);
        Ok(position)
    }
}

fn recorded(position: u64, (event, at): &(Event, TimestampMs)) -> Recorded<'_> {
    Recorded {
        event,
        position,
        hash: Digest::ZERO,
        recorded_at_ms: *at,
        parameters: None,
    }
}

/// A ledger that has this stream alone; trust in anybody is how many records it has.
struct View<'a>(&'a Stream);

impl LedgerView for View<'_> {
    fn now(&self) -> TimestampMs {
        self.0.now
    }

    fn ledger(&self) -> Did {
        *PROVIDER
    }

    fn parameters(&self) -> (u64, &Parameters) {
        (0, &PARAMETERS)
    }

    fn agent(&self, _did: Did) -> Option<AgentView<'_>> {
        None
    }

    fn is_excluded(&self, _did: Did) -> bool {
        false
    }

    fn trust_hundredths(&self, _did: Did) -> u64 {
        self.0.events.len() as u64
    }

    fn heads(&self) -> Vec<NetworkHead> {
        Vec::new()
    }

    fn height(&self, _network: &str) -> Option<u64> {
        None
    }

    fn state<M: Machine>(&self, _id: M::Id) -> Option<&M::State> {
        None
    }

    fn open<M: Machine>(&self, _by: Did, _with: Option<Did>) -> u64 {
        0
    }

    fn states<M: Machine>(&self) -> impl Iterator<Item = &M::State> {
        std::iter::empty()
    }

    fn deliveries_charged(&self, _proposer: Did) -> u64 {
        0
    }

    fn requested_under(&self, _: &AcceptedHeader, _key: EnvelopeId) -> Option<InteractionId> {
        None
    }

    fn fit(&self, _schema: Digest) -> SchemaFit {
        SchemaFit::Fits
    }
}

impl Stream {
    fn after_messages(count: usize) -> Stream {
        let mut stream = Stream::default();
        for position in 0..count {
            let execution = stream.take();
            assert!(execution.lapses.is_empty());
            let at = position as u64;
            assert_eq!(execution.outcome, Ok(AnswerRecord::New(at)));
        }
        stream
    }

    fn take(&mut self) -> Execution {
        self.try_take().unwrap()
    }

    fn try_take(&mut self) -> Result<Execution, Fault> {
        let now = self.now;
        let mut ledger = World::new();
        let number = ledger.add_stream();
        let message = ledger.draft(number, CoreType::Request);
        let id = EnvelopeId::from_parts(now.as_ms(), &[0x11; 10]);
        let envelope = header(id, &message, now);
        let facts = Facts::Custom(CustomFacts {
            payload_hash: Digest::ZERO,
        });
        let input = Input {
            envelope: &envelope,
            facts: &facts,
        };
        execute::<Count, _>(self, &input, now)
    }

    fn types(&self) -> Vec<&'static str> {
        let events = self.events.iter();
        events.map(|(event, _)| event.type_name()).collect()
    }
}

/// Decision 0305: what a decision reads is collected behind the lapses of its own subject.
#[test]
fn design_6_the_context_is_collected_after_the_lapses() {
    let mut stream = Stream::after_messages(2);
    let refused = stream.take().outcome.unwrap_err();
    assert_eq!(refused.message, "no window has passed yet");
    assert_eq!(stream.types().len(), 2, "a refusal leaves no record");

    stream.now = TimestampMs::new(WINDOW_MS + 1);
    let execution = stream.take();
    assert_eq!(execution.lapses, [Code::ResultTimeout]);
    assert_eq!(execution.outcome, Ok(AnswerRecord::New(3)));
    let Event::EnvelopeAccepted(accepted) = &stream.events[3].0 else {
        panic!("{:?}", stream.types());
    };
    assert_eq!(accepted.derived.authority, Some(3), "the lapse is counted");
}

#[test]
fn design_6_a_message_that_finds_the_end_of_its_subject_is_told_why() {
    let mut stream = Stream::after_messages(1);
    stream.now = TimestampMs::new(3 * WINDOW_MS);
    let execution = stream.take();
    assert_eq!(execution.lapses, [Code::ResultTimeout; 2]);
    assert_eq!(execution.outcome, Err(Refusal::lapsed(Code::ResultTimeout)));
    assert_eq!(
        stream.types(),
        ["envelope_accepted", "lapsed", "lapsed"],
        "the lapses stay"
    );
    assert_eq!(
        lapse_due::<Count, _>(&mut stream, TimestampMs::MAX).unwrap(),
        []
    );
}

#[test]
fn design_6_a_repeat_is_answered_from_the_first_record_and_leaves_none() {
    let mut stream = Stream::after_messages(1);
    stream.now = TimestampMs::new(WINDOW_MS + 1);
    for position in 2..5 {
        assert_eq!(stream.take().outcome, Ok(AnswerRecord::New(position)));
    }
    assert_eq!(stream.take().outcome, Ok(AnswerRecord::Repeated(0)));
    assert_eq!(stream.types().len(), 5);
}

#[test]
fn design_6_a_log_that_takes_nothing_stops_the_turn() {
    let mut stream = Stream::after_messages(1);
    stream.is_full = true;
    assert!(matches!(stream.try_take(), Err(Fault::Full)));
    stream.now = TimestampMs::new(WINDOW_MS + 1);
    assert!(
        matches!(stream.try_take(), Err(Fault::Full)),
        "at the lapse"
    );
    assert_eq!(stream.types(), ["envelope_accepted"]);
}

#[test]
fn design_6_the_records_alone_lead_to_the_state() {
    let mut stream = Stream::after_messages(2);
    stream.now = TimestampMs::new(WINDOW_MS + 1);
    stream.take();
    let records = (0..).zip(&stream.events);
    let records = records.map(|(position, event)| recorded(position, event));
    assert_eq!(replay::<Count>(records).unwrap(), stream.state);
    let forged = [(0, &stream.events[2])];
    let forged = forged.map(|(position, event)| recorded(position, event));
    let illegal = replay::<Count>(forged).unwrap_err();
    assert_eq!((illegal.position, illegal.event), (0, "lapsed"));
}
