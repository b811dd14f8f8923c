//! A checkpoint that somebody noted earlier, wherever they have it from: the log has to hold the very
//! records that it was signed over. It shows what no audit of one file can: that a log was cut off, or
//! written anew by whoever has the ledger's keys.

use x811_eventlog::{Checkpoint, CheckpointError};

/// It, until as many records are here as it covers.
#[derive(Debug, Clone)]
pub(crate) struct Noted {
    pub note: String,
    pub claimed: Result<Checkpoint, CheckpointError>,
}

impl Noted {
    pub(crate) fn of(note: String) -> Noted {
        Noted {
            claimed: Checkpoint::claimed(&note),
            note,
        }
    }

    /// Whether it covers so many records.
    pub(crate) fn is_over(&self, size: u64) -> bool {
        matches!(&self.claimed, Ok(claimed) if claimed.size == size)
    }
}
