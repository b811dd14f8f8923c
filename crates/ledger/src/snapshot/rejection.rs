//! Why a snapshot is ignored.

use x811_eventlog::Hash;
use x811_protocol::did::Did;

/// Why a snapshot is ignored. The ledger starts without it, only later.
#[derive(Debug, thiserror::Error)]
pub enum Rejection {
    /// It cannot be read.
    #[error("it cannot be read: {0}")]
    Load(#[from] std::io::Error),
    /// Something else, or cut off early.
    #[error("it does not begin like a snapshot")]
    NotASnapshot,
    /// Written by another version of this program.
    #[error("it has format {format} and schema {schema}; this program has another one")]
    Version {
        /// Layout of the bytes.
        format: u32,
        /// Meaning of the state in them.
        schema: u32,
    },
    /// The snapshot is of another ledger.
    #[error("it is a snapshot of the ledger {0}")]
    OtherLedger(Did),
    /// Changed, or planted by somebody without this ledger's keys.
    #[error("it is not signed by this ledger")]
    Signature,
    /// Changed behind the signed part, or cut off.
    #[error(
        "its content is not the signed one: found {found} bytes of {expected} or another digest"
    )]
    Content {
        /// Bytes that were signed.
        expected: u64,
        /// Bytes there are.
        found: u64,
    },
    /// Signed, and yet not a state: a defect of this program.
    #[error("its content cannot be read: {0}")]
    Unreadable(String),
    /// Newer than what may be used.
    #[error("it is of {size} records, and only {allowed} may be used: {why}")]
    Ahead {
        /// Records it is of.
        size: u64,
        /// The most it may be of.
        allowed: u64,
        /// Which of them is shorter.
        why: &'static str,
    },
    /// The log has another record where the snapshot ends.
    #[error("record {position} of the log has another hash than it names: {expected}")]
    Head {
        /// Position of the last record it is of.
        position: u64,
        /// What the snapshot says.
        expected: Hash,
    },
    /// What follows does not follow from it.
    #[error("the log does not follow from it: {0}")]
    Tail(String),
}
