//! What readers should see, folded from the log as the projection does it.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use foldhash::fast::RandomState;
use serde::Serialize;
use serde_json::Value;
use x811_protocol::canonical::{members_to_canonical, to_canonical};
use x811_protocol::code::Code;
use x811_protocol::did::Did;
use x811_protocol::digest::Digest;
use x811_protocol::event::{Effect, Event, LedgerEvent};
use x811_protocol::facts::{ConsensusFacts, Facts};
use x811_protocol::id::{AgreementId, ContractId, InteractionId, RoundId, SessionId};
use x811_protocol::interaction::StateName;
use x811_protocol::machine::News;
use x811_protocol::money::MicroUsdc;
use x811_protocol::parameters::Rounds;
use x811_protocol::round;
use x811_protocol::time::TimestampMs;

use crate::record::examine::Whole;
use crate::record::numbered::{Keyed, Numbered};
use crate::record::places::{Body, Erasable, Places, RowPlace};
use x811_eventlog::write_canonical;
use x811_protocol::stream::{Stream, Subject};
use x811_world::erasure::{erasable_profile, is_disputed};
use x811_world::projection::{Board, Detail, deliveries};
use x811_world::{Live, Touched, World};

pub use crate::record::numbered::Number;
pub use crate::record::places::Lists;
pub use crate::replay::agent_rows::AgentRows;
pub use crate::replay::subject_rows::{DueSubject, SubjectRows, row_digest};

/// A row as it should be. Its `detail` is kept as digests, one for each member.
#[derive(Debug)]
pub struct Expected<'a> {
    /// The initiator.
    pub initiator: Did,
    /// The provider.
    pub provider: Did,
    /// The other members of the row.
    pub kept: &'a PackedRow,
}

/// The same in memory, its parties by their numbers.
#[derive(Debug, Clone)]
pub struct PackedRow {
    initiator: Number,
    provider: Number,
    /// The state it is in.
    pub state: StateName,
    /// Why it ended, where a code says it.
    pub(crate) code: Option<Code>,
    /// In dispute, or paid by what disappeared.
    is_disputed: bool,
    /// The total cost, in micro USDC.
    pub total: Option<MicroUsdc>,
    /// The end of its open window, in milliseconds.
    pub deadline_at_ms: Option<TimestampMs>,
    /// The time of its REQUEST, in milliseconds.
    pub opened_at_ms: TimestampMs,
    /// The time of its last record, in milliseconds.
    pub updated_at_ms: TimestampMs,
    /// Position of its last record.
    pub last_position: u64,
    /// Position of its REQUEST.
    pub opened_position: u64,
    /// The members of the detail that are there, in order of name.
    pub detail: Box<[(Member, Digest)]>,
}

/// A member of a detail.
#[derive(Debug, Clone, Copy)]
pub enum Member {
    /// `code`.
    Code,
    /// `confirmed`.
    Confirmed,
    /// `late`.
    Late,
    /// `late_reversed`.
    LateReversed,
    /// `offer`.
    Offer,
    /// `settlement`.
    Settlement,
}

impl Member {
    /// The name of the member.
    pub fn as_str(self) -> &'static str {
        match self {
            Member::Code => "code",
            Member::Confirmed => "confirmed",
            Member::Late => "late",
            Member::LateReversed => "late_reversed",
            Member::Offer => "offer",
            Member::Settlement => "settlement",
        }
    }
}

impl PackedRow {
    fn of(live: &Live, dids: &mut Numbered<Did>) -> PackedRow {
        let (state, opening) = (&live.state, live.state.opening());
        PackedRow {
            initiator: dids.enter(opening.initiator).number,
            provider: dids.enter(opening.provider).number,
            state: state.name(),
            code: state.closing_code(),
            is_disputed: is_disputed(state),
            total: state.offer().map(|offer| offer.total),
            deadline_at_ms: state.deadline(),
            opened_at_ms: live.opened_at,
            updated_at_ms: live.updated_at,
            last_position: live.last_position,
            opened_position: opening.record.position,
            detail: expected_digests(&Detail::of(state)),
        }
    }
}

/// Digest of each member of a detail as it should be.
fn expected_digests(detail: &Detail<'_>) -> Box<[(Member, Digest)]> {
    let late = Some(detail.late).filter(|late| !late.is_empty());
    let reversed = Some(detail.late_reversed).filter(|reversed| !reversed.is_empty());
    let (code, confirmed) = (detail.code.as_ref(), detail.confirmed.as_ref());
    let (offer, settlement) = (detail.offer.as_ref(), detail.settlement.as_ref());
    let members = [
        code.map(|code| (Member::Code, digest(code))),
        confirmed.map(|paid| (Member::Confirmed, digest(paid))),
        late.map(|late| (Member::Late, digest(&late))),
        reversed.map(|reversed| (Member::LateReversed, digest(&reversed))),
        offer.map(|offer| (Member::Offer, digest(offer))),
        settlement.map(|watched| (Member::Settlement, digest(watched))),
    ];
    members.into_iter().flatten().collect()
}

/// Of the RFC 8785 form.
fn digest(member: &impl Serialize) -> Digest {
    let mut bytes = Vec::with_capacity(512);
    match write_canonical(&mut bytes, member) {
        Ok(()) => Digest::of(&bytes),
        // A number too large for a leaf, which no record brought.
        Err(_) => Digest::of(&to_canonical(member)),
    }
}

/// Names of members and their digests, in order of name.
pub type Digests = Box<[(Box<str>, Digest)]>;

/// Digest of each member of a detail.
pub fn digests(detail: &Value) -> Digests {
    let members = detail.as_object().into_iter().flatten();
    let digest = |value: &Value| match value {
        Value::Object(members) => Digest::of(&members_to_canonical(members)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => {
            Digest::of(&to_canonical(value))
        }
    };
    members
        .map(|(name, value)| (name.clone().into(), digest(value)))
        .collect()
}

/// Everything that rows should hold after the records so far.
#[derive(Debug, Clone, Default)]
pub struct Rows {
    interactions: Numbered<Interaction>,
    dids: Numbered<Did>,
    /// Positions delivered, and those in streams of interactions.
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
    /// Messages of negotiations, sessions and agreements whose bodies may be erased, by position.
    negotiated: BTreeMap<u64, (Subject, Body)>,
    /// Which interaction a negotiation opened.
    engaged: BTreeMap<ContractId, InteractionId>,
    /// Which agreement a session made.
    agreed: BTreeMap<SessionId, AgreementId>,
    /// Rows of subjects of other machines.
    pub(crate) subjects: SubjectRows,
    /// Position of the last record that moved the clocks of all.
    pub(crate) last_every_clock: Option<u64>,
}

/// One that has a stream.
#[derive(Debug, Clone)]
struct Interaction {
    id: InteractionId,
    /// Its row, from when the world held it no longer.
    row: Option<PackedRow>,
}

impl Keyed for Interaction {
    type Key = InteractionId;

    fn key(&self) -> &InteractionId {
        &self.id
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
        if let Some(Stream::Of(Subject::Interaction(id))) = whole.stream {
            place.interaction = Some(self.enter(id));
            place.body = erasable_profile(event).map(|profile| Body {
                profile,
                is_there: whole.body.is_some(),
            });
        } else if let Some(stream) = &whole.stream {
            if let Stream::Of(subject) = stream {
                self.note_terms(*subject, whole);
            }
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

    /// Notes what a negotiation, session or agreement led to, and which of its bodies may be erased.
    fn note_terms(&mut self, subject: Subject, whole: &Whole) {
        if let (Subject::Contract(id), Event::Effect(Effect::Engaged(engaged))) =
            (subject, &whole.event)
        {
            self.engaged.insert(id, engaged.interaction);
        } else if let (Subject::Agreement(id), Event::Effect(Effect::Agreed(agreed))) =
            (subject, &whole.event)
        {
            self.agreed.insert(agreed.session, id);
        }
        if let Some(profile) = erasable_profile(&whole.event) {
            let is_there = whole.body.is_some();
            let body = Body { profile, is_there };
            self.negotiated
                .insert(whole.record.position(), (subject, body));
        }
    }

    fn enter(&mut self, id: InteractionId) -> Number {
        let interaction = Interaction { id, row: None };
        self.interactions.enter(interaction).number
    }

    /// Folds a record that was applied; `world` is the state after it. Rows of live interactions
    /// are made at the end.
    pub(crate) fn fold(&mut self, world: &World, position: u64, touched: &Touched) {
        if *touched == Touched::EveryClock {
            self.last_every_clock = Some(position);
        }
        if let Touched::Subject(Subject::Interaction(id)) = touched
            && world.interaction(*id).is_none()
            && let Some(live) = world.latest(*id)
        {
            self.keep(*id, live);
        }
        if let Touched::Subject(subject) = touched {
            self.subjects.fold(world, *subject);
        }
    }

    fn keep(&mut self, id: InteractionId, live: &Live) {
        let (number, row) = (self.enter(id), PackedRow::of(live, &mut self.dids));
        self.interactions[number].row = Some(row);
    }

    /// Nothing follows: folds the rows of live interactions; `world` is the state after all
    /// records.
    pub(crate) fn close(&mut self, world: &World) {
        for (id, live) in world.interactions() {
            self.keep(*id, live);
        }
        self.subjects.close(world);
    }

    /// Rows of subjects of other machines.
    pub fn subjects(&self) -> &SubjectRows {
        &self.subjects
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
        self.places.at(position).interaction.is_some()
    }

    /// The message at that position whose body may be erased, as far as its body goes.
    pub(crate) fn erasable(&self, position: u64) -> Option<Erasable> {
        if let Some((subject, body)) = self.negotiated.get(&position) {
            return Some(Erasable {
                subject: *subject,
                body: *body,
            });
        }
        let place = self.places.at(position);
        let (interaction, body) = (place.interaction?, place.body?);
        Some(Erasable {
            subject: Subject::Interaction(self.interactions[interaction].id),
            body,
        })
    }

    /// The interaction that a negotiation opened.
    pub(crate) fn engaged(&self, id: ContractId) -> Option<InteractionId> {
        self.engaged.get(&id).copied()
    }

    /// The agreement that a session made.
    pub(crate) fn agreed(&self, id: SessionId) -> Option<AgreementId> {
        self.agreed.get(&id).copied()
    }

    /// Whether an interaction that is over is in dispute.
    pub(crate) fn is_disputed(&self, id: InteractionId) -> bool {
        let row = self.interactions.get(&id).and_then(|of| of.row.as_ref());
        row.is_some_and(|row| row.is_disputed)
    }

    /// How many interactions are in each state once all is folded, without those that `is_known`
    /// does not know, and how many it does not know.
    pub(crate) fn states(
        &self,
        is_known: impl Fn(InteractionId) -> bool,
    ) -> (BTreeMap<String, u64>, u64) {
        let (mut states, mut unknown) = (BTreeMap::<&str, u64>::new(), 0);
        for (_, Interaction { id, row }) in self.interactions.iter() {
            let Some(row) = row else {
                continue;
            };
            if is_known(*id) {
                *states.entry(row.state.as_str()).or_default() += 1;
            } else {
                unknown += 1;
            }
        }
        let states = states.into_iter();
        let states = states.map(|(state, count)| (state.to_owned(), count));
        (states.collect(), unknown)
    }

    /// The number of an interaction.
    pub fn number(&self, id: InteractionId) -> Option<Number> {
        self.interactions.number(&id)
    }

    /// Every interaction, with its number.
    pub fn ids(&self) -> impl Iterator<Item = (Number, InteractionId)> {
        let interactions = self.interactions.iter();
        interactions.map(|(number, interaction)| (number, interaction.id))
    }

    /// The row of an interaction, where the world knew it.
    pub fn expected(&self, number: Number) -> Option<Expected<'_>> {
        let kept = self.interactions[number].row.as_ref()?;
        Some(Expected {
            initiator: self.dids[kept.initiator],
            provider: self.dids[kept.provider],
            kept,
        })
    }

    /// Positions before `until` in the streams of interactions.
    pub fn positions(&self, until: u64) -> Lists {
        let (places, count) = (&self.places, self.interactions.len());
        places.lists(until, count, |place| place.interaction)
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
