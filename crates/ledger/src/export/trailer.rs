//! The last line: where the log ends.

use serde::{Deserialize, Serialize};
use x811_eventlog::Hash;

/// The version of the trailer, under `x811_trailer`.
pub const TRAILER_VERSION: u64 = 1;

pub(super) const MARK: &str = "x811_trailer";

/// Where the log ends, as the writer saw it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Trailer {
    /// Record hash of the last record.
    pub head: Hash,
    /// Root of the Merkle tree over all records.
    pub root: Hash,
    /// Number of records.
    pub size: u64,
}

impl Trailer {
    /// The line, without its line end.
    ///
    /// # Errors
    /// When the members cannot be written as JSON.
    pub fn to_line(&self) -> Result<Vec<u8>, serde_json::Error> {
        Ok(super::write_mark(serde_json::to_value(self)?, MARK))
    }

    /// Reads the line, without its line end.
    ///
    /// # Errors
    /// Says what is wrong with it.
    pub fn parse(line: &[u8]) -> Result<Trailer, String> {
        let members = super::read_mark(line, MARK)?;
        Trailer::deserialize(members).map_err(|error| error.to_string())
    }
}
