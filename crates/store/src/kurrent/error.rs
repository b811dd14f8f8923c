//! Errors of EventStoreDB, sorted by what the operator does about them.

use thiserror::Error;
use x811_eventlog::{AppendError, ReadError};
use x811_ledger::copy::IndexError;

/// Why EventStoreDB cannot be used, or did not do what it was asked. No password is in it.
#[derive(Debug, Error)]
pub enum KurrentError {
    /// The client cannot read the address.
    #[error(
        "the log's URL cannot be read: write kurrentdb://USER:PASSWORD@HOST:2113 with all nodes of the \
         cluster, separated by commas; see docs/scale.md"
    )]
    Url,
    /// No node answers, or not in time.
    #[error("EventStoreDB cannot be used: {0}")]
    Unreachable(String),
    /// No node can be used with this address.
    #[error("EventStoreDB cannot be used: {0}")]
    Misconfigured(String),
    /// The server has no batch appends.
    #[error(
        "the server is older than EventStoreDB 21.10, and has no batch appends: use a later one"
    )]
    TooOld,
    /// It answered, and did nothing.
    #[error("EventStoreDB refused ({0}): read the logs of its nodes")]
    Refused(String),
    /// The user has not the rights that the ledger needs.
    #[error(
        "EventStoreDB denies access to the stream {stream}: give the user of the log's URL `$r`, `$w` \
         and `$mr` in the stream's `$acl` (docs/scale.md)"
    )]
    Denied {
        /// Name of the stream, or of its metadata.
        stream: String,
    },
    /// The cluster asks for a user.
    #[error(
        "EventStoreDB denies access, and the log's URL names no user: write \
         kurrentdb://USER:PASSWORD@HOST:2113"
    )]
    NoUser,
    /// Records were there once.
    #[error(
        "the stream {stream} is not there, but the database beside it has {records} of its records: \
         it was removed, or this is another cluster. Restore it, name the right one, or make a whole \
         log from the database: {MEND}"
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
         acknowledged are missing from the cluster. Nothing is written; restore the cluster, or make a \
         whole log from the database: {MEND}"
    )]
    Shorter {
        /// Records of the stream.
        stream: u64,
        /// Records that the database has.
        beside: u64,
    },
    /// The first records were removed.
    #[error(
        "the stream {stream} begins with record {first}: the server removed the records before it for \
         good (a scavenge). Nothing is written; restore the cluster, or make a whole log from the \
         database beside it: {MEND}"
    )]
    BeginsLate {
        /// Name of the stream.
        stream: String,
        /// Position of the first record that is there.
        first: u64,
    },
    /// The two are of different logs.
    #[error(
        "record {position} of the stream is not the one that the database beside it has: they belong \
         to different logs, or one of them was changed. Name the right ones; or make a whole log from the \
         one that the last signed checkpoint fits: `x811 log copy FROM TO` reads the stream, with \
         --from-database the database"
    )]
    Differs {
        /// The first such record.
        position: u64,
    },
    /// The stream hides records.
    #[error(
        "the stream {stream} has {setting} in its metadata, as a soft delete leaves `$tb`, so the server \
         hides records, and removes them with the next scavenge. Until a scavenge runs nothing is lost: \
         remove the setting, and every record is back. Let only administrators write the metadata \
         (docs/scale.md)"
    )]
    Hides {
        /// Name of the stream.
        stream: String,
        /// `$maxCount`, `$maxAge` or `$tb`.
        setting: &'static str,
    },
    /// The stream was deleted, and can be brought back.
    #[error(
        "the stream {stream} was deleted (a soft delete, `$tb` in its metadata). Until a scavenge runs \
         nothing is lost: remove `$tb` from the metadata, once more if the server writes another one, and \
         every record is back. Let only administrators delete the stream and write its metadata \
         (docs/scale.md)"
    )]
    SoftDeleted {
        /// Name of the stream.
        stream: String,
    },
    /// The stream was deleted for ever.
    #[error(
        "the stream {stream} was deleted for ever (a tombstone): it can never be read or written again. \
         Restore the cluster, or make a whole log from the database beside it: {MEND}"
    )]
    Tombstoned {
        /// Name of the stream.
        stream: String,
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
    /// Nothing is written while the stream is in a state that somebody has to repair.
    #[error("{0}")]
    Suspended(String),
}

impl KurrentError {
    /// Returns true if the cluster's administrator can bring every record back.
    pub(crate) const fn is_repairable(&self) -> bool {
        matches!(
            self,
            KurrentError::Hides { .. }
                | KurrentError::SoftDeleted { .. }
                | KurrentError::Denied { .. }
        )
    }
}

/// The command that makes a whole log from the database beside a stream.
const MEND: &str = "`x811 log copy FROM TO --from-database`";

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
