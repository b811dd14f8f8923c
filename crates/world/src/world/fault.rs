//! A log that does not add up, or a decision that broke its own rules.

use x811_eventlog::RecordError;
use x811_protocol::machine::Illegal;
use x811_protocol::rules::Rules;

/// Why a record cannot be applied. In a stored log it names the damage; while deciding it is a
/// defect, and the decision is dropped whole.
#[derive(Debug, thiserror::Error)]
pub enum Fault {
    /// The event's type or a member is unknown, or a value is out of shape.
    #[error("position {position}: the event cannot be read: {source}")]
    Unreadable {
        /// Place in the log.
        position: u64,
        /// What the reader found.
        source: serde_json::Error,
    },
    /// The machine's rules do not allow it.
    #[error(transparent)]
    Illegal(#[from] Illegal),
    /// The event does not belong in its stream, or not there.
    #[error("position {position}: {event} does not belong in stream {stream}: {why}")]
    Misplaced {
        /// Place in the log.
        position: u64,
        /// The event's type.
        event: &'static str,
        /// The stream's name.
        stream: String,
        /// What rule it breaks.
        why: &'static str,
    },
    /// Decision rules that this program does not know are in force from there on.
    #[error(
        "unknown version: from position {position} on rules {rules_version} are in force, and this \
         program knows {}: use the version of x811 that wrote the log",
        Rules::LATEST.version()
    )]
    UnknownRules {
        /// Place in the log.
        position: u64,
        /// The version of the rules that it names.
        rules_version: u64,
    },
    /// The record itself cannot be made.
    #[error(transparent)]
    Record(#[from] RecordError),
}
