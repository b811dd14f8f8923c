//! What was seen lately, in time buckets, so that forgetting costs nothing and memory stays bounded
//! by the rate and the window, never by the history.

use imbl::shared_ptr::DefaultSharedPtr;
use imbl::{GenericHashMap, HashMap, OrdMap, Vector};
use std::collections::BTreeMap;
use std::hash::Hash;
use std::sync::Arc;
use x811_protocol::time::TimestampMs;

const BUCKET_MS: u64 = 60_000;

/// A bucket that does not come.
const NEVER: u64 = u64::MAX;

/// A map for keys without an order worth keeping.
pub(crate) type Scattered<K, V> =
    GenericHashMap<K, V, foldhash::fast::RandomState, DefaultSharedPtr>;

/// Keys seen within a window, each with what it led to. Keys that follow each other come together, so
/// that a batch of them copies little. Cloning shares everything.
#[derive(Debug, Clone)]
pub(crate) struct Recent<K: Ord, V> {
    /// With the numbers of their buckets.
    values: OrdMap<K, (u64, V)>,
    buckets: OrdMap<u64, Vector<K>>,
    /// What a snapshot knew; dropped whole once its last bucket is forgotten.
    restored: Option<Arc<Restored<K, V>>>,
    /// Buckets before this one are forgotten.
    kept_from: u64,
}

/// A table that is only read: far quicker to fill than a map that can be shared and changed.
#[derive(Debug)]
struct Restored<K, V> {
    values: std::collections::HashMap<K, (u64, V), foldhash::fast::RandomState>,
    counts: BTreeMap<u64, usize>,
}

impl<K: Ord, V> Default for Recent<K, V> {
    fn default() -> Self {
        Recent {
            values: OrdMap::new(),
            buckets: OrdMap::new(),
            restored: None,
            kept_from: 0,
        }
    }
}

impl<K: Hash + Ord + Clone, V: Clone> Recent<K, V> {
    /// Holds nothing, whatever is put in.
    pub(crate) fn never() -> Self {
        Recent {
            kept_from: NEVER,
            ..Recent::default()
        }
    }

    /// What [`Recent::entries`] gave: keys with the numbers of their buckets.
    pub(crate) fn from_entries(entries: Vec<(K, V, u64)>) -> Self {
        let mut recent = Recent::default();
        if entries.is_empty() {
            return recent;
        }
        let mut restored = Restored {
            values: std::collections::HashMap::with_capacity_and_hasher(
                entries.len(),
                foldhash::fast::RandomState::default(),
            ),
            counts: BTreeMap::new(),
        };
        for (key, value, bucket) in entries {
            *restored.counts.entry(bucket).or_default() += 1;
            restored.values.insert(key, (bucket, value));
        }
        recent.restored = Some(Arc::new(restored));
        recent
    }

    /// Every key that is held, with what it led to and the number of its bucket.
    pub(crate) fn entries(&self) -> impl Iterator<Item = (&K, &V, u64)> {
        let restored = self.restored.iter().flat_map(|restored| &restored.values);
        restored
            .filter(|(_, (bucket, _))| *bucket >= self.kept_from)
            .chain(&self.values)
            .map(|(key, (bucket, value))| (key, value, *bucket))
    }

    pub(crate) fn get(&self, key: &K) -> Option<&V> {
        let restored = || {
            let restored = self.restored.as_ref()?.values.get(key)?;
            (restored.0 >= self.kept_from).then_some(restored)
        };
        let (_, value) = self.values.get(key).or_else(restored)?;
        Some(value)
    }

    pub(crate) fn insert(&mut self, key: K, value: V, at: TimestampMs) {
        if self.kept_from == NEVER {
            return;
        }
        let bucket = at.as_ms() / BUCKET_MS;
        self.values.insert(key.clone(), (bucket, value));
        self.buckets.entry(bucket).or_default().push_back(key);
    }

    /// Forgets whole buckets that ended before `before`.
    pub(crate) fn forget(&mut self, before: TimestampMs) {
        let keep = before.as_ms() / BUCKET_MS;
        self.kept_from = self.kept_from.max(keep);
        while let Some((bucket, _)) = self.buckets.get_min()
            && *bucket < keep
        {
            let bucket = *bucket;
            for key in self.buckets.remove(&bucket).unwrap_or_default() {
                self.values.remove(&key);
            }
        }
        if let Some(restored) = &self.restored
            && restored.counts.range(self.kept_from..).next().is_none()
        {
            self.restored = None;
        }
    }

    pub(crate) fn len(&self) -> usize {
        let restored = self.restored.iter().flat_map(|r| &r.counts);
        let restored: usize = restored
            .filter(|(bucket, _)| **bucket >= self.kept_from)
            .map(|(_, count)| count)
            .sum();
        self.values.len() + restored
    }
}

/// How often each key was seen within a window. Cloning shares everything.
#[derive(Debug, Clone)]
pub(crate) struct Tally<K: Hash + Eq + Clone> {
    counts: HashMap<K, u64>,
    buckets: OrdMap<u64, HashMap<K, u64>>,
}

impl<K: Hash + Eq + Clone> Default for Tally<K> {
    fn default() -> Self {
        Tally {
            counts: HashMap::new(),
            buckets: OrdMap::new(),
        }
    }
}

impl<K: Hash + Eq + Clone> Tally<K> {
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
    fn never_is_never() {
        let mut recent = Recent::never();
        recent.insert("a", 1, TimestampMs::new(u64::MAX));
        recent.forget(TimestampMs::new(0));
        recent.insert("b", 2, TimestampMs::new(0));
        assert_eq!(
            (recent.len(), recent.get(&"a"), recent.get(&"b")),
            (0, None, None)
        );
    }

    #[test]
    fn forgets_whole_buckets_only() {
        let mut recent = Recent::default();
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
        let mut tally = Tally::default();
        for (key, at_ms) in [("a", 0), ("a", 59_999), ("a", 60_000), ("b", 60_000)] {
            tally.add(key, TimestampMs::new(at_ms));
        }
        assert_eq!((tally.count(&"a"), tally.count(&"b")), (3, 1));
        tally.forget(TimestampMs::new(60_000));
        assert_eq!((tally.count(&"a"), tally.count(&"b")), (1, 1));
        tally.forget(TimestampMs::new(120_000));
        assert_eq!((tally.counts.len(), tally.buckets.len()), (0, 0));
    }

    #[test]
    fn what_was_restored_is_forgotten_like_the_rest() {
        let mut recent = Recent::from_entries(vec![("a", 1, 0), ("b", 2, 1)]);
        recent.insert("c", 3, TimestampMs::new(60_000));
        assert_eq!((recent.get(&"a"), recent.len()), (Some(&1), 3));
        recent.forget(TimestampMs::new(60_000));
        let mut held: Vec<_> = recent.entries().collect();
        held.sort_unstable();
        assert_eq!(held, [(&"b", &2, 1), (&"c", &3, 1)]);
        assert_eq!((recent.get(&"a"), recent.len()), (None, 2));
        recent.forget(TimestampMs::new(120_000));
        assert_eq!((recent.get(&"b"), recent.len()), (None, 0));
        assert!(recent.restored.is_none());
    }
}
