//! From a record to the rows that readers see: a pure function of the record and the world after
//! it. A rebuild runs the same function over the same log.

pub mod agents;
mod board;

pub use board::Board;

use crate::row::{DeliveryRow, RowChange, StreamRow, SubjectRow};
use crate::world::{Live, LiveSubject, Touched, World};
use serde::Serialize;
use serde_json::Value;
use std::collections::HashMap;
use x811_eventlog::{Record, write_canonical};
use x811_protocol::did::Did;
use x811_protocol::envelope::AcceptedHeader;
use x811_protocol::event::{EnvelopeAccepted, Event};
use x811_protocol::facts::{ConsensusFacts, Facts};
use x811_protocol::machine::Machine;
use x811_protocol::stream::Subject;

/// Most texts of details are shorter.
const TYPICAL_TEXT_BYTES: usize = 768;

/// Most places of a record: in its stream, in the tree, in an inbox.
const PLACES_EACH: usize = 3;

/// The changes of a batch. Of a subject only its state at the end is kept, and its row is made only when it
/// is written.
#[derive(Debug, Default)]
pub struct Changes {
    places: Vec<RowChange>,
    subjects: HashMap<Subject, LiveSubject>,
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
        let subjects = world.shown_anew(touched);
        let subjects =
            subjects.filter_map(|subject| Some((subject, world.latest_subject(subject)?)));
        self.subjects.extend(subjects);
    }

    /// Adds the changes of the batch that follows.
    pub fn followed_by(&mut self, next: Changes) {
        self.places.extend(next.places);
        self.subjects.extend(next.subjects);
    }

    /// True if no row changes.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The number of rows that change.
    pub fn len(&self) -> usize {
        self.places.len() + self.subjects.len()
    }

    /// The rows as they are written.
    pub fn into_rows(self) -> Vec<RowChange> {
        let mut rows = self.places;
        let subjects = self.subjects.values();
        rows.extend(subjects.map(|live| RowChange::Subject(Box::new(live.row()))));
        rows
    }
}

/// A form of the detail of a row.
pub trait DetailForm {
    /// Returns the detail in this form.
    fn of(detail: &impl Serialize) -> Self;
}

impl DetailForm for Value {
    #[expect(clippy::expect_used, reason = "structs with string keys")]
    fn of(detail: &impl Serialize) -> Value {
        let detail = serde_json::to_value(detail);
        let detail = detail.expect("it holds strings, integers, booleans and objects only");
        debug_assert!(detail.is_object(), "{detail}");
        detail
    }
}

/// The text that the value is written as.
impl DetailForm for String {
    fn of(detail: &impl Serialize) -> String {
        let mut text = Vec::with_capacity(TYPICAL_TEXT_BYTES);
        let written = write_canonical(&mut text, detail).ok();
        let text = written.and_then(|()| String::from_utf8(text).ok());
        // A number too large for a leaf, which no record brought.
        let text = text.unwrap_or_else(|| Value::of(detail).to_string());
        debug_assert_eq!(text, Value::of(detail).to_string());
        text
    }
}

/// The row of a subject in some state.
pub(crate) fn row_of<M: Machine, D: DetailForm>(live: &Live<M::State>) -> SubjectRow<D> {
    let state = &live.state;
    SubjectRow {
        subject: M::subject(M::id(state)),
        state: M::state_name(state).to_owned(),
        members: M::members(state),
        deadline_at_ms: M::deadline(state),
        opened_at_ms: live.opened_at,
        updated_at_ms: live.updated_at,
        last_position: live.last_position,
        detail: D::of(&M::detail(state)),
    }
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
