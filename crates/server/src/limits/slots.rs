//! What each key holds at the moment: long polls that wait, bytes that are being read. Memory is
//! bounded by what is held.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// How much of something each key holds, and the most it may.
#[derive(Debug)]
pub(super) struct Slots<K> {
    most: u64,
    held: Arc<Mutex<HashMap<K, u64>>>,
}

/// A share that is held until it is dropped.
#[derive(Debug)]
pub(crate) struct Slot<K: Hash + Eq> {
    key: Option<K>,
    amount: u64,
    held: Arc<Mutex<HashMap<K, u64>>>,
}

impl<K: Hash + Eq + Clone> Slots<K> {
    pub(super) fn new(most: u64) -> Slots<K> {
        Slots {
            most,
            held: Arc::default(),
        }
    }

    /// Takes `amount` for `key`; `None` when that is more than it may hold.
    pub(super) fn take(&self, key: K, amount: u64) -> Option<Slot<K>> {
        let mut held = lock(&self.held);
        let now = held.get(&key).copied().unwrap_or(0).checked_add(amount)?;
        if now > self.most {
            return None;
        }
        held.insert(key.clone(), now);
        Some(Slot {
            key: Some(key),
            amount,
            held: self.held.clone(),
        })
    }

    /// How much `key` holds.
    pub(super) fn held(&self, key: &K) -> u64 {
        lock(&self.held).get(key).copied().unwrap_or(0)
    }
}

impl<K: Hash + Eq> Drop for Slot<K> {
    fn drop(&mut self) {
        let Some(key) = self.key.take() else {
            return;
        };
        let mut held = lock(&self.held);
        let left = held.get(&key).map_or(0, |now| now - self.amount);
        if left == 0 {
            held.remove(&key);
        } else {
            held.insert(key, left);
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_dropped_is_free_again_and_nothing_is_left_behind() {
        let slots = Slots::new(3);
        let first = slots.take("a", 2).unwrap();
        assert!(slots.take("a", 2).is_none());
        let second = slots.take("a", 1).unwrap();
        let neighbour = slots.take("b", 3).unwrap();
        drop(first);
        let third = slots.take("a", 2).unwrap();
        assert!(slots.take("a", 1).is_none());
        drop((second, third, neighbour));
        assert!(lock(&slots.held).is_empty());
    }
}
