//! Nonces that were spent lately: a table for every minute, which is dropped whole once nothing in it
//! counts any more.
//!
//! Nonces are random, so in a map that shares what a change leaves alone each would copy a way of
//! its own. Worlds follow each other in one line, though: every one holds what the one before it
//! did, and a little more. They share one table, whose entries are numbered; a world sees those
//! that it or one before it put in, and only the last of the line adds to it, from one thread at a
//! time. A world that goes on from an earlier one, because the later were dropped, takes a copy.

use crate::world::FirstAnswer;
use imbl::OrdMap;
use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use x811_protocol::digest::Digest;
use x811_protocol::time::TimestampMs;

const BUCKET_MS: u64 = 60_000;

/// A bucket that does not come.
const NEVER: u64 = u64::MAX;

/// Parts of a table, each with a lock of its own: when one has to grow, or is read from end to end,
/// few entries are moved or waited for.
const PARTS: usize = 64;

/// Nonces spent within a window, by tag, each with what it led to. Cloning shares everything.
#[derive(Debug, Clone, Default)]
pub(crate) struct Spent {
    /// By number, the last one first looked at.
    buckets: OrdMap<u64, View>,
    /// Buckets before this one are forgotten.
    kept_from: u64,
}

/// What one world sees of a table: its first so many entries.
#[derive(Debug, Clone, Default)]
struct View {
    table: Arc<Table>,
    size: u64,
}

#[derive(Debug)]
struct Table {
    parts: [Mutex<Part>; PARTS],
    /// Entries ever put in.
    size: AtomicU64,
}

type Part = HashMap<Digest, Entry, foldhash::fast::RandomState>;

#[derive(Debug, Clone, Copy)]
struct Entry {
    number: u64,
    answer: FirstAnswer,
}

impl Spent {
    /// Holds nothing, whatever is put in.
    pub(crate) fn never() -> Spent {
        Spent {
            kept_from: NEVER,
            ..Spent::default()
        }
    }

    /// What [`Spent::entries`] gave: tags and answers with the numbers of their buckets.
    pub(crate) fn from_entries(entries: Vec<(Digest, FirstAnswer, u64)>) -> Spent {
        let mut spent = Spent::default();
        for (tag, answer, bucket) in entries {
            spent.buckets.entry(bucket).or_default().insert(tag, answer);
        }
        spent
    }

    /// Every tag that is held, with what it led to and the number of its bucket.
    pub(crate) fn entries(&self) -> Vec<(Digest, FirstAnswer, u64)> {
        let mut entries = Vec::with_capacity(self.len());
        for (bucket, view) in &self.buckets {
            view.for_each(|tag, answer| entries.push((*tag, answer, *bucket)));
        }
        entries
    }

    pub(crate) fn get(&self, tag: &Digest) -> Option<FirstAnswer> {
        let mut newest_first = self.buckets.values().rev();
        newest_first.find_map(|view| view.get(tag))
    }

    pub(crate) fn insert(&mut self, tag: Digest, answer: FirstAnswer, at: TimestampMs) {
        if self.kept_from == NEVER {
            return;
        }
        let bucket = at.as_ms() / BUCKET_MS;
        self.buckets.entry(bucket).or_default().insert(tag, answer);
    }

    /// Forgets whole buckets that ended before `before`.
    pub(crate) fn forget(&mut self, before: TimestampMs) {
        let keep = before.as_ms() / BUCKET_MS;
        self.kept_from = self.kept_from.max(keep);
        while let Some((bucket, _)) = self.buckets.get_min()
            && *bucket < keep
        {
            let bucket = *bucket;
            self.buckets.remove(&bucket);
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.buckets.values().map(|view| view.size as usize).sum()
    }
}

impl View {
    fn get(&self, tag: &Digest) -> Option<FirstAnswer> {
        let entry = *self.table.part_of(tag).get(tag)?;
        (entry.number < self.size).then_some(entry.answer)
    }

    fn insert(&mut self, tag: Digest, answer: FirstAnswer) {
        if self.table.size.load(Ordering::Acquire) > self.size {
            // Others went on from here, and were dropped.
            self.table = Arc::new(self.table.until(self.size));
        }
        let number = self.size;
        let mut part = self.table.part_of(&tag);
        let known = part.entry(tag).or_insert(Entry { number, answer });
        known.answer = answer;
        if known.number == number {
            self.size += 1;
            self.table.size.store(self.size, Ordering::Release);
        }
    }

    fn for_each(&self, mut each: impl FnMut(&Digest, FirstAnswer)) {
        for part in &self.table.parts {
            for (tag, entry) in locked(part).iter() {
                if entry.number < self.size {
                    each(tag, entry.answer);
                }
            }
        }
    }
}

impl Table {
    fn part_of(&self, tag: &Digest) -> MutexGuard<'_, Part> {
        // Tags are hashes.
        locked(&self.parts[usize::from(tag.as_bytes()[0]) % PARTS])
    }

    /// The first so many entries.
    fn until(&self, size: u64) -> Table {
        let first = |part: &Mutex<Part>| {
            let part = locked(part);
            let entries = part.iter().filter(|(_, entry)| entry.number < size);
            Mutex::new(entries.map(|(tag, entry)| (*tag, *entry)).collect())
        };
        Table {
            parts: std::array::from_fn(|at| first(&self.parts[at])),
            size: AtomicU64::new(size),
        }
    }
}

impl Default for Table {
    fn default() -> Table {
        Table {
            parts: std::array::from_fn(|_| Mutex::default()),
            size: AtomicU64::new(0),
        }
    }
}

fn locked(part: &Mutex<Part>) -> MutexGuard<'_, Part> {
    // An entry is put in whole before it is counted.
    part.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tag(number: u8) -> Digest {
        Digest::of(&[number])
    }

    fn answer(position: u64) -> FirstAnswer {
        FirstAnswer::Record(position)
    }

    const AT: TimestampMs = TimestampMs::new(59_999);

    #[test]
    fn never_is_never() {
        let mut spent = Spent::never();
        spent.insert(tag(1), answer(1), TimestampMs::new(u64::MAX));
        spent.forget(TimestampMs::new(0));
        spent.insert(tag(2), answer(2), TimestampMs::new(0));
        assert_eq!((spent.len(), spent.get(&tag(1))), (0, None));
    }

    #[test]
    fn forgets_whole_buckets_only() {
        let mut spent = Spent::default();
        spent.insert(tag(1), answer(1), AT);
        spent.insert(tag(2), answer(2), TimestampMs::new(60_000));
        spent.forget(TimestampMs::new(60_000));
        let held = (spent.get(&tag(1)), spent.get(&tag(2)), spent.len());
        assert_eq!(held, (None, Some(answer(2)), 1));
        spent.forget(TimestampMs::new(119_999));
        assert_eq!(spent.get(&tag(2)), Some(answer(2)));
        spent.forget(TimestampMs::new(120_000));
        assert_eq!(spent.len(), 0);
    }

    #[test]
    fn an_earlier_world_does_not_see_what_a_later_one_put_in() {
        let mut first = Spent::default();
        first.insert(tag(1), answer(1), AT);
        let mut second = first.clone();
        second.insert(tag(2), answer(2), AT);
        assert_eq!((first.get(&tag(2)), first.len()), (None, 1));
        assert_eq!(first.entries(), [(tag(1), answer(1), 0)]);
        assert_eq!((second.get(&tag(1)), second.len()), (Some(answer(1)), 2));
    }

    #[test]
    fn worlds_that_part_know_nothing_of_each_other() {
        let mut first = Spent::default();
        first.insert(tag(1), answer(1), AT);
        let mut dropped = first.clone();
        dropped.insert(tag(2), answer(2), AT);
        dropped.insert(tag(3), answer(3), AT);
        let mut second = first.clone();
        second.insert(tag(3), answer(4), AT);
        second.insert(tag(5), answer(5), AT);
        let seen = |spent: &Spent| [1, 2, 3, 5].map(|number| spent.get(&tag(number)));
        assert_eq!(seen(&first), [Some(answer(1)), None, None, None]);
        let of_dropped = [Some(answer(1)), Some(answer(2)), Some(answer(3)), None];
        assert_eq!(seen(&dropped), of_dropped);
        let of_second = [Some(answer(1)), None, Some(answer(4)), Some(answer(5))];
        assert_eq!(seen(&second), of_second);
        assert_eq!((first.len(), dropped.len(), second.len()), (1, 3, 3));
    }

    #[test]
    fn what_a_world_holds_is_read_while_later_ones_go_on() {
        let mut first = Spent::default();
        for number in 0..100 {
            first.insert(tag(number), answer(number.into()), AT);
        }
        let mut last = first.clone();
        std::thread::scope(|scope| {
            let going_on = scope.spawn(|| {
                for number in 0_u32..20_000 {
                    last.insert(Digest::of(&number.to_be_bytes()), answer(1_000), AT);
                }
            });
            while !going_on.is_finished() {
                assert_eq!(first.entries().len(), 100);
            }
        });
        assert_eq!(first.entries().len(), 100);
        assert_eq!((last.len(), last.entries().len()), (20_100, 20_100));
    }

    #[test]
    fn what_was_held_comes_back() {
        let mut spent = Spent::default();
        for number in 0..200 {
            spent.insert(
                tag(number),
                answer(number.into()),
                TimestampMs::new(u64::from(number) * 1_000),
            );
        }
        spent.insert(tag(7), answer(1_007), TimestampMs::new(7_000));
        let mut entries = spent.entries();
        let mut again = Spent::from_entries(entries.clone()).entries();
        entries.sort_unstable_by_key(|(tag, _, _)| *tag);
        again.sort_unstable_by_key(|(tag, _, _)| *tag);
        assert_eq!((entries.len(), &entries), (200, &again));
        assert_eq!(spent.get(&tag(7)), Some(answer(1_007)));
    }
}
