//! The hash chain: where a log ends, and whether its records follow one another.

mod gaps;
mod links;
mod verifier;

use serde::{Deserialize, Serialize};

use crate::hash::Hash;
use crate::record::Record;

pub use links::{LinkVerifier, Linked};
pub use verifier::{Break, Cause, ChainVerifier};

/// Where a log ends. Knowing it is enough to go on writing or checking.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Head {
    /// Number of records; the position of the next one.
    pub size: u64,
    /// Record hash of the last record; [`Hash::ZERO`] when there is none.
    pub hash: Hash,
    /// Time of the last record, ms since the Unix epoch; 0 when there is none.
    pub recorded_at_ms: u64,
}

impl Head {
    /// The head of a log without records.
    pub const EMPTY: Self = Self {
        size: 0,
        hash: Hash::ZERO,
        recorded_at_ms: 0,
    };

    /// The head of a log whose last record is `record`.
    #[must_use]
    pub fn after(record: &Record) -> Self {
        Self {
            size: record.position().saturating_add(1),
            hash: record.hash(),
            recorded_at_ms: record.recorded_at_ms(),
        }
    }
}
