//! What every machine is, and the way of its messages: one trait, one `replay`, one `execute`.
//!
//! A machine says what its decisions read of the ledger (`context`), what it would record (`decide`),
//! what a record makes of its state (`evolve`) and when time alone will act (`window`, `expire`). It
//! never sees a clock or a database, and of other machines only the states that it asks a
//! [`LedgerView`] for. `Option<State>` stands for "not begun", so no machine needs a fake first state.
//!
//! Source: design.md section 6, ledger-contract.md section 1.

mod basis;
mod erasable;
mod named_block;
mod view;
mod window;

pub use basis::BundleBasis;
pub(crate) use erasable::ONCE_CLOSED;
pub use erasable::{Erasable, ErasureWords};
pub use named_block::NamedBlock;
pub use view::{AgentView, LedgerView, SchemaFit};
pub use window::{OpenWindow, WindowEnd};

use crate::code::Code;
use crate::did::Did;
use crate::digest::Digest;
use crate::envelope::AcceptedHeader;
use crate::event::{Derived, EnvelopeAccepted, Event};
use crate::facts::Facts;
use crate::id::EnvelopeId;
use crate::parameters::{Limits, Parameters, PayerBindingRule, Windows};
use crate::refusal::Refusal;
use crate::stream::{Stream, Subject};
use crate::time::TimestampMs;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::fmt::Debug;
use std::sync::{Arc, LazyLock};

/// Stands where parameters have not been put back: no payment can be made under them.
static NOT_RESTORED: LazyLock<Arc<Parameters>> = LazyLock::new(|| {
    Arc::new(Parameters {
        windows: Windows::AEEP,
        looks_ms: [0; 4],
        networks: Vec::new(),
        payer_binding: PayerBindingRule::Wallet,
        limits: Limits::DEFAULT,
        lenient: Vec::new(),
        contracts: None,
        capabilities: None,
        rounds: None,
    })
});

/// Subjects share the parameters they were opened under; the stored form of a state leaves them out,
/// and whoever reads it puts the shared ones back.
pub(crate) fn not_restored() -> Arc<Parameters> {
    NOT_RESTORED.clone()
}

/// An event together with the place it was recorded at: what `evolve` may look at.
#[derive(Debug, Clone, Copy)]
pub struct Recorded<'a> {
    /// The event that was recorded.
    pub event: &'a Event,
    /// Place in the log.
    pub position: u64,
    /// Hash of the record.
    pub hash: Digest,
    /// The ledger's clock when it was decided.
    pub recorded_at_ms: TimestampMs,
    /// The parameters the event's stream was opened under, where the event opens one.
    pub parameters: Option<&'a Arc<Parameters>>,
}

impl Recorded<'_> {
    /// That the event is not possible in the state of that name.
    pub(crate) fn illegal(&self, state: &'static str, why: &'static str) -> Illegal {
        Illegal {
            position: self.position,
            state,
            event: self.event.type_name(),
            why,
        }
    }

    /// The envelope that the event accepted, with its record.
    pub(crate) const fn record_ref(&self, accepted: &EnvelopeAccepted) -> RecordRef {
        RecordRef {
            envelope: accepted.envelope.id,
            hash: self.hash,
            position: self.position,
        }
    }
}

/// An authenticated message about a subject of a machine.
#[derive(Debug, Clone, Copy)]
pub struct Input<'a, F = Facts> {
    /// Its header as it would be recorded.
    pub envelope: &'a AcceptedHeader,
    /// What it says.
    pub facts: &'a F,
}

/// The decision on a message that is not refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Conclusion<D = Derived> {
    /// The message is recorded, with these derived members.
    Record(D),
    /// Its sender has sent the same message before: it is answered from the record at `first`.
    Repeat {
        /// Position of the first record.
        first: u64,
    },
}

/// A stored history that the machine's rules do not allow. A stored log is input: this is reported,
/// never a panic.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("position {position}: {event} is not possible in state {state}: {why}")]
pub struct Illegal {
    /// Place in the log.
    pub position: u64,
    /// Name of the state the event met; `none` before the first.
    pub state: &'static str,
    /// The event's type.
    pub event: &'static str,
    /// What rule it breaks.
    pub why: &'static str,
}

/// A pure state machine over the records of its subjects' streams (machines.md section 2).
pub trait Machine: Sized + 'static {
    /// The name of a subject.
    type Id: Copy + Ord + Debug + Serialize + DeserializeOwned;
    /// The sum of a subject's records so far. It is hashed in its serialized form, in which every member is
    /// present: an absent value is `null` (STATES.md).
    type State: Clone + Debug + PartialEq + Serialize + DeserializeOwned;
    /// Everything a decision reads besides the subject's own state.
    type Context<'a>;

    /// Collects what the decision about `input` in `state` reads of the ledger.
    ///
    /// # Errors
    /// The refusal to answer with where that cannot be read yet.
    fn context<'a, V: LedgerView>(
        view: &'a V,
        state: Option<&'a Self::State>,
        input: &Input<'a>,
    ) -> Result<Self::Context<'a>, Refusal>;

    /// Decides `input` in `state`: returns what is recorded with it, or the record that it repeats.
    ///
    /// # Errors
    /// The refusal to answer with; nothing is recorded then.
    fn decide(
        state: Option<&Self::State>,
        input: &Input<'_>,
        context: &Self::Context<'_>,
        now: TimestampMs,
    ) -> Result<Conclusion, Refusal>;

    /// The state after `recorded`.
    ///
    /// # Errors
    /// When the history is not one that `decide` could have written.
    fn evolve(state: Option<Self::State>, recorded: &Recorded<'_>) -> Result<Self::State, Illegal>;

    /// Returns the window that is open; `None` while time alone causes nothing.
    fn window(state: &Self::State) -> Option<OpenWindow>;

    /// Returns the last moment before time alone acts.
    fn deadline(state: &Self::State) -> Option<TimestampMs> {
        Self::window(state).map(|window| window.ends_at)
    }

    /// Returns the event that the end of the open window causes.
    fn expire<V: LedgerView>(state: &Self::State, view: &V) -> Option<Event>;

    /// True if no message can change the state any more.
    fn is_terminal(state: &Self::State) -> bool;

    /// Returns the subject of that id.
    fn subject(id: Self::Id) -> Subject;

    /// Returns the id of the subject.
    fn id(state: &Self::State) -> Self::Id;

    /// Returns the members: the agents that may read the subject and are notified of its lapses.
    fn members(state: &Self::State) -> Vec<Did>;

    /// Returns the name of the state, as rows and answers spell it.
    fn state_name(state: &Self::State) -> &'static str;

    /// Returns the part of a row that only this machine has: one JSON object.
    fn detail(state: &Self::State) -> impl Serialize;

    /// Returns the agent that counts the subject as open, and with whom; `None` once it is not. Limits are
    /// on both.
    fn open_between(state: &Self::State) -> Option<(Did, Did)>;

    /// Returns the notice of an event that every member gets, if there is one.
    fn told(before: &Self::State, event: &Event, after: &Self::State) -> Option<Told>;

    /// True if downtime of the ledger changes the state: a window of the ledger's is open.
    fn moves_with_downtime(state: &Self::State) -> bool;

    /// The state once the ledger was away for that long until `back_at`.
    fn after_downtime(state: Self::State, gap_ms: u64, back_at: TimestampMs) -> Self::State;

    /// The parameters it was opened under and keeps.
    fn parameters(state: &Self::State) -> &Arc<Parameters>;

    /// A state that was read from its stored form, with these parameters put back.
    fn with_parameters(state: Self::State, parameters: Arc<Parameters>) -> Self::State;

    /// Refuses a message for which the limits on its sender leave no room. It is asked before lapses that
    /// are due and before the decision.
    ///
    /// # Errors
    /// X811-9001.
    fn limits<V: LedgerView>(
        view: &V,
        state: Option<&Self::State>,
        input: &Input<'_>,
    ) -> Result<(), Refusal>;

    /// Returns the name of the state that an accepted message leads to, if its record alone says it.
    fn state_after(accepted: &EnvelopeAccepted) -> Option<&'static str>;

    /// Returns what the first record of a subject says of the streams that its replay rests on; `None` for an
    /// event that begins no subject. A message that opens one names the parameters in force in what is derived
    /// of it, also where the machine has none of its own.
    fn opening(event: &Event) -> Option<BundleBasis>;

    /// True if records of its subjects rest on streams besides those of the opening. [`Machine::links`] is asked
    /// only where this is true.
    const HAS_LINKS: bool;

    /// Returns the streams that the record of an event rests on, besides those of the opening: what a bundle
    /// brings (machines.md section 10).
    fn links(event: &Event) -> Vec<Stream>;

    /// Returns when bodies about a subject may be erased.
    fn erasable() -> Erasable;

    /// Returns the subject that an event opens or makes out of this one, and which must be over before bodies of
    /// this one are erased.
    fn opens(event: &Event) -> Option<Subject>;

    /// Returns the blocks that an event names; `state` is that before it.
    fn blocks<'a>(state: Option<&'a Self::State>, event: &'a Event) -> Vec<NamedBlock<'a>>;
}

/// An envelope of a subject and the record that holds it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RecordRef {
    /// Id of the envelope.
    pub envelope: EnvelopeId,
    /// Hash of the record.
    pub hash: Digest,
    /// Place in the log.
    pub position: u64,
}

/// What the parties of a subject are told of one of its records.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Told {
    /// The code, if there is one; an `x811/error` has one.
    pub code: Option<Code>,
    /// Members of the notice's payload besides those that every notice has, or in place of them.
    pub more: Option<Arc<Map<String, Value>>>,
    /// What happened, where it is told by a `notice` of the machine's own namespace.
    pub news: Option<News>,
    /// The message that opened the window (AX-32), if one did.
    pub related: Option<EnvelopeId>,
}

impl Told {
    /// By an `x811/error`.
    pub const fn error(code: Code, related: EnvelopeId) -> Told {
        Told {
            code: Some(code),
            more: None,
            news: None,
            related: Some(related),
        }
    }

    /// The same with a message in place of the one that its code has.
    #[must_use]
    pub fn with_message(self, message: &str) -> Told {
        let more = Map::from_iter([("message".to_owned(), message.into())]);
        Told {
            more: Some(Arc::new(more)),
            ..self
        }
    }

    /// By a notice of the machine's namespace (machines.md section 8).
    pub const fn news(news: News, code: Option<Code>, related: Option<EnvelopeId>) -> Told {
        Told {
            code,
            more: None,
            news: Some(news),
            related,
        }
    }
}

/// What happened to a subject, as notices name it: by the type of the event.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum News {
    /// A window passed.
    Lapsed,
    /// A session ended without anybody's message.
    SessionClosed,
    /// An agent may open no sessions.
    Excluded,
    /// It may again.
    ExclusionLifted,
    /// Votes are taken in a round from here.
    RoundOpened,
    /// The outcome of a round.
    RoundDecided,
    /// Humans are asked about a round.
    RoundEscalated,
    /// Something was noticed in a round.
    AnomalyNoted,
}

/// Where one stream's events go as they are decided: seals, evolves, keeps.
pub trait Journal<M: Machine> {
    /// The reason why an event cannot be recorded: a defect that must stop the writer.
    type Fault: From<Illegal>;

    /// The ledger as of now, everything recorded so far included.
    type View<'a>: LedgerView
    where
        Self: 'a;

    /// The state after everything recorded so far.
    fn state(&self) -> Option<&M::State>;

    /// Returns the view that decisions read.
    ///
    /// # Errors
    /// The refusal of every message before the ledger has parameters.
    fn view(&self) -> Result<Self::View<'_>, Refusal>;

    /// Records `event`, evolves the state with it, and returns the position of its record.
    ///
    /// # Errors
    /// When `evolve` or the log refuses what was decided.
    fn record(&mut self, event: Event) -> Result<u64, Self::Fault>;
}

/// The record that a message is answered from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AnswerRecord {
    /// The message's own record, at that position.
    New(u64),
    /// The record at that position, which the message repeats.
    Repeated(u64),
}

/// What `execute` did.
#[derive(Debug)]
pub struct Execution {
    /// Codes of the lapses that were due and have been recorded first.
    pub lapses: Vec<Code>,
    /// The record that answers the message, or its refusal.
    pub outcome: Result<AnswerRecord, Refusal>,
}

/// Applies due lapses, then decides `input` and records it. What the decision reads is collected
/// after the lapses, and nothing of it is held while a record is made.
///
/// A lapse is recorded even when the input is then refused; an input that finds the lapse that
/// closed its stream is answered with the lapse's code (ledger-contract.md section 1.3).
///
/// # Errors
/// The fault of the journal, when it refuses what `decide` or `expire` produced.
pub fn execute<M: Machine, J: Journal<M>>(
    journal: &mut J,
    input: &Input<'_>,
    now: TimestampMs,
) -> Result<Execution, J::Fault> {
    let lapses = lapse_due(journal, now)?;
    if let Some(code) = lapses.last()
        && journal.state().is_some_and(M::is_terminal)
    {
        let outcome = Err(Refusal::lapsed(*code));
        return Ok(Execution { lapses, outcome });
    }
    let outcome = match conclude(journal, input, now) {
        Ok(Conclusion::Record(derived)) => {
            let event = Event::EnvelopeAccepted(EnvelopeAccepted {
                derived,
                envelope: input.envelope.clone(),
                facts: input.facts.clone(),
            });
            Ok(AnswerRecord::New(journal.record(event)?))
        }
        Ok(Conclusion::Repeat { first }) => Ok(AnswerRecord::Repeated(first)),
        Err(refusal) => Err(refusal),
    };
    Ok(Execution { lapses, outcome })
}

/// Collects what the decision about `input` reads, and decides.
fn conclude<M: Machine, J: Journal<M>>(
    journal: &J,
    input: &Input<'_>,
    now: TimestampMs,
) -> Result<Conclusion, Refusal> {
    let view = journal.view()?;
    let state = journal.state();
    let context = M::context(&view, state, input)?;
    M::decide(state, input, &context, now)
}

/// Records every lapse that is due at `now` and returns their codes.
///
/// # Errors
/// The fault of the journal, when it refuses the lapse.
pub fn lapse_due<M: Machine, J: Journal<M>>(
    journal: &mut J,
    now: TimestampMs,
) -> Result<Vec<Code>, J::Fault> {
    let mut lapses = Vec::new();
    while let Some(event) = lapse_next(journal, now)? {
        if let Event::Lapsed(lapsed) = &event {
            lapses.push(lapsed.code);
        }
    }
    Ok(lapses)
}

/// Records the lapse that is due first at `now` and returns its event; `None` where nothing is due.
///
/// # Errors
/// The fault of the journal, when it refuses the lapse.
pub fn lapse_next<M: Machine, J: Journal<M>>(
    journal: &mut J,
    now: TimestampMs,
) -> Result<Option<Event>, J::Fault> {
    let due = journal.state().filter(|state| {
        let deadline = M::deadline(state);
        deadline.is_some_and(|deadline| now > deadline)
    });
    let event = due.and_then(|state| M::expire(state, &journal.view().ok()?));
    if let Some(event) = &event {
        journal.record(event.clone())?;
    }
    Ok(event)
}

/// The state that a whole stream leads to.
///
/// # Errors
/// The first event that the rules do not allow.
pub fn replay<'a, M: Machine>(
    records: impl IntoIterator<Item = Recorded<'a>>,
) -> Result<Option<M::State>, Illegal> {
    records.into_iter().try_fold(None, |state, recorded| {
        M::evolve(state, &recorded).map(Some)
    })
}
