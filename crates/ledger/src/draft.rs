//! The overlay: what a batch would make of the world, together with everything that has to be made
//! durable for it. Published when the commit holds; dropped whole when it does not.

mod journal;

pub(crate) use journal::{MessageBody, SubjectJournal};

use crate::answer::Accepted;
use crate::port::{Commit, Erased, NonceOutcome, SpentNonce};
use crate::sequencer::read_event;
use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::Arc;
use x811_eventlog::{MAX_BATCH_BYTES, Record};
use x811_protocol::did::Did;
use x811_protocol::digest::Digest;
use x811_protocol::envelope::AcceptedHeader;
use x811_protocol::event::{Claim, EnvelopeAccepted, Event};
use x811_protocol::facts::Facts;
use x811_protocol::id::EnvelopeId;
use x811_protocol::stream::{Stream, Subject};
use x811_protocol::time::TimestampMs;
use x811_world::policies;
use x811_world::projection::Changes;
use x811_world::{Fault, FirstAnswer, World};

/// A batch stops taking more once it holds this much, so that one more item still fits.
const BATCH_BYTES_GOAL: usize = MAX_BATCH_BYTES * 3 / 4;

/// Lapses may use this much: a batch full of messages must not hold them up.
const BATCH_BYTES_WITH_LAPSES: usize = MAX_BATCH_BYTES * 15 / 16;

/// A batch being decided.
#[derive(Debug)]
pub(crate) struct BatchDraft {
    /// What the batch began with: it is decided again from here when a part of it is undone.
    base: World,
    world: World,
    commit: Commit,
    answers: Vec<Accepted>,
    changes: Changes,
    idempotency: HashMap<Digest, FirstRequest>,
    /// What the batch before this one adds to the indexes, while it is being written.
    before: Option<Arc<Unwritten>>,
    /// Envelopes of this batch that belong to no interaction.
    outside_interactions: HashSet<EnvelopeId>,
    /// Senders of the messages in `commit.nonces`.
    refused: Vec<Did>,
    record_bytes: usize,
    /// Positions of the lapses that came because they were due, and when.
    lapses: Vec<(u64, TimestampMs)>,
    /// Subjects whose lapse broke the rules: it is not tried again in this batch.
    lapses_given_up: BTreeSet<Subject>,
    /// Undoing failed: nothing of the draft may be used.
    broken: Option<Fault>,
}

/// A batch as decided.
#[derive(Debug)]
pub(crate) struct Decided {
    /// The world after it.
    pub(crate) world: World,
    /// What to make durable.
    pub(crate) commit: Commit,
    /// What the accepted messages of it are answered with, in order of position.
    pub(crate) answers: Vec<Accepted>,
    /// What changes for readers.
    pub(crate) changes: Changes,
    /// What it adds to the indexes.
    pub(crate) unwritten: Unwritten,
}

/// What a batch adds to the indexes: until it is written, look-ups miss it.
#[derive(Debug, Default)]
pub(crate) struct Unwritten {
    requests: HashMap<Digest, FirstRequest>,
    claims: Vec<Claim>,
    /// Envelopes that belong to no interaction.
    outside_interactions: HashSet<EnvelopeId>,
    erased: Vec<Erased>,
}

impl Unwritten {
    /// Whether the batch holds that envelope outside all interactions.
    pub(crate) fn is_outside_interactions(&self, id: &EnvelopeId) -> bool {
        self.outside_interactions.contains(id)
    }
}

/// What is known of the first REQUEST under an idempotency key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct FirstRequest {
    pub(crate) position: u64,
    pub(crate) to: Did,
    pub(crate) payload_hash: Digest,
}

/// Where an event was put.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Appended {
    pub(crate) position: u64,
    pub(crate) hash: Digest,
}

/// Where a draft stood before an item, so that a defect in one item costs that item alone. Taking
/// one costs nothing, for it is taken before every item; going back costs the whole batch, for
/// nothing but a defect of ours asks for it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Savepoint {
    records: usize,
    nonces: usize,
}

impl BatchDraft {
    /// A batch on top of `world`, and of the batch `before` it that is still being written.
    pub(crate) fn on(world: &World, before: Option<Arc<Unwritten>>) -> BatchDraft {
        let expected_size = world.head().size;
        BatchDraft {
            base: world.clone(),
            world: world.clone(),
            commit: Commit {
                expected_size,
                ..Commit::default()
            },
            answers: Vec::new(),
            changes: Changes::default(),
            idempotency: HashMap::new(),
            before,
            outside_interactions: HashSet::new(),
            refused: Vec::new(),
            record_bytes: 0,
            lapses: Vec::new(),
            lapses_given_up: BTreeSet::new(),
            broken: None,
        }
    }

    pub(crate) fn world(&self) -> &World {
        &self.world
    }

    pub(crate) fn world_mut(&mut self) -> &mut World {
        &mut self.world
    }

    /// Makes room for that many more records, so that it is not made piece by piece.
    pub(crate) fn make_room(&mut self, records: usize) {
        self.commit.records.reserve(records);
        self.commit.bodies.reserve(records);
        self.commit.envelope_ids.reserve(records);
        self.answers.reserve(records);
        self.changes.make_room(records);
    }

    pub(crate) fn is_full(&self) -> bool {
        self.record_bytes >= BATCH_BYTES_GOAL
    }

    pub(crate) fn has_room_for_lapse(&self) -> bool {
        self.record_bytes < BATCH_BYTES_WITH_LAPSES
    }

    /// The subject whose lapse is to be recorded first of those that are due.
    pub(crate) fn first_due(&self, now: TimestampMs) -> Option<Subject> {
        let (deadline, first) = self.world.next_deadline()?;
        if now <= deadline {
            return None;
        }
        if !self.lapses_given_up.contains(&first) {
            return Some(first);
        }
        let mut due = self.world.due(now);
        due.find(|subject| !self.lapses_given_up.contains(subject))
    }

    /// Counts the lapse at that position.
    pub(crate) fn note_lapse(&mut self, position: u64, at: TimestampMs) {
        self.lapses.push((position, at));
    }

    /// How many lapses of that moment the batch has.
    pub(crate) fn lapses_at(&self, now: TimestampMs) -> usize {
        let lapses = self.lapses.iter().rev();
        lapses.take_while(|(_, at)| *at == now).count()
    }

    pub(crate) fn give_up_lapse(&mut self, subject: Subject) {
        self.lapses_given_up.insert(subject);
    }

    /// How many subjects have a lapse that is due and broke the rules.
    pub(crate) fn lapses_given_up(&self) -> usize {
        self.lapses_given_up.len()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.commit.records.is_empty() && self.commit.nonces.is_empty()
    }

    pub(crate) fn savepoint(&self) -> Savepoint {
        Savepoint {
            records: self.commit.records.len(),
            nonces: self.commit.nonces.len(),
        }
    }

    /// Goes back, by doing again what was done before the savepoint.
    pub(crate) fn restore(&mut self, savepoint: Savepoint) {
        let mut again = BatchDraft::on(&self.base, self.before.take());
        let end = self.commit.expected_size + savepoint.records as u64;
        again.lapses = std::mem::take(&mut self.lapses);
        again.lapses.retain(|(position, _)| *position < end);
        again.lapses_given_up = std::mem::take(&mut self.lapses_given_up);
        // Heads are seen, not recorded.
        for head in self.world.seen_heads() {
            again.world.saw_head(head);
        }
        let bodies: HashMap<u64, Arc<[u8]>> = self
            .commit
            .bodies
            .drain(..)
            .map(|body| (body.position, body.bytes))
            .collect();
        for record in self.commit.records.drain(..).take(savepoint.records) {
            let body = bodies.get(&record.position());
            let kept = read_event(&record).and_then(|event| {
                let stream = World::stream_of(&record, &event)?;
                again.keep(&stream, record, &event, body)
            });
            if let Err(fault) = kept {
                self.broken = Some(fault);
                return;
            }
        }
        for (nonce, from) in self
            .commit
            .nonces
            .iter()
            .zip(&self.refused)
            .take(savepoint.nonces)
        {
            again.spend(*nonce, *from);
        }
        *self = again;
    }

    /// The batch as decided.
    ///
    /// # Errors
    /// A part of it could not be undone.
    pub(crate) fn finish(mut self) -> Result<Decided, Fault> {
        if let Some(fault) = self.broken {
            return Err(fault);
        }
        self.commit.frontier = self.world.frontier().to_bytes();
        let unwritten = Unwritten {
            claims: self.commit.claims.iter().map(|(claim, _)| *claim).collect(),
            requests: self.idempotency,
            outside_interactions: self.outside_interactions,
            erased: self.commit.erased.clone(),
        };
        Ok(Decided {
            unwritten,
            world: self.world,
            commit: self.commit,
            answers: self.answers,
            changes: self.changes,
        })
    }

    /// Seals `event`, applies it and keeps it for the commit; what follows from it in other streams
    /// comes directly behind it.
    pub(crate) fn append(
        &mut self,
        stream: &Stream,
        event: Event,
        body: Option<&Arc<[u8]>>,
        now: TimestampMs,
    ) -> Result<Appended, Fault> {
        self.append_with_effects(stream, event, body, now, 0)
    }

    fn append_with_effects(
        &mut self,
        stream: &Stream,
        event: Event,
        body: Option<&Arc<[u8]>>,
        now: TimestampMs,
        depth: usize,
    ) -> Result<Appended, Fault> {
        let record = self.seal(stream, &event, now)?;
        let appended = Appended {
            position: record.position(),
            hash: Digest::from_bytes(*record.hash().as_bytes()),
        };
        self.keep(stream, record, &event, body)?;
        if let Some(root) = self.world.state_root_due() {
            let event = Event::StateRoot(root);
            let record = self.seal(&Stream::Roots, &event, now)?;
            self.keep(&Stream::Roots, record, &event, None)?;
        }
        let effects = policies::follow(&self.world, appended.position, stream, &event);
        if !effects.is_empty() && depth >= policies::MOST_DEEP {
            return Err(Fault::Misplaced {
                position: appended.position,
                event: event.type_name(),
                stream: stream.to_string(),
                why: "its effects have effects without end",
            });
        }
        for (stream, effect) in effects {
            self.append_with_effects(&stream, effect, None, now, depth + 1)?;
        }
        Ok(appended)
    }

    fn keep(
        &mut self,
        stream: &Stream,
        record: Record,
        event: &Event,
        body: Option<&Arc<[u8]>>,
    ) -> Result<(), Fault> {
        let touched = self.world.apply_in(stream, &record, event)?;
        self.changes.note(&self.world, &record, event, &touched);
        self.answers.extend(Accepted::of(stream, &record, event));
        self.index(stream, &record, event, body);
        self.record_bytes += record.bytes().len();
        self.commit.records.push(record);
        Ok(())
    }

    fn seal(&self, stream: &Stream, event: &Event, now: TimestampMs) -> Result<Record, Fault> {
        let head = self.world.head();
        let misplaced = || Fault::Misplaced {
            position: head.size,
            event: event.type_name(),
            stream: stream.to_string(),
            why: "the stream cannot exist yet",
        };
        let draft = x811_eventlog::Draft {
            recorded_at_ms: now.as_ms(),
            stream: stream.to_string(),
            stream_seq: self.world.next_seq(stream).ok_or_else(misplaced)?,
            event,
        };
        Ok(Record::seal(head.size, head.hash, draft)?)
    }

    fn index(&mut self, stream: &Stream, record: &Record, event: &Event, body: Option<&Arc<[u8]>>) {
        let position = record.position();
        self.commit.index(position, event, body);
        if let Some(envelope) = event.envelope()
            && !matches!(stream, Stream::Of(Subject::Interaction(_)))
        {
            self.outside_interactions.insert(envelope.id);
        }
        if let Event::EnvelopeAccepted(EnvelopeAccepted {
            facts: Facts::Request(request),
            envelope,
            ..
        }) = event
        {
            let first = FirstRequest {
                position,
                to: envelope.to,
                payload_hash: request.payload_hash,
            };
            self.idempotency.insert(request.idempotency_tag, first);
        }
    }

    /// The record that erased the body at `position`, as far as the store does not know it yet.
    pub(crate) fn erased_by(&self, position: u64) -> Option<u64> {
        let before = self.before.iter().flat_map(|before| &before.erased);
        let mut erased = self.commit.erased.iter().chain(before);
        let found = erased.find(|erased| erased.position == position);
        found.map(|erased| erased.record)
    }

    /// The first REQUEST under an idempotency key, as far as it is not in the indexes yet.
    pub(crate) fn first_request(&self, tag: &Digest) -> Option<FirstRequest> {
        let before = || self.before.as_ref()?.requests.get(tag);
        self.idempotency.get(tag).or_else(before).copied()
    }

    /// Claimed transfers, as far as they are not in the indexes yet.
    pub(crate) fn claims(&self) -> impl Iterator<Item = Claim> {
        let before = self.before.iter().flat_map(|before| &before.claims);
        let own = self.commit.claims.iter().map(|(claim, _)| claim);
        before.chain(own).copied()
    }

    /// Spends a nonce whose answer leaves no record.
    pub(crate) fn spend_nonce(
        &mut self,
        header: &AcceptedHeader,
        outcome: NonceOutcome,
        at: TimestampMs,
    ) {
        let nonce = SpentNonce {
            tag: header.nonce_tag,
            at_ms: at,
            outcome,
        };
        self.spend(nonce, header.from);
    }

    fn spend(&mut self, nonce: SpentNonce, from: Did) {
        let answer = match nonce.outcome {
            NonceOutcome::Repeated { position } => FirstAnswer::Record(position),
            NonceOutcome::Refused(code) => FirstAnswer::Refused(code),
        };
        self.world.spend_nonce(nonce.tag, answer, nonce.at_ms);
        self.world.count_refusal(from, nonce.at_ms);
        self.commit.nonces.push(nonce);
        self.refused.push(from);
    }
}
