//! What can go wrong with EventStoreDB, sorted by what the operator does about it.

use thiserror::Error;
use x811_eventlog::{AppendError, ReadError};
use x811_ledger::copy::IndexError;

/// Why EventStoreDB cannot be used, or did not do what it was asked. No address and no password is
/// in it.
#[derive(Debug, Error)]
pub enum KurrentError {
    /// The client cannot read the address.
    #[error(
        "the log's URL cannot be read: write kurrentdb://USER:PASSWORD@HOST:2113 with all nodes of the \
         cluster, separated by commas; see docs/scale.md"
    )]
    Url,
    /// No node answers, or not in time.
    #[error("EventStoreDB did not answer ({0}): see to the cluster; the ledger asks again")]
    Unreachable(String),
    /// It answered, and did nothing.
    #[error("EventStoreDB refused ({0}): check the user's rights on the stream, then start again")]
    Refused(String),
    /// Records were there once.
    #[error(
        "the stream {stream} is not there, but the database beside it has {records} of its records: \
         it was deleted, or this is another cluster. Restore it, or name the right one"
    )]
    Gone {
        /// Name of the stream.
        stream: String,
        /// Records that the database has.
        records: u64,
    },
    /// The stream is shorter than what lies beside it.
    #[error(
        "the stream has {stream} records, the database beside it {beside}: records that were \
         acknowledged are missing from the cluster. Nothing is written; restore the cluster"
    )]
    Shorter {
        /// Records of the stream.
        stream: u64,
        /// Records that the database has.
        beside: u64,
    },
    /// The two are of different logs.
    #[error(
        "record {position} of the stream is not the one that the database beside it has: they belong \
         to different logs, or one of them was changed"
    )]
    Differs {
        /// The first such record.
        position: u64,
    },
    /// The stream forgets.
    #[error(
        "the stream {stream} has {setting} in its metadata: the server may delete records of a log \
         that must keep all. Remove the setting, and let only administrators change it"
    )]
    Forgets {
        /// Name of the stream.
        stream: String,
        /// `$maxCount`, `$maxAge` or `$tb`.
        setting: &'static str,
    },
    /// An append went elsewhere than it was meant to.
    #[error(
        "records for position {meant} were stored up to position {found}: the stream was deleted or \
         cut. Stop the ledger and look at the stream"
    )]
    Misplaced {
        /// Where the last of them belongs.
        meant: u64,
        /// Where it is.
        found: u64,
    },
    /// A record that the stream has and the database has not says nothing this program knows.
    #[error("what lies beside the stream cannot be made from it: {0}")]
    Index(#[from] IndexError),
}

impl From<KurrentError> for AppendError {
    fn from(error: KurrentError) -> AppendError {
        AppendError::Backend(Box::new(error))
    }
}

impl From<KurrentError> for ReadError {
    fn from(error: KurrentError) -> ReadError {
        ReadError::Backend(Box::new(error))
    }
}
