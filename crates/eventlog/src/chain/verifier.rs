//! Checks records in the order they are given, and goes on after a break.
//!
//! An auditor wants every fault in one pass, so a break never stops the verifier: it takes the
//! record it was given as the new truth and checks the next one against that. The cost is one
//! number per stream and one entry per run of missing positions.

use std::collections::HashMap;

use foldhash::fast::RandomState;
use thiserror::Error;

use super::Head;
use super::gaps::Gaps;
use crate::hash::Hash;
use crate::record::{Record, RecordError};

/// One fault, and where it shows.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("position {position}: {cause}")]
pub struct Break {
    /// The position concerned.
    pub position: u64,
    /// What is wrong there.
    pub cause: Cause,
}

/// What is wrong at a position.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum Cause {
    /// The bytes are not a leaf, or not the canonical bytes of one.
    #[error("the bytes are not a record: {0}")]
    NotARecord(RecordError),
    /// Positions `position..=last` were left out. One that is given later is reported as
    /// [`Cause::Reordered`] then.
    #[error("missing, up to and including position {last}")]
    Missing {
        /// Last position left out.
        last: u64,
    },
    /// Given after a record that follows it.
    #[error("out of order: given when position {expected} was due")]
    Reordered {
        /// Position that was due.
        expected: u64,
    },
    /// A record of this position was given before.
    #[error("given twice: position {expected} was due")]
    Duplicated {
        /// Position that was due.
        expected: u64,
    },
    /// `prev` is not the hash of the record before, as that one was given.
    #[error("the link is broken: it names {found}, the record before has {expected}")]
    LinkBroken {
        /// Hash of the record before.
        expected: Hash,
        /// The member `prev`.
        found: Hash,
    },
    /// Recorded before its predecessor.
    #[error("time ran back from {before_ms} to {found_ms} ms")]
    TimeRanBack {
        /// Time of the record before, ms since the Unix epoch.
        before_ms: u64,
        /// Time of this one, ms since the Unix epoch.
        found_ms: u64,
    },
    /// Not the next record of its stream.
    #[error("stream {stream} jumps: sequence {expected_seq} was due, found {found_seq}")]
    StreamGap {
        /// Name of the stream.
        stream: String,
        /// Place in the stream that was due.
        expected_seq: u64,
        /// Place in the stream found.
        found_seq: u64,
    },
    /// Beyond the end that the trusted head names.
    #[error("beyond the end: the trusted head has {size} records")]
    BeyondHead {
        /// Records under the trusted head.
        size: u64,
    },
    /// The last record is not the one that the trusted head names.
    #[error("the last record has hash {found}, the trusted head names {expected}")]
    HeadDiffers {
        /// Hash in the trusted head.
        expected: Hash,
        /// Hash of the last record given.
        found: Hash,
    },
}

/// Checks that records continue one another: positions without gap, links, time that never runs
/// back, and streams without gap (record.md section 1).
///
/// What was cut off at the end or replaced in the last record shows only against a head that
/// somebody trusts: see [`ChainVerifier::finish`].
#[derive(Debug, Clone)]
pub struct ChainVerifier {
    next: u64,
    /// Hash of the record at `next - 1`.
    last: Hash,
    recorded_at_ms: u64,
    /// Bytes that were no record, since the last record.
    unreadable: Unreadable,
    gaps: Gaps,
    next_seq: HashMap<Box<str>, u64, RandomState>,
    /// From the first record on, so a stream not seen yet begins at 0.
    from_the_start: bool,
}

/// Most hashes of bytes that were no record that are kept: a file may be nothing but such bytes.
const MAX_UNREADABLE: usize = 4_096;

/// Bytes that were no record, one after the other.
#[derive(Debug, Clone, Default)]
struct Unreadable {
    count: u64,
    /// Hashes of the first of them.
    first: Vec<Hash>,
    /// And of the last.
    last: Option<Hash>,
}

impl Unreadable {
    fn push(&mut self, hash: Hash) {
        self.count += 1;
        if self.first.len() < MAX_UNREADABLE {
            self.first.push(hash);
        }
        self.last = Some(hash);
    }

    /// The hash of the one that is so many-th, from 1; none where it was not kept.
    fn hash(&self, number: u64) -> Option<Hash> {
        if number == self.count {
            return self.last;
        }
        let index = usize::try_from(number.checked_sub(1)?).ok()?;
        self.first.get(index).copied()
    }
}

impl Default for ChainVerifier {
    fn default() -> Self {
        Self::new()
    }
}

impl ChainVerifier {
    /// For a log from its first record on.
    #[must_use]
    pub fn new() -> Self {
        Self::from_head(Head::EMPTY)
    }

    /// For what follows `head`. Unless that is empty, a stream's first record given sets where
    /// the stream is, except for streams named with [`ChainVerifier::with_stream`].
    #[must_use]
    pub fn from_head(head: Head) -> Self {
        Self {
            next: head.size,
            last: head.hash,
            recorded_at_ms: head.recorded_at_ms,
            unreadable: Unreadable::default(),
            gaps: Gaps::default(),
            next_seq: HashMap::default(),
            from_the_start: head.size == 0,
        }
    }

    /// Says that the next record of `stream` is to have `next_seq`.
    #[must_use]
    pub fn with_stream(mut self, stream: impl Into<String>, next_seq: u64) -> Self {
        self.next_seq.insert(stream.into().into(), next_seq);
        self
    }

    /// Where the records given so far end.
    #[must_use]
    pub fn head(&self) -> Head {
        Head {
            size: self.next,
            hash: self.last,
            recorded_at_ms: self.recorded_at_ms,
        }
    }

    /// Takes stored bytes: reads them, then as [`ChainVerifier::push`]. No record comes back when
    /// the bytes are none.
    pub fn push_bytes(&mut self, bytes: Vec<u8>) -> (Option<Record>, Vec<Break>) {
        let hash = Hash::of_leaf(&bytes);
        match Record::parse(bytes) {
            Ok(record) => {
                let breaks = self.push(&record);
                (Some(record), breaks)
            }
            Err(error) => (None, vec![self.push_unreadable(hash, error)]),
        }
    }

    /// Takes bytes that [`Record::parse`] refused: their hash, and what it said of them.
    pub fn push_unreadable(&mut self, hash: Hash, error: RecordError) -> Break {
        let position = self.next.saturating_add(self.unreadable.count);
        self.unreadable.push(hash);
        Break {
            position,
            cause: Cause::NotARecord(error),
        }
    }

    /// Takes the next record and names every break it shows; none when it fits.
    pub fn push(&mut self, record: &Record) -> Vec<Break> {
        let mut breaks = Vec::new();
        if record.position() < self.next {
            self.take_late(record, &mut breaks);
        } else {
            self.take_next(record, &mut breaks);
        }
        breaks
    }

    /// Compares the end with a head that is trusted (from a checkpoint, a peer, or the writer):
    /// shows records cut off, added, or replaced at the end.
    #[must_use]
    pub fn finish(mut self, trusted: &Head) -> Vec<Break> {
        self.settle_unreadable(trusted.size);
        let mut breaks = Vec::new();
        if self.next < trusted.size {
            let cause = Cause::Missing {
                last: trusted.size - 1,
            };
            breaks.push(Break {
                position: self.next,
                cause,
            });
        } else if self.next > trusted.size {
            let cause = Cause::BeyondHead { size: trusted.size };
            breaks.push(Break {
                position: trusted.size,
                cause,
            });
        } else if self.last != trusted.hash {
            let cause = Cause::HeadDiffers {
                expected: trusted.hash,
                found: self.last,
            };
            breaks.push(Break {
                position: trusted.size.saturating_sub(1),
                cause,
            });
        }
        breaks
    }

    fn take_next(&mut self, record: &Record, breaks: &mut Vec<Break>) {
        let position = record.position();
        self.settle_unreadable(position);
        if position > self.next {
            let cause = Cause::Missing { last: position - 1 };
            breaks.push(Break {
                position: self.next,
                cause,
            });
            self.gaps
                .open(self.next, position, self.last, record.prev());
        } else if record.prev() != self.last {
            let cause = Cause::LinkBroken {
                expected: self.last,
                found: record.prev(),
            };
            breaks.push(Break { position, cause });
        }
        let (before_ms, found_ms) = (self.recorded_at_ms, record.recorded_at_ms());
        if found_ms < before_ms {
            let cause = Cause::TimeRanBack {
                before_ms,
                found_ms,
            };
            breaks.push(Break { position, cause });
        }
        self.check_stream(record, false, breaks);
        self.next = position.saturating_add(1);
        self.last = record.hash();
        self.recorded_at_ms = found_ms;
    }

    /// A record whose position has gone by: it fills a gap, or somebody gave two of them.
    fn take_late(&mut self, record: &Record, breaks: &mut Vec<Break>) {
        let (position, expected) = (record.position(), self.next);
        let Some(broken_link) = self.gaps.fill(record) else {
            breaks.push(Break {
                position,
                cause: Cause::Duplicated { expected },
            });
            return;
        };
        breaks.push(Break {
            position,
            cause: Cause::Reordered { expected },
        });
        breaks.extend(broken_link);
        self.check_stream(record, true, breaks);
    }

    /// Bytes that were no record stood where records are missing, as far as there are any.
    fn settle_unreadable(&mut self, next: u64) {
        let unreadable = std::mem::take(&mut self.unreadable);
        let count = unreadable.count.min(next.saturating_sub(self.next));
        if let Some(last) = unreadable.hash(count) {
            self.next += count;
            self.last = last;
        }
    }

    fn check_stream(&mut self, record: &Record, is_late: bool, breaks: &mut Vec<Break>) {
        let found_seq = record.stream_seq();
        let Some(next_seq) = self.next_seq.get_mut(record.stream()) else {
            if self.from_the_start && found_seq != 0 {
                breaks.push(stream_gap(record, 0));
            }
            self.next_seq
                .insert(record.stream().into(), found_seq.saturating_add(1));
            return;
        };
        // A late record was already missed when its stream went past it.
        if found_seq != *next_seq && !(is_late && found_seq < *next_seq) {
            breaks.push(stream_gap(record, *next_seq));
        }
        *next_seq = found_seq.saturating_add(1).max(*next_seq);
    }
}

fn stream_gap(record: &Record, expected_seq: u64) -> Break {
    let stream = record.stream().to_owned();
    let cause = Cause::StreamGap {
        stream,
        expected_seq,
        found_seq: record.stream_seq(),
    };
    Break {
        position: record.position(),
        cause,
    }
}

#[cfg(test)]
mod tests;
