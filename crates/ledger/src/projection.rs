//! From a record to the rows that readers see: a pure function of the record and the world after
//! it. A rebuild runs the same function over the same log.

pub(crate) mod agents;
mod board;
pub(crate) mod conduct;
pub(crate) mod contract;
pub(crate) mod descriptor;
mod detail;
pub(crate) mod round;
pub(crate) mod session;

pub(crate) use board::Board;
pub(crate) use detail::Detail;

use crate::row::{DeliveryRow, InteractionRow, RowChange, StreamRow, SubjectRow};
use crate::world::{Live, Touched, World};
use std::collections::HashMap;
use std::sync::Arc;
use x811_eventlog::Record;
use x811_protocol::did::Did;
use x811_protocol::envelope::AcceptedHeader;
use x811_protocol::event::{EnvelopeAccepted, Event};
use x811_protocol::facts::{ConsensusFacts, Facts};
use x811_protocol::id::{AgreementId, ContractId, InteractionId, RoundId, SessionId};
use x811_protocol::stream::Subject;

/// Most places of a record: in its stream, in the tree, in an inbox.
const PLACES_EACH: usize = 3;

/// The changes of a batch. Of an interaction only what it is at the end is kept, and its row is
/// made only when it is written.
#[derive(Debug, Default)]
pub(crate) struct Changes {
    places: Vec<RowChange>,
    interactions: HashMap<InteractionId, Arc<Live>>,
    contracts: HashMap<ContractId, Arc<Live<x811_protocol::contract::State>>>,
    descriptors: HashMap<Did, Arc<Live<x811_protocol::capability::descriptor::State>>>,
    sessions: HashMap<SessionId, Arc<Live<x811_protocol::capability::session::State>>>,
    agreements: HashMap<AgreementId, Arc<Live<x811_protocol::capability::agreement::State>>>,
    rounds: HashMap<RoundId, Arc<Live<x811_protocol::round::State>>>,
    conducts: HashMap<Did, Arc<Live<x811_protocol::capability::conduct::State>>>,
}

impl Changes {
    /// Makes room for those of that many records.
    pub(crate) fn make_room(&mut self, records: usize) {
        self.places.reserve(PLACES_EACH * records);
    }

    /// Notes the changes that `record` causes; `world` is the state after it.
    pub(crate) fn note(
        &mut self,
        world: &World,
        record: &Record,
        event: &Event,
        touched: &Touched,
    ) {
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
            Touched::Subject(Subject::Contract(id)) => {
                let live = world.latest_contract(*id).map(|live| (*id, live.clone()));
                self.contracts.extend(live);
            }
            Touched::Subject(Subject::Descriptor(did)) => {
                let live = world.descriptor(*did).map(|live| (*did, live.clone()));
                self.descriptors.extend(live);
            }
            Touched::Subject(Subject::Session(id)) => {
                let live = world.latest_session(*id).map(|live| (*id, live.clone()));
                self.sessions.extend(live);
            }
            Touched::Subject(Subject::Agreement(id)) => {
                let live = world.latest_agreement(*id).map(|live| (*id, live.clone()));
                self.agreements.extend(live);
            }
            Touched::Subject(Subject::Round(id)) => {
                let these = world.rounds_moved().iter().chain([id]);
                let live = these.filter_map(|id| Some((*id, world.latest_round(*id)?.clone())));
                self.rounds.extend(live);
            }
            Touched::Subject(Subject::Conduct(did)) => {
                let live = world.conduct(*did).map(|live| (*did, live.clone()));
                self.conducts.extend(live);
            }
            Touched::EveryClock => {
                let every = world.interactions().map(|(id, live)| (*id, live.clone()));
                self.interactions.extend(every);
                let moved = contract::moved(world).map(|(id, live)| (*id, live.clone()));
                self.contracts.extend(moved);
                let moved = world.sessions().moving();
                self.sessions
                    .extend(moved.map(|(id, live)| (*id, live.clone())));
                let moved = world.rounds().moving();
                self.rounds
                    .extend(moved.map(|(id, live)| (*id, live.clone())));
            }
        }
    }

    /// Adds the changes of the batch that follows.
    pub(crate) fn followed_by(&mut self, next: Changes) {
        self.places.extend(next.places);
        self.interactions.extend(next.interactions);
        self.contracts.extend(next.contracts);
        self.descriptors.extend(next.descriptors);
        self.sessions.extend(next.sessions);
        self.agreements.extend(next.agreements);
        self.rounds.extend(next.rounds);
        self.conducts.extend(next.conducts);
    }

    pub(crate) fn len(&self) -> usize {
        let subjects = self.contracts.len()
            + self.descriptors.len()
            + self.sessions.len()
            + self.agreements.len()
            + self.rounds.len()
            + self.conducts.len();
        self.places.len() + self.interactions.len() + subjects
    }

    /// As rows.
    pub(crate) fn into_rows(self) -> Vec<RowChange> {
        let mut rows = self.places;
        let interactions = self.interactions.iter();
        rows.extend(interactions.map(|(id, live)| row(*id, live)));
        rows.extend(
            self.contracts
                .values()
                .map(|live| contract::row(live).into()),
        );
        rows.extend(
            self.descriptors
                .values()
                .map(|live| descriptor::row(live).into()),
        );
        let sessions = self.sessions.values();
        rows.extend(sessions.map(|live| session::row(live).into()));
        let agreements = self.agreements.values();
        rows.extend(agreements.map(|live| session::agreement_row(live).into()));
        let rounds = self.rounds.values();
        rows.extend(rounds.map(|live| round::row(live).into()));
        let conducts = self.conducts.values();
        rows.extend(conducts.map(|live| conduct::row(live).into()));
        rows
    }
}

/// The row of a subject beside interactions as it stands; `world` is the state after its last record.
pub(crate) fn subject_row(world: &World, subject: Subject) -> Option<SubjectRow> {
    match subject {
        Subject::Interaction(_) => None,
        Subject::Contract(id) => world.latest_contract(id).map(|live| contract::row(live)),
        Subject::Descriptor(did) => world.descriptor(did).map(|live| descriptor::row(live)),
        Subject::Session(id) => world.latest_session(id).map(|live| session::row(live)),
        Subject::Agreement(id) => {
            let live = world.latest_agreement(id);
            live.map(|live| session::agreement_row(live))
        }
        Subject::Round(id) => world.latest_round(id).map(|live| round::row(live)),
        Subject::Conduct(did) => world.conduct(did).map(|live| conduct::row(live)),
    }
}

/// The changes that `record` causes; `world` is the state after it.
pub fn changes(world: &World, record: &Record, event: &Event, touched: &Touched) -> Vec<RowChange> {
    let mut changes = vec![place(record), leaf(record)];
    let delivered = deliveries(record, event, &readers(world, event, touched));
    changes.extend(delivered.into_iter().map(RowChange::Delivery));
    changes.extend(agents::changes(world, record, event));
    match touched {
        Touched::Nothing => {}
        Touched::Subject(Subject::Interaction(id)) => {
            changes.extend(world.latest(*id).map(|live| row(*id, live)));
        }
        Touched::Subject(Subject::Round(id)) => {
            let these = world.rounds_moved().iter().chain([id]);
            let live = these.filter_map(|id| world.latest_round(*id));
            changes.extend(live.map(|live| round::row(live).into()));
        }
        Touched::Subject(subject) => {
            changes.extend(subject_row(world, *subject).map(RowChange::from));
        }
        Touched::EveryClock => {
            changes.extend(world.interactions().map(|(id, live)| row(*id, live)));
            changes.extend(contract::moved(world).map(|(_, live)| contract::row(live).into()));
            let sessions = world.sessions().moving();
            changes.extend(sessions.map(|(_, live)| session::row(live).into()));
            let rounds = world.rounds().moving();
            changes.extend(rounds.map(|(_, live)| round::row(live).into()));
        }
    }
    changes
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
pub(crate) fn deliveries(record: &Record, event: &Event, readers: &[Did]) -> Vec<DeliveryRow> {
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
