//! A log in memory: for tests and demonstrations, and the plainest reading of the [`EventLog`]
//! promises.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use event_listener::Event;

use crate::chain::Head;
use crate::log::{AppendError, EventLog, ReadError, check_batch};
use crate::record::Record;

/// An [`EventLog`] that forgets everything when it is dropped.
#[derive(Debug, Default)]
pub struct MemoryLog {
    records: Mutex<Vec<Record>>,
    is_unreadable: AtomicBool,
    grown: Event,
}

impl MemoryLog {
    /// An empty log.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            records: Mutex::new(Vec::new()),
            is_unreadable: AtomicBool::new(false),
            grown: Event::new(),
        }
    }

    /// Makes every read fail from now on, as on a dying disk, or none any more.
    pub fn set_unreadable(&self, is_unreadable: bool) {
        self.is_unreadable.store(is_unreadable, Ordering::SeqCst);
    }

    fn check_readable(&self) -> Result<(), ReadError> {
        if self.is_unreadable.load(Ordering::SeqCst) {
            return Err(ReadError::Backend(
                "this log was told to be unreadable".into(),
            ));
        }
        Ok(())
    }

    /// A panic elsewhere cannot have left the records half written: they change in one call.
    fn records(&self) -> MutexGuard<'_, Vec<Record>> {
        self.records.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn size(&self) -> u64 {
        self.records().len() as u64
    }
}

impl EventLog for MemoryLog {
    async fn append(&self, expected_size: u64, records: &[Record]) -> Result<Head, AppendError> {
        let head = {
            let mut stored = self.records();
            let head = stored.last().map_or(Head::EMPTY, Head::after);
            let head = check_batch(&head, expected_size, records)?;
            stored.extend_from_slice(records);
            head
        };
        self.grown.notify(usize::MAX);
        Ok(head)
    }

    async fn read(&self, from: u64, limit: usize) -> Result<Vec<Record>, ReadError> {
        self.check_readable()?;
        let Ok(from) = usize::try_from(from) else {
            return Ok(Vec::new());
        };
        Ok(self
            .records()
            .iter()
            .skip(from)
            .take(limit)
            .cloned()
            .collect())
    }

    async fn head(&self) -> Result<Head, ReadError> {
        self.check_readable()?;
        Ok(self.records().last().map_or(Head::EMPTY, Head::after))
    }

    async fn follow(&self, seen_size: u64) -> Result<u64, ReadError> {
        loop {
            // Listening comes first: what is appended after the look at the size wakes us.
            let listener = self.grown.listen();
            let size = self.size();
            if size > seen_size {
                return Ok(size);
            }
            listener.await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conformance::Backend;

    struct Memory;

    impl Backend for Memory {
        type Log = MemoryLog;

        async fn open(&self) -> MemoryLog {
            MemoryLog::new()
        }
    }

    crate::conformance_tests!(futures_executor::block_on, Memory);
}
