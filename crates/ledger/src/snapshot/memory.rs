//! Snapshots that are forgotten when they are dropped, and a place that can fail.

use super::SnapshotStore;
use std::collections::BTreeMap;
use std::io;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// How many snapshots are kept.
const KEPT: usize = 2;

/// How saving is to fail.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SaveFault {
    /// Nothing is kept, and the caller is told.
    Refused,
    /// Only so many bytes are kept, as if the machine had lost power; the caller is not told.
    Torn(usize),
}

/// A [`SnapshotStore`] for tests.
#[derive(Debug, Default)]
pub struct MemorySnapshots {
    kept: Mutex<BTreeMap<u64, Vec<u8>>>,
    fault: Mutex<Option<SaveFault>>,
}

impl MemorySnapshots {
    /// A place without snapshots.
    pub fn new() -> MemorySnapshots {
        MemorySnapshots::default()
    }

    /// Makes every save to come fail; `None` ends it.
    pub fn fail_saves(&self, fault: Option<SaveFault>) {
        *lock(&self.fault) = fault;
    }

    /// Puts bytes there as they are, as somebody with a shell could.
    pub fn plant(&self, size: u64, bytes: Vec<u8>) {
        lock(&self.kept).insert(size, bytes);
    }

    /// Removes all of them.
    pub fn clear(&self) {
        lock(&self.kept).clear();
    }
}

impl SnapshotStore for MemorySnapshots {
    fn save(&self, size: u64, bytes: &[u8]) -> io::Result<()> {
        let mut bytes = bytes.to_vec();
        match *lock(&self.fault) {
            Some(SaveFault::Refused) => return Err(io::Error::other("this save was told to fail")),
            Some(SaveFault::Torn(length)) => bytes.truncate(length),
            None => {}
        }
        let mut kept = lock(&self.kept);
        kept.retain(|known, _| *known < size);
        kept.insert(size, bytes);
        while kept.len() > KEPT {
            kept.pop_first();
        }
        Ok(())
    }

    fn sizes(&self) -> io::Result<Vec<u64>> {
        Ok(lock(&self.kept).keys().rev().copied().collect())
    }

    fn load(&self, size: u64) -> io::Result<Vec<u8>> {
        let bytes = lock(&self.kept).get(&size).cloned();
        bytes.ok_or_else(|| io::ErrorKind::NotFound.into())
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
