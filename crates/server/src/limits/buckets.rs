//! Token buckets in bounded memory.
//!
//! A bucket is one number: the moment at which it will be full again (the generic cell rate
//! algorithm). A bucket that nobody uses is full, so it may be forgotten. Keys are held in two
//! generations: when the younger one is full it becomes the older one, and the oldest are dropped.
//! Whoever brings that many addresses along can only make the ledger forget, never refuse a
//! stranger.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Keys of one generation.
const GENERATION_KEYS: usize = 65_536;

const NS_PER_MS: u64 = 1_000_000;

/// How much is allowed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Rate {
    /// Time between two requests when they come evenly.
    interval_ns: u64,
    /// How far a burst may run ahead of that.
    tolerance_ns: u64,
}

impl Rate {
    /// No limit at all.
    const OFF: Rate = Rate {
        interval_ns: 0,
        tolerance_ns: u64::MAX,
    };

    /// `count` in `period_ms`, of which `burst` may come at once; a count of 0 is no limit.
    pub(super) fn new(count: u32, period_ms: u64, burst: u32) -> Rate {
        if count == 0 {
            return Rate::OFF;
        }
        let interval_ns = (period_ms * NS_PER_MS / u64::from(count)).max(1);
        Rate {
            interval_ns,
            tolerance_ns: interval_ns.saturating_mul(u64::from(burst.max(1)) - 1),
        }
    }
}

/// The buckets of all keys.
#[derive(Debug)]
pub(super) struct Buckets<K> {
    rate: Rate,
    generation_keys: usize,
    generations: Mutex<Generations<K>>,
}

#[derive(Debug)]
struct Generations<K> {
    younger: HashMap<K, u64>,
    older: HashMap<K, u64>,
}

impl<K: Hash + Eq> Buckets<K> {
    pub(super) fn new(rate: Rate) -> Buckets<K> {
        Buckets::holding(rate, GENERATION_KEYS)
    }

    fn holding(rate: Rate, generation_keys: usize) -> Buckets<K> {
        Buckets {
            rate,
            generation_keys,
            generations: Mutex::new(Generations {
                younger: HashMap::new(),
                older: HashMap::new(),
            }),
        }
    }

    /// Takes a token, or says after how many milliseconds there is one. Refusals cost nothing.
    pub(super) fn take(&self, key: K, now_ms: u64) -> Result<(), u64> {
        if self.rate == Rate::OFF {
            return Ok(());
        }
        let now_ns = now_ms.saturating_mul(NS_PER_MS);
        let mut held = lock(&self.generations);
        let known = held.younger.get(&key).or_else(|| held.older.get(&key));
        let full_at_ns = known.copied().unwrap_or(0).max(now_ns);
        let ahead_ns = full_at_ns - now_ns;
        if ahead_ns > self.rate.tolerance_ns {
            let wait_ns = ahead_ns - self.rate.tolerance_ns;
            return Err(wait_ns.div_ceil(NS_PER_MS));
        }
        let full_at_ns = full_at_ns.saturating_add(self.rate.interval_ns);
        held.younger.insert(key, full_at_ns);
        if held.younger.len() >= self.generation_keys {
            held.older = std::mem::take(&mut held.younger);
        }
        Ok(())
    }

    #[cfg(test)]
    fn len(&self) -> usize {
        let held = lock(&self.generations);
        held.younger.len() + held.older.len()
    }
}

/// A panic elsewhere leaves the numbers as true as they were.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lc_3_a_burst_passes_and_then_the_rate() {
        let buckets = Buckets::new(Rate::new(10, 1_000, 3));
        for _ in 0..3 {
            assert_eq!(buckets.take("a", 5_000), Ok(()));
        }
        assert_eq!(buckets.take("a", 5_000), Err(100));
        assert_eq!(buckets.take("b", 5_000), Ok(()), "a neighbour");
        assert_eq!(buckets.take("a", 5_099), Err(1));
        assert_eq!(buckets.take("a", 5_100), Ok(()));
        assert_eq!(buckets.take("a", 5_100), Err(100));
        for _ in 0..3 {
            assert_eq!(buckets.take("a", 9_000), Ok(()), "full again");
        }
        assert_eq!(buckets.take("a", 9_000), Err(100));
    }

    #[test]
    fn lc_3_sixty_an_hour() {
        let buckets = Buckets::new(Rate::new(60, 3_600_000, 60));
        for _ in 0..60 {
            assert_eq!(buckets.take((), 0), Ok(()));
        }
        assert_eq!(buckets.take((), 0), Err(60_000));
        assert_eq!(buckets.take((), 60_000), Ok(()));
    }

    #[test]
    fn lc_3_memory_is_bounded_and_those_in_use_are_remembered() {
        let buckets = Buckets::holding(Rate::new(1, 1_000, 2), 100);
        for stranger in 0..10_000_u32 {
            assert_eq!(buckets.take(stranger, 0), Ok(()));
            assert!(buckets.len() <= 200);
        }
        let busy = 1_000_000;
        assert_eq!(buckets.take(busy, 0), Ok(()));
        assert_eq!(buckets.take(busy, 0), Ok(()));
        for stranger in 0..99 {
            assert_eq!(buckets.take(stranger, 0), Ok(()));
        }
        assert_eq!(buckets.take(busy, 0), Err(1_000));
    }
}
