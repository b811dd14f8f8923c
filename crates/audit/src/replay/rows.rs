//! What readers should see, folded from the log as the projection does it.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use foldhash::fast::RandomState;
use serde_json::Value;
use x811_protocol::canonical::{members_to_canonical, to_canonical};
use x811_protocol::code::Code;
use x811_protocol::did::Did;
use x811_protocol::digest::Digest;
use x811_protocol::event::{Event, LedgerEvent};
use x811_protocol::facts::{ConsensusFacts, Facts};
use x811_protocol::id::{InteractionId, RoundId};
use x811_protocol::interaction::StateName;
use x811_protocol::machine::{Machine as _, News};
use x811_protocol::parameters::Rounds;
use x811_protocol::round;
use x811_protocol::time::TimestampMs;

use crate::record::examine::Whole;
use crate::record::numbered::{Keyed, Numbered};
use crate::record::places::{Body, Erasable, Places, RowPlace};
use x811_eventlog::Record;
use x811_protocol::stream::{Stream, Subject};
use x811_world::erasure::{erasable_profile, is_disputed};
use x811_world::projection::{Board, deliveries};
use x811_world::row::SubjectRow;
use x811_world::{LiveSubject, Touched, World, with_machine};

pub use crate::record::numbered::Number;
pub use crate::record::places::Lists;
pub use crate::replay::agent_rows::AgentRows;

/// A row as it should be.
#[derive(Debug)]
pub struct Expected {
    /// Position of the record that opened the subject.
    pub opened_position: u64,
    /// The row, with the digests of its detail in place of it.
    pub row: SubjectRow<Digests>,
    pub(crate) standing: Option<Standing>,
}

/// A row in memory. Agents and names are their numbers.
#[derive(Debug, Clone)]
struct PackedRow {
    state: Number,
    members: Box<[Number]>,
    deadline_at_ms: Option<TimestampMs>,
    opened_at_ms: TimestampMs,
    updated_at_ms: TimestampMs,
    last_position: u64,
    detail: Box<[(Number, MemberDigest)]>,
    /// `None` for a subject that is no interaction.
    standing: Option<Standing>,
}

/// The members of an interaction that are added up, in addition to those of its row.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Standing {
    pub(crate) state: StateName,
    /// The reason why it ended, where it is a code.
    pub(crate) code: Option<Code>,
    /// In dispute, or paid by a transfer that disappeared.
    is_disputed: bool,
}

impl Standing {
    fn of(live: &LiveSubject) -> Option<Standing> {
        let LiveSubject::Interaction(live) = live else {
            return None;
        };
        Some(Standing {
            state: live.state.name(),
            code: live.state.closing_code(),
            is_disputed: is_disputed(&live.state),
        })
    }
}

/// Sixteen bytes of SHA-256 over a member of a detail in canonical form.
pub type MemberDigest = [u8; 16];

/// Digests of the members of a detail, by name.
pub type Digests = BTreeMap<Box<str>, MemberDigest>;

/// Returns the digest of each member of a detail.
pub fn digests(detail: &Value) -> Digests {
    let members = detail.as_object().into_iter().flatten();
    members
        .map(|(name, value)| (name.as_str().into(), digest(value)))
        .collect()
}

fn digest(member: &Value) -> MemberDigest {
    let digest = match member {
        Value::Object(members) => Digest::of(&members_to_canonical(members)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => {
            Digest::of(&to_canonical(member))
        }
    };
    let bytes = digest.as_bytes();
    std::array::from_fn(|at| bytes[at])
}

/// Everything that rows should hold after the records so far.
#[derive(Debug, Clone, Default)]
pub struct Rows {
    subjects: Numbered<KnownSubject>,
    dids: Numbered<Did>,
    /// Names of states and of members of details.
    names: Numbered<Box<str>>,
    /// Positions delivered, and those in streams of subjects.
    places: Places,
    /// Deliveries of records that have several, behind the first of each, in order of position.
    further: Vec<(u64, Number)>,
    /// Who takes part in the rounds so far, and the parameters that each was opened under.
    boards: HashMap<RoundId, (Board, Arc<Rounds>), RandomState>,
    /// Records of rounds whose notices are owed, and what they tell.
    telling: BTreeMap<u64, News>,
    /// The parameters of rounds in force, if there are any.
    rounds: Option<Arc<Rounds>>,
    /// Positions in all other streams.
    pub(crate) others: HashMap<Box<str>, Vec<u64>, RandomState>,
    /// The subjects that others opened or made.
    opened: BTreeMap<Subject, Subject>,
    /// Position of the last record that moved the clocks of all.
    pub(crate) last_every_clock: Option<u64>,
}

/// A subject that has a stream.
#[derive(Debug, Clone)]
struct KnownSubject {
    subject: Subject,
    /// Position of the record that opened it.
    opened_position: u64,
    /// The row of the subject, once the world no longer holds it.
    row: Option<PackedRow>,
}

// Each takes this much while the log is read, however short its records are.
const _: () = assert!(size_of::<KnownSubject>() <= 112);

impl Keyed for KnownSubject {
    type Key = Subject;

    fn key(&self) -> &Subject {
        &self.subject
    }
}

impl Keyed for Box<str> {
    type Key = Box<str>;

    fn key(&self) -> &Box<str> {
        self
    }
}

impl Keyed for Did {
    type Key = Did;

    fn key(&self) -> &Did {
        self
    }
}

impl Rows {
    /// Folds what every record leaves, also one that was not applied.
    pub(crate) fn note(&mut self, whole: &Whole) {
        let (record, event) = (&whole.record, &whole.event);
        let position = record.position();
        let mut place = RowPlace {
            is_held: true,
            ..RowPlace::default()
        };
        if let Some(Stream::Of(subject)) = whole.stream {
            place.subject = Some(self.enter(subject, position));
            place.body = erasable_profile(event).map(|profile| Body {
                profile,
                is_there: whole.body.is_some(),
            });
            self.note_opened(subject, event);
        } else if whole.stream.is_some() {
            let positions = self.others.entry(record.stream().into()).or_default();
            positions.push(position);
        }
        let readers = match whole.stream {
            Some(Stream::Of(Subject::Round(id))) => self.readers(id, position, event),
            Some(_) | None => Vec::new(),
        };
        if let Event::Ledger(LedgerEvent::ParametersSet(parameters)) = event {
            self.rounds = parameters.rounds.clone();
        }
        let mut delivered = deliveries(record, event, &readers).into_iter();
        let first = delivered.next();
        place.recipient = first.map(|first| self.dids.enter(first.recipient).number);
        for further in delivered {
            let number = self.dids.enter(further.recipient).number;
            self.further.push((position, number));
        }
        self.places.note(position, place);
    }

    /// Who gets a record of that round. Of one whose proposal is not here nobody is known.
    fn readers(&mut self, id: RoundId, position: u64, event: &Event) -> Vec<Did> {
        if let Event::EnvelopeAccepted(accepted) = event
            && let Facts::Consensus(ConsensusFacts::Propose(proposal)) = &accepted.facts
            && let Some(rounds) = &self.rounds
        {
            let header = &accepted.envelope;
            let board = Board::proposed(proposal, header.from, header.to);
            self.boards.insert(id, (board, rounds.clone()));
        }
        let Some((board, rounds)) = self.boards.get(&id) else {
            return Vec::new();
        };
        if let Some(news) = round::news(event).filter(|news| round::is_told(*news, rounds)) {
            self.telling.insert(position, news);
        }
        if let Event::NoticeIssued(notice) = event {
            let humans = self.rounds.as_deref();
            let humans = humans.map_or(&[][..], |rounds| &rounds.humans);
            let news = self.telling.remove(&notice.cause);
            return news.map_or_else(Vec::new, |news| board.told(news, humans));
        }
        board.readers(event)
    }

    /// Notes the subject that a record of another one opens or makes.
    fn note_opened(&mut self, subject: Subject, event: &Event) {
        if let Some(opened) = with_machine!(subject, M(_) => M::opens(event)) {
            self.opened.entry(subject).or_insert(opened);
        }
    }

    fn enter(&mut self, subject: Subject, opened_position: u64) -> Number {
        let known = KnownSubject {
            subject,
            opened_position,
            row: None,
        };
        self.subjects.enter(known).number
    }

    /// Folds a record that was applied; `world` is the state after it. Rows of live subjects are made at
    /// the end.
    pub(crate) fn fold(&mut self, world: &World, record: &Record, touched: &Touched) {
        let position = record.position();
        if *touched == Touched::EveryClock {
            // Only rows of live subjects change.
            self.last_every_clock = Some(position);
            return;
        }
        if let Touched::Subject(subject) = touched
            && record.stream_seq() == 0
        {
            let number = self.enter(*subject, position);
            self.subjects[number].opened_position = position;
        }
        let over = world.shown_anew(touched);
        for subject in over.filter(|subject| !world.is_live(*subject)) {
            if let Some(live) = world.latest_subject(subject) {
                self.keep(&live);
            }
        }
    }

    fn keep(&mut self, live: &LiveSubject) {
        let row: SubjectRow = live.row();
        let (dids, names) = (&mut self.dids, &mut self.names);
        let (members, detail) = (row.members.into_iter(), digests(&row.detail).into_iter());
        let packed = PackedRow {
            state: names.enter(row.state.into()).number,
            members: members.map(|member| dids.enter(member).number).collect(),
            deadline_at_ms: row.deadline_at_ms,
            opened_at_ms: row.opened_at_ms,
            updated_at_ms: row.updated_at_ms,
            last_position: row.last_position,
            detail: detail
                .map(|(name, digest)| (names.enter(name).number, digest))
                .collect(),
            standing: Standing::of(live),
        };
        let number = self.enter(row.subject, row.last_position);
        self.subjects[number].row = Some(packed);
    }

    /// Folds the rows of live subjects after the last record; `world` is the state after all records.
    pub(crate) fn close(&mut self, world: &World) {
        for live in world.live() {
            self.keep(&live);
        }
    }

    /// Position of the last record that moved the clocks of all.
    pub fn last_every_clock(&self) -> Option<u64> {
        self.last_every_clock
    }

    /// Whether a record of that position was noted.
    pub(crate) fn holds(&self, position: u64) -> bool {
        self.places.at(position).is_held
    }

    /// Whether the record at that position is in the stream of an interaction.
    pub(crate) fn is_of_interaction(&self, position: u64) -> bool {
        let subject = self.places.at(position).subject;
        let subject = subject.map(|number| self.subjects[number].subject);
        subject.and_then(Subject::interaction).is_some()
    }

    /// The message at that position whose body may be erased, as far as its body goes.
    pub(crate) fn erasable(&self, position: u64) -> Option<Erasable> {
        let place = self.places.at(position);
        Some(Erasable {
            subject: self.subjects[place.subject?].subject,
            body: place.body?,
        })
    }

    /// The subject that one opened or made.
    pub(crate) fn opened_by(&self, subject: Subject) -> Option<Subject> {
        self.opened.get(&subject).copied()
    }

    /// Whether an interaction that is over is in dispute.
    pub(crate) fn is_disputed(&self, id: InteractionId) -> bool {
        let known = self.subjects.get(&Subject::Interaction(id));
        let standing = known.and_then(|known| known.row.as_ref()?.standing);
        standing.is_some_and(|standing| standing.is_disputed)
    }

    /// How many interactions are in each state once all is folded, without those that `is_known`
    /// does not know, and how many it does not know.
    pub(crate) fn states(
        &self,
        is_known: impl Fn(InteractionId) -> bool,
    ) -> (BTreeMap<String, u64>, u64) {
        let (mut states, mut unknown) = (BTreeMap::<&str, u64>::new(), 0);
        for (_, KnownSubject { subject, row, .. }) in self.subjects.iter() {
            let standing = row.as_ref().and_then(|row| row.standing);
            let (Some(id), Some(standing)) = (subject.interaction(), standing) else {
                continue;
            };
            if is_known(id) {
                *states.entry(standing.state.as_str()).or_default() += 1;
            } else {
                unknown += 1;
            }
        }
        let states = states.into_iter();
        let states = states.map(|(state, count)| (state.to_owned(), count));
        (states.collect(), unknown)
    }

    /// The number of a subject.
    pub fn number(&self, subject: Subject) -> Option<Number> {
        self.subjects.number(&subject)
    }

    /// Every subject, with its number.
    pub fn subjects(&self) -> impl Iterator<Item = (Number, Subject)> {
        let subjects = self.subjects.iter();
        subjects.map(|(number, known)| (number, known.subject))
    }

    /// The row of a subject, where the world knew it.
    pub fn expected(&self, number: Number) -> Option<Expected> {
        let known = &self.subjects[number];
        let kept = known.row.as_ref()?;
        let name = |number: Number| self.names[number].clone();
        let (members, detail) = (kept.members.iter(), kept.detail.iter());
        let row = SubjectRow {
            subject: known.subject,
            state: name(kept.state).into(),
            members: members.map(|member| self.dids[*member]).collect(),
            deadline_at_ms: kept.deadline_at_ms,
            opened_at_ms: kept.opened_at_ms,
            updated_at_ms: kept.updated_at_ms,
            last_position: kept.last_position,
            detail: detail
                .map(|(member, digest)| (name(*member), *digest))
                .collect(),
        };
        Some(Expected {
            opened_position: known.opened_position,
            row,
            standing: kept.standing,
        })
    }

    /// Positions before `until` in the streams of subjects.
    pub fn positions(&self, until: u64) -> Lists {
        let (places, count) = (&self.places, self.subjects.len());
        places.lists(until, count, |place| place.subject)
    }

    /// To whom there was a delivery, among others.
    pub fn recipients(&self) -> BTreeMap<Did, Number> {
        let dids = self.dids.iter();
        dids.map(|(number, did)| (*did, number)).collect()
    }

    /// Positions before `until` that were delivered, by recipient.
    pub fn deliveries(&self, until: u64) -> Lists {
        let (places, count) = (&self.places, self.dids.len());
        places.lists(until, count, |place| place.recipient)
    }

    /// The same of records that were delivered to several, behind the first of each; by number.
    pub fn further_deliveries(&self, until: u64) -> BTreeMap<usize, Vec<u64>> {
        let mut further = BTreeMap::<usize, Vec<u64>>::new();
        for (position, number) in &self.further {
            if *position < until {
                further.entry(number.index()).or_default().push(*position);
            }
        }
        further
    }
}
