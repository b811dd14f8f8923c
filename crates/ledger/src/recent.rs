//! What was seen lately, in time buckets, so that forgetting costs nothing and memory stays bounded
//! by the rate and the window, never by the history.

use imbl::{HashMap, OrdMap, Vector};
use std::hash::Hash;
use x811_protocol::time::TimestampMs;

const BUCKET_MS: u64 = 60_000;

/// Keys seen within a window, each with what it led to. Cloning shares everything.
#[derive(Debug, Clone)]
pub(crate) struct Recent<K: Hash + Eq + Clone, V: Clone> {
    values: HashMap<K, V>,
    buckets: OrdMap<u64, Vector<K>>,
}

impl<K: Hash + Eq + Clone, V: Clone> Recent<K, V> {
    pub(crate) fn new() -> Self {
        Recent {
            values: HashMap::new(),
            buckets: OrdMap::new(),
        }
    }

    pub(crate) fn get(&self, key: &K) -> Option<&V> {
        self.values.get(key)
    }

    pub(crate) fn insert(&mut self, key: K, value: V, at: TimestampMs) {
        self.values.insert(key.clone(), value);
        self.buckets
            .entry(at.as_ms() / BUCKET_MS)
            .or_default()
            .push_back(key);
    }

    /// Forgets whole buckets that ended before `before`.
    pub(crate) fn forget(&mut self, before: TimestampMs) {
        let keep = before.as_ms() / BUCKET_MS;
        while let Some((bucket, _)) = self.buckets.get_min()
            && *bucket < keep
        {
            let bucket = *bucket;
            for key in self.buckets.remove(&bucket).unwrap_or_default() {
                self.values.remove(&key);
            }
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.values.len()
    }
}

/// How often each key was seen within a window. Cloning shares everything.
#[derive(Debug, Clone)]
pub(crate) struct Tally<K: Hash + Eq + Clone> {
    counts: HashMap<K, u64>,
    buckets: OrdMap<u64, HashMap<K, u64>>,
}

impl<K: Hash + Eq + Clone> Tally<K> {
    pub(crate) fn new() -> Self {
        Tally {
            counts: HashMap::new(),
            buckets: OrdMap::new(),
        }
    }

    pub(crate) fn count(&self, key: &K) -> u64 {
        self.counts.get(key).copied().unwrap_or(0)
    }

    pub(crate) fn add(&mut self, key: K, at: TimestampMs) {
        let bucket = self.buckets.entry(at.as_ms() / BUCKET_MS).or_default();
        *bucket.entry(key.clone()).or_default() += 1;
        *self.counts.entry(key).or_default() += 1;
    }

    /// Forgets whole buckets that ended before `before`.
    pub(crate) fn forget(&mut self, before: TimestampMs) {
        let keep = before.as_ms() / BUCKET_MS;
        while let Some((bucket, _)) = self.buckets.get_min()
            && *bucket < keep
        {
            let bucket = *bucket;
            for (key, seen) in self.buckets.remove(&bucket).unwrap_or_default() {
                match self.count(&key) - seen {
                    0 => self.counts.remove(&key),
                    left => self.counts.insert(key, left),
                };
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forgets_whole_buckets_only() {
        let mut recent = Recent::new();
        recent.insert("a", 1, TimestampMs::new(59_999));
        recent.insert("b", 2, TimestampMs::new(60_000));
        recent.forget(TimestampMs::new(60_000));
        assert_eq!(
            (recent.get(&"a"), recent.get(&"b"), recent.len()),
            (None, Some(&2), 1)
        );
        recent.forget(TimestampMs::new(119_999));
        assert_eq!(recent.get(&"b"), Some(&2));
        recent.forget(TimestampMs::new(120_000));
        assert_eq!(recent.len(), 0);
    }

    #[test]
    fn tallies_fall_bucket_by_bucket_and_leave_nothing_behind() {
        let mut tally = Tally::new();
        for (key, at_ms) in [("a", 0), ("a", 59_999), ("a", 60_000), ("b", 60_000)] {
            tally.add(key, TimestampMs::new(at_ms));
        }
        assert_eq!((tally.count(&"a"), tally.count(&"b")), (3, 1));
        tally.forget(TimestampMs::new(60_000));
        assert_eq!((tally.count(&"a"), tally.count(&"b")), (1, 1));
        tally.forget(TimestampMs::new(120_000));
        assert_eq!((tally.counts.len(), tally.buckets.len()), (0, 0));
    }
}
