//! The first line: whose log it is.

use serde::Deserialize;
use x811_protocol::event::LedgerOpened;

/// The version of the line format, under `x811_export`.
pub const EXPORT_VERSION: u64 = 1;

const MARK: &str = "x811_export";

/// What position 0 of the log says, so that a reader knows whose log it is before the first record
/// and can compare.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Header {
    /// The event at position 0.
    pub opened: LedgerOpened,
}

impl Header {
    /// The line, without its line end.
    ///
    /// # Errors
    /// When the identity cannot be written as JSON.
    pub fn to_line(&self) -> Result<Vec<u8>, serde_json::Error> {
        let members = serde_json::to_value(&self.opened)?;
        Ok(super::write_mark(members, MARK))
    }

    /// Reads the line, without its line end.
    ///
    /// # Errors
    /// Says what is wrong with it.
    pub fn parse(line: &[u8]) -> Result<Header, String> {
        let members = super::read_mark(line, MARK)?;
        let opened = LedgerOpened::deserialize(members).map_err(|error| error.to_string())?;
        Ok(Header { opened })
    }
}
