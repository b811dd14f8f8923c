//! The last line: where the log, or what is here of it, ends.

use serde::{Deserialize, Serialize};
use x811_eventlog::Hash;

/// The version of the trailer, under `x811_trailer`.
pub const TRAILER_VERSION: u64 = 1;

pub(super) const MARK: &str = "x811_trailer";

/// Where the log ends, as the writer saw it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Trailer {
    /// Record hash of the last record in the file.
    pub head: Hash,
    /// How many records are in the file; only in a bundle of one interaction, where they are fewer
    /// than `size`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub records: Option<u64>,
    /// Root of the Merkle tree over all records of the log up to `size`.
    pub root: Hash,
    /// Number of records of the log.
    pub size: u64,
}

impl Trailer {
    /// The line, without its line end.
    ///
    /// # Errors
    /// When the members cannot be written as JSON.
    pub fn to_line(&self) -> Result<Vec<u8>, serde_json::Error> {
        let members = serde_json::to_value(self)?;
        Ok(super::line::write_mark(members, MARK, TRAILER_VERSION))
    }

    /// Reads the line, without its line end.
    ///
    /// # Errors
    /// Says what is wrong with it.
    pub fn parse(line: &[u8]) -> Result<Trailer, String> {
        let (_, members) = super::line::read_mark(line, MARK, &[TRAILER_VERSION])?;
        Trailer::deserialize(members).map_err(|error| error.to_string())
    }
}
