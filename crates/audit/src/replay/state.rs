//! The world as the log has it, record by record, past whatever cannot be replayed.
//!
//! A record that breaks the rules changes nothing; its stream is given up, and everything that
//! follows in it is counted as not replayed. The world itself goes on: in the place of such a
//! record it is given a `ledger_resumed` of no time, which moves nothing.

use std::collections::HashSet;
use std::hash::BuildHasher as _;

use foldhash::fast::RandomState;
use x811_eventlog::{Draft, Record};
use x811_protocol::event::{Event, LedgerEvent, LedgerResumed};

use x811_protocol::stream::Stream;
use x811_world::{Fault, Touched, World};

/// Most missing positions in a row that are stepped over; behind a wider gap nothing is replayed.
const MAX_GAP: u64 = 4_096;

/// A world, and what it lost on the way.
#[derive(Debug, Clone)]
pub(crate) struct Replay {
    world: World,
    /// Streams given up.
    ended: Names,
    /// Stand-ins in the ledger's stream so far.
    stand_ins: u64,
    /// Nothing is replayed any more.
    stopped: bool,
    /// Most records are not here, which is as it should be.
    is_extract: bool,
    not_replayed: u64,
}

impl Default for Replay {
    /// Before the first record.
    fn default() -> Replay {
        Replay {
            world: World::without_repeats(),
            ended: Names::default(),
            stand_ins: 0,
            stopped: false,
            is_extract: false,
            not_replayed: 0,
        }
    }
}

impl Replay {
    /// Before the first record of an extract.
    pub(crate) fn of_extract() -> Replay {
        let mut replay = Replay {
            is_extract: true,
            ..Replay::default()
        };
        replay.world.doubt_roots();
        replay
    }

    pub(crate) fn world(&self) -> &World {
        &self.world
    }

    /// Records whose effect is not known.
    pub(crate) fn not_replayed(&self) -> u64 {
        self.not_replayed
    }

    /// Whether what the log says of this stream is known up to here.
    pub(crate) fn knows(&self, stream: &Stream) -> bool {
        !self.stopped && (self.ended.is_empty() || !self.ended.has(&stream.to_string()))
    }

    /// Whether every record so far was replayed.
    pub(crate) fn has_all(&self) -> bool {
        !self.stopped && self.ended.is_empty()
    }

    /// Steps to the place of `record`; `false`, and the record is counted, when it cannot be
    /// replayed: its stream ended before, or it came too late.
    pub(crate) fn admits(&mut self, record: &Record) -> bool {
        if !self.reach(record) {
            self.not_replayed += 1;
            return false;
        }
        if self.ended.has(record.stream()) {
            self.give_up(record);
            return false;
        }
        true
    }

    /// Applies a record that was admitted just now. When the rules do not allow it, its stream
    /// ends here.
    pub(crate) fn apply(
        &mut self,
        stream: Option<&Stream>,
        record: &Record,
        event: &Event,
    ) -> Result<Touched, Fault> {
        let applied = self.renumbered(record).and_then(|record| match stream {
            Some(stream) => self.world.apply_in(stream, &record, event),
            None => self.world.apply(&record, event),
        });
        if applied.is_err() {
            self.give_up(record);
        }
        applied
    }

    /// Ends the stream of a record that cannot be replayed, and steps over it.
    pub(crate) fn give_up(&mut self, record: &Record) {
        self.not_replayed += 1;
        self.ended.insert(record.stream());
        if record.position() == self.world.head().size {
            self.stand_in(record.recorded_at_ms());
        }
    }

    /// Replays nothing from here on: the rules are not known, so nobody knows what follows means.
    pub(crate) fn stop(&mut self) {
        self.stopped = true;
        self.not_replayed += 1;
    }

    /// Steps over bytes that are no record.
    pub(crate) fn step_over(&mut self) {
        self.not_replayed += 1;
        self.stand_in(self.world.head().recorded_at_ms);
    }

    /// Steps over what is missing before `record`; `false` when the world cannot take it.
    fn reach(&mut self, record: &Record) -> bool {
        let size = self.world.head().size;
        if self.is_extract {
            if record.position() > size {
                self.world.step_to(record.position());
            }
            return record.position() == self.world.head().size;
        }
        if record.position() > size.saturating_add(MAX_GAP) {
            self.stopped = true;
        }
        for _ in size..record.position() {
            if self.stopped {
                break;
            }
            self.stand_in(record.recorded_at_ms());
        }
        !self.stopped && record.position() == self.world.head().size
    }

    /// Ledger records as they would be numbered with the stand-ins among them.
    fn renumbered(&self, record: &Record) -> Result<Record, Fault> {
        if self.stand_ins == 0 || record.stream() != Stream::Ledger.to_string() {
            return Ok(record.clone());
        }
        let draft = Draft {
            recorded_at_ms: record.recorded_at_ms(),
            stream: record.stream().to_owned(),
            stream_seq: record.stream_seq().saturating_add(self.stand_ins),
            event: record.event(),
        };
        Ok(Record::seal(record.position(), record.prev(), draft)?)
    }

    /// Fills the next position with an event that moves nothing.
    fn stand_in(&mut self, recorded_at_ms: u64) {
        if self.stopped || self.is_extract {
            return;
        }
        self.world.doubt_roots();
        match apply_nothing(&mut self.world, recorded_at_ms) {
            Ok(()) => self.stand_ins += 1,
            // Without a position 0 there is no ledger to replay.
            Err(_) => self.stopped = true,
        }
    }
}

/// Names, however long and however many a hostile file has of them: each by a hash of eight bytes whose
/// key nobody knows before.
#[derive(Debug, Clone, Default)]
struct Names {
    hashes: HashSet<u64, RandomState>,
    hasher: RandomState,
}

impl Names {
    fn is_empty(&self) -> bool {
        self.hashes.is_empty()
    }

    fn has(&self, name: &str) -> bool {
        !self.is_empty() && self.hashes.contains(&self.hasher.hash_one(name))
    }

    fn insert(&mut self, name: &str) {
        self.hashes.insert(self.hasher.hash_one(name));
    }
}

fn apply_nothing(world: &mut World, recorded_at_ms: u64) -> Result<(), Fault> {
    let head = world.head();
    let event = Event::Ledger(LedgerEvent::Resumed(LedgerResumed {
        gap_ms: 0,
        checkpoint_adopted: false,
    }));
    let draft = Draft {
        recorded_at_ms,
        stream: Stream::Ledger.to_string(),
        stream_seq: world.next_seq(&Stream::Ledger).unwrap_or_default(),
        event: serde_json::to_value(&event).map_err(|source| Fault::Unreadable {
            position: head.size,
            source,
        })?,
    };
    let record = Record::seal(head.size, head.hash, draft)?;
    world.apply(&record, &event).map(|_| ())
}
