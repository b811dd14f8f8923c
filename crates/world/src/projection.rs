//! From a record to the rows that readers see: a pure function of the record and the world after
//! it. A rebuild runs the same function over the same log.

pub mod agents;
mod board;
pub(crate) mod conduct;
pub(crate) mod contract;
pub(crate) mod descriptor;
mod detail;
pub(crate) mod round;
pub(crate) mod session;

pub use board::Board;
pub use detail::Detail;

use crate::for_each_machine;
use crate::row::{DeadlineKind, DeliveryRow, InteractionRow, RowChange, StreamRow, SubjectRow};
use crate::world::{HeldMachine, Live, Touched, World};
use serde::Serialize;
use std::collections::HashMap;
use std::fmt::Debug;
use std::sync::Arc;
use x811_eventlog::Record;
use x811_protocol::did::Did;
use x811_protocol::envelope::AcceptedHeader;
use x811_protocol::event::{EnvelopeAccepted, Event};
use x811_protocol::facts::{ConsensusFacts, Facts};
use x811_protocol::id::InteractionId;
use x811_protocol::machine::Machine;
use x811_protocol::stream::Subject;
use x811_protocol::time::TimestampMs;

/// Most places of a record: in its stream, in the tree, in an inbox.
const PLACES_EACH: usize = 3;

/// The changes of a batch. Of an interaction only what it is at the end is kept, and its row is
/// made only when it is written.
#[derive(Debug, Default)]
pub struct Changes {
    places: Vec<RowChange>,
    interactions: HashMap<InteractionId, Arc<Live>>,
    subjects: HashMap<Subject, Arc<dyn Shown>>,
}

impl Changes {
    /// Makes room for those of that many records.
    pub fn make_room(&mut self, records: usize) {
        self.places.reserve(PLACES_EACH * records);
    }

    /// Notes the changes that `record` causes; `world` is the state after it.
    pub fn note(&mut self, world: &World, record: &Record, event: &Event, touched: &Touched) {
        self.places.extend([place(record), leaf(record)]);
        let delivered = deliveries(record, event, &readers(world, event, touched));
        self.places
            .extend(delivered.into_iter().map(RowChange::Delivery));
        self.places.extend(agents::changes(world, record, event));
        match touched {
            Touched::Nothing => {}
            Touched::Subject(Subject::Interaction(id)) => {
                let live = world.latest(*id).map(|live| (*id, live.clone()));
                self.interactions.extend(live);
            }
            Touched::Subject(Subject::Round(id)) => {
                let these = world.rounds_moved().iter().chain([id]);
                self.show(world, these.map(|id| Subject::Round(*id)));
            }
            Touched::Subject(subject) => self.show(world, [*subject]),
            Touched::EveryClock => {
                let every = world.interactions().map(|(id, live)| (*id, live.clone()));
                self.interactions.extend(every);
                self.show(world, world.moving());
            }
        }
    }

    fn show(&mut self, world: &World, subjects: impl IntoIterator<Item = Subject>) {
        let live = subjects.into_iter();
        let live = live.filter_map(|subject| Some((subject, shown(world, subject)?)));
        self.subjects.extend(live);
    }

    /// Adds the changes of the batch that follows.
    pub fn followed_by(&mut self, next: Changes) {
        self.places.extend(next.places);
        self.interactions.extend(next.interactions);
        self.subjects.extend(next.subjects);
    }

    /// True if no row changes.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The number of rows that change.
    pub fn len(&self) -> usize {
        self.places.len() + self.interactions.len() + self.subjects.len()
    }

    /// The rows as they are written.
    pub fn into_rows(self) -> Vec<RowChange> {
        let mut rows = self.places;
        let interactions = self.interactions.iter();
        rows.extend(interactions.map(|(id, live)| row(*id, live)));
        rows.extend(self.subjects.values().map(|live| live.row().into()));
        rows
    }
}

/// A state that is made into a row only when that is written.
trait Shown: Debug + Send + Sync {
    fn row(&self) -> SubjectRow;
}

/// How the states of each machine beside interactions are shown.
macro_rules! shown_by {
    ($($state:ty => $row:path,)+) => {
        $(impl Shown for Live<$state> {
            fn row(&self) -> SubjectRow {
                $row(self)
            }
        })+
    };
}

shown_by! {
    x811_protocol::contract::State => contract::row,
    x811_protocol::capability::descriptor::State => descriptor::row,
    x811_protocol::capability::session::State => session::row,
    x811_protocol::capability::agreement::State => session::agreement_row,
    x811_protocol::capability::conduct::State => conduct::row,
    x811_protocol::round::State => round::row,
}

macro_rules! shown {
    (interactions: Interaction($of:ty), $word:literal; $($held:ident: $subject:ident($machine:ty), $kind:literal;)+) => {
        /// A subject beside interactions as it stands; `world` is the state after its last record.
        fn shown(world: &World, subject: Subject) -> Option<Arc<dyn Shown>> {
            Some(match subject {
                Subject::Interaction(_) => return None,
                $(Subject::$subject(id) => <$machine>::of(world).latest(id)?.clone(),)+
            })
        }
    };
}

for_each_machine!(shown);

/// The row of a subject in some state: by its name, its open window's end and kind, and what is shown besides.
#[expect(clippy::expect_used, reason = "structs with string keys")]
fn row_of<M: Machine>(
    live: &Live<M::State>,
    state: &str,
    deadline: Option<(TimestampMs, DeadlineKind)>,
    detail: impl Serialize,
) -> SubjectRow {
    SubjectRow {
        subject: M::subject(M::id(&live.state)),
        state: state.to_owned(),
        members: M::members(&live.state),
        deadline_at_ms: deadline.map(|(at, _)| at),
        deadline_kind: deadline.map(|(_, kind)| kind),
        opened_at_ms: live.opened_at,
        updated_at_ms: live.updated_at,
        last_position: live.last_position,
        detail: serde_json::to_value(detail).expect("it holds strings, integers and objects only"),
    }
}

/// The row of a subject beside interactions; `world` is the state after its last record.
pub fn subject_row(world: &World, subject: Subject) -> Option<SubjectRow> {
    shown(world, subject).map(|live| live.row())
}

/// The changes that `record` causes; `world` is the state after it.
pub fn changes(world: &World, record: &Record, event: &Event, touched: &Touched) -> Vec<RowChange> {
    let mut changes = Changes::default();
    changes.note(world, record, event, touched);
    changes.into_rows()
}

fn place(record: &Record) -> RowChange {
    RowChange::StreamRecord(StreamRow {
        stream: record.stream().to_owned(),
        stream_seq: record.stream_seq(),
        position: record.position(),
    })
}

fn leaf(record: &Record) -> RowChange {
    RowChange::Leaf {
        position: record.position(),
        hash: record.hash(),
    }
}

/// Who gets a record beside whom it is addressed to: members of the round that it is about.
fn readers(world: &World, event: &Event, touched: &Touched) -> Vec<Did> {
    let Touched::Subject(Subject::Round(id)) = touched else {
        return Vec::new();
    };
    let Some(live) = world.latest_round(*id) else {
        return Vec::new();
    };
    let board = Board::of(&live.state);
    match world.told() {
        Some(news) => board.told(news, world.humans()),
        None => board.readers(event),
    }
}

/// To whom a record is delivered: accepted envelopes and notices to their `to`, identity messages to nobody,
/// and votes of rounds neither: whoever read an inbox would know them before they are counted (round.md).
/// What stands on the board of a round is delivered to `readers` too.
pub fn deliveries(record: &Record, event: &Event, readers: &[Did]) -> Vec<DeliveryRow> {
    let Some(envelope) = delivered(event) else {
        return Vec::new();
    };
    let row = |recipient| DeliveryRow {
        recipient,
        position: record.position(),
        envelope_id: envelope.id,
    };
    std::iter::once(envelope.to)
        .chain(readers.iter().copied())
        .map(row)
        .collect()
}

/// The envelope of a record that anybody gets.
fn delivered(event: &Event) -> Option<&AcceptedHeader> {
    match event {
        Event::EnvelopeAccepted(EnvelopeAccepted {
            facts: Facts::Consensus(ConsensusFacts::Vote(_) | ConsensusFacts::Reveal(_)),
            ..
        }) => None,
        Event::EnvelopeAccepted(accepted) => Some(&accepted.envelope),
        Event::NoticeIssued(notice) => Some(&notice.envelope),
        Event::Ledger(_)
        | Event::Network(_)
        | Event::Agent(_)
        | Event::Lapsed(_)
        | Event::Settlement(_)
        | Event::CycleDrawn(_)
        | Event::StateRoot(_)
        | Event::Effect(_) => None,
    }
}

fn row(id: InteractionId, live: &Live) -> RowChange {
    let detail = Detail::of(&live.state);
    RowChange::Interaction(Box::new(row_with(id, live, detail.to_text())))
}

/// The row of an interaction in some state.
pub fn interaction_row(id: InteractionId, live: &Live) -> InteractionRow {
    row_with(id, live, Detail::of(&live.state).to_value())
}

fn row_with<D>(id: InteractionId, live: &Live, detail: D) -> InteractionRow<D> {
    let opening = live.state.opening();
    InteractionRow {
        id,
        initiator: opening.initiator,
        provider: opening.provider,
        state: live.state.name().as_str().to_owned(),
        total: live.state.offer().map(|offer| offer.total),
        deadline_at_ms: live.state.deadline(),
        opened_at_ms: live.opened_at,
        updated_at_ms: live.updated_at,
        last_position: live.last_position,
        detail,
    }
}
