//! What an operator wants to count: plain figures, kept with atomics beside the work, read by
//! whoever shows them. Nothing here knows how they are shown, and no decision reads them.

use crate::answer::Answer;
use std::sync::atomic::{AtomicU64, Ordering};
use x811_protocol::code::Code;
use x811_protocol::refusal::Refusal;

/// Upper bounds of a duration's buckets, in milliseconds.
const DURATION_BOUNDS_MS: &[u64] = &[1, 2, 5, 10, 25, 50, 100, 250, 500, 1_000, 2_500, 5_000];

/// Upper bounds of a batch's buckets, in records.
const BATCH_BOUNDS: &[u64] = &[1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1_024];

/// The events that settlement consists of (record.md section 4).
const SETTLEMENT_KINDS: [&str; 9] = [
    "seen",
    "unseen",
    "refuted",
    "looked",
    "confirmed",
    "final",
    "reversed",
    "returned",
    "late",
];

/// What has happened since the ledger was opened.
#[derive(Debug)]
pub struct Figures {
    accepted: AtomicU64,
    repeated: AtomicU64,
    /// By the place of the code in [`Code::ALL`].
    refused: Box<[AtomicU64]>,
    /// Signatures that were checked together with others.
    pub checked_together: Counter,
    /// Group commits that failed.
    pub failed_commits: Counter,
    /// Records that were written.
    pub records: Counter,
    /// Lapses among them.
    pub lapses: Counter,
    /// By the place of the kind in [`SETTLEMENT_KINDS`].
    settlement: [AtomicU64; SETTLEMENT_KINDS.len()],
    /// How long group commits took, in milliseconds.
    pub commit_ms: Histogram,
    /// How many records they wrote.
    pub commit_records: Histogram,
    /// How long messages waited for their turn, in milliseconds.
    pub turn_wait_ms: Histogram,
}

impl Default for Figures {
    fn default() -> Figures {
        Figures {
            accepted: AtomicU64::new(0),
            repeated: AtomicU64::new(0),
            refused: Code::ALL.iter().map(|_| AtomicU64::new(0)).collect(),
            checked_together: Counter::default(),
            failed_commits: Counter::default(),
            records: Counter::default(),
            lapses: Counter::default(),
            settlement: Default::default(),
            commit_ms: Histogram::with_bounds(DURATION_BOUNDS_MS),
            commit_records: Histogram::with_bounds(BATCH_BOUNDS),
            turn_wait_ms: Histogram::with_bounds(DURATION_BOUNDS_MS),
        }
    }
}

impl Figures {
    /// Notes how a message was answered.
    pub(crate) fn answered(&self, answer: &Result<Answer, Refusal>) {
        let counter = match answer {
            Ok(Answer::Accepted(_)) => &self.accepted,
            Ok(Answer::Repeated(_)) => &self.repeated,
            Err(refusal) => match self.refused.get(refusal.code as usize) {
                Some(counter) => counter,
                None => return,
            },
        };
        counter.fetch_add(1, Ordering::Relaxed);
    }

    /// Notes a record by its event's type; types that have nothing to do with settlement are left
    /// out.
    pub(crate) fn settled(&self, event_type: &[u8]) {
        let mut kinds = SETTLEMENT_KINDS.iter().zip(&self.settlement);
        if let Some((_, count)) = kinds.find(|(kind, _)| kind.as_bytes() == event_type) {
            count.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Records of settlement, by kind, also those that never occurred: an alert on the first
    /// reversal needs the zero before it.
    pub fn settlement(&self) -> impl Iterator<Item = (&'static str, u64)> {
        let counts = self.settlement.iter();
        let counts = counts.map(|count| count.load(Ordering::Relaxed));
        SETTLEMENT_KINDS.into_iter().zip(counts)
    }

    /// Messages accepted, with a record of their own.
    pub fn accepted(&self) -> u64 {
        self.accepted.load(Ordering::Relaxed)
    }

    /// Messages answered with the answer of an earlier one.
    pub fn repeated(&self) -> u64 {
        self.repeated.load(Ordering::Relaxed)
    }

    /// Messages refused, by code; codes that never occurred are left out.
    pub fn refused(&self) -> impl Iterator<Item = (Code, u64)> {
        let counts = self
            .refused
            .iter()
            .map(|count| count.load(Ordering::Relaxed));
        Code::ALL
            .into_iter()
            .zip(counts)
            .filter(|(_, count)| *count > 0)
    }
}

/// A number that only grows.
#[derive(Debug, Default)]
pub struct Counter(AtomicU64);

impl Counter {
    pub(crate) fn add(&self, more: u64) {
        self.0.fetch_add(more, Ordering::Relaxed);
    }

    /// How many so far.
    pub fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// How often values fell under which bound.
#[derive(Debug)]
pub struct Histogram {
    bounds: &'static [u64],
    /// One more than there are bounds: the last holds what is above all of them.
    counts: Box<[AtomicU64]>,
    sum: AtomicU64,
}

impl Histogram {
    fn with_bounds(bounds: &'static [u64]) -> Histogram {
        Histogram {
            bounds,
            counts: (0..=bounds.len()).map(|_| AtomicU64::new(0)).collect(),
            sum: AtomicU64::new(0),
        }
    }

    pub(crate) fn note(&self, value: u64) {
        let bucket = self.bounds.partition_point(|bound| *bound < value);
        if let Some(count) = self.counts.get(bucket) {
            count.fetch_add(1, Ordering::Relaxed);
        }
        self.sum.fetch_add(value, Ordering::Relaxed);
    }

    /// Bounds with the number of values up to each and above the one before; `None` is above all.
    pub fn buckets(&self) -> impl Iterator<Item = (Option<u64>, u64)> {
        let bounds = self.bounds.iter().copied().map(Some).chain([None]);
        bounds.zip(
            self.counts
                .iter()
                .map(|count| count.load(Ordering::Relaxed)),
        )
    }

    /// The sum of all values.
    pub fn sum(&self) -> u64 {
        self.sum.load(Ordering::Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use x811_protocol::refusal::Kind;

    #[test]
    fn a_value_counts_under_the_first_bound_that_holds_it() {
        let histogram = Histogram::with_bounds(&[1, 10]);
        for value in [0, 1, 2, 10, 11, 1_000] {
            histogram.note(value);
        }
        let buckets: Vec<_> = histogram.buckets().collect();
        assert_eq!(buckets, [(Some(1), 2), (Some(10), 2), (None, 2)]);
        assert_eq!(histogram.sum(), 1_024);
    }

    #[test]
    fn settlement_counts_by_kind_and_from_zero() {
        let figures = Figures::default();
        for event_type in ["reversed", "seen", "reversed", "lapsed"] {
            figures.settled(event_type.as_bytes());
        }
        let counted: Vec<_> = figures.settlement().collect();
        assert_eq!(counted.len(), SETTLEMENT_KINDS.len());
        for (kind, count) in counted {
            let expected = match kind {
                "reversed" => 2,
                "seen" => 1,
                _ => 0,
            };
            assert_eq!(count, expected, "{kind}");
        }
    }

    #[test]
    fn every_refusal_counts_under_its_code() {
        let figures = Figures::default();
        for code in Code::ALL {
            figures.answered(&Err(Refusal::new(code, Kind::State, "why")));
        }
        let refused: Vec<_> = figures.refused().collect();
        assert_eq!(refused, Code::ALL.map(|code| (code, 1)));
        assert_eq!((figures.accepted(), figures.repeated()), (0, 0));
    }
}
