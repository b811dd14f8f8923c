//! What was asked, so that a budget of calls can be asserted.

use std::collections::BTreeMap;

/// What passed through a proxy since its start.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Traffic {
    /// HTTP requests; a batch is one.
    pub http_requests: u64,
    /// Bytes of requests.
    pub bytes_in: u64,
    /// Bytes of answers.
    pub bytes_out: u64,
    /// Calls in the longest batch.
    pub longest_batch: usize,
    calls: BTreeMap<String, u64>,
}

impl Traffic {
    /// Calls, each member of a batch counted.
    #[must_use]
    pub fn calls(&self) -> u64 {
        self.calls.values().sum()
    }

    /// Calls of `method`.
    #[must_use]
    pub fn calls_of(&self, method: &str) -> u64 {
        self.calls.get(method).copied().unwrap_or(0)
    }

    /// One more call of `method`; how many that makes.
    pub(super) fn count(&mut self, method: String) -> u64 {
        let count = self.calls.entry(method).or_default();
        *count += 1;
        *count
    }
}
