//! The one interface a place for records implements (ledger-contract.md section 2).
//!
//! It is small on purpose: a backend stores bytes in order and says where they end. What the
//! bytes mean, and who may write them, is decided elsewhere. The promises in these docs are run
//! against every backend by [`crate::conformance`].

mod batch;

use std::error::Error as StdError;
use std::future::Future;
use std::sync::Arc;

use thiserror::Error;

use crate::chain::{Break, Cause, Head};
use crate::record::Record;

pub use batch::check_batch;

/// Most leaf bytes in one batch: batches stay under 1 MiB (ledger-contract.md section 2), also where a
/// server counts some bytes more for each record.
pub const MAX_BATCH_BYTES: usize = 983_040;

/// What a backend's own driver reported. Boxed, because this crate knows no driver and the caller
/// only ever shows it.
pub type BackendError = Box<dyn StdError + Send + Sync>;

/// An append-only sequence of records with one writer and any number of readers.
pub trait EventLog: Send + Sync {
    /// Appends `records`, all or none, if the log holds exactly `expected_size` records.
    /// Returns the new head once they are durable. An empty batch writes nothing and only
    /// compares the size.
    ///
    /// Dropping the future leaves the outcome unknown: read the head again.
    ///
    /// # Errors
    ///
    /// See [`AppendError`]. After every variant but [`AppendError::OutcomeUnknown`] the log is
    /// as it was.
    fn append(
        &self,
        expected_size: u64,
        records: &[Record],
    ) -> impl Future<Output = Result<Head, AppendError>> + Send;

    /// A page: records from position `from` on, in order, with no gap, at most `limit` of them.
    ///
    /// A page may be shorter than `limit`. It is empty only when `limit` is 0 or nothing is
    /// stored at `from`.
    ///
    /// # Errors
    ///
    /// See [`ReadError`].
    fn read(
        &self,
        from: u64,
        limit: usize,
    ) -> impl Future<Output = Result<Vec<Record>, ReadError>> + Send;

    /// Where the log ends now. Everything before it is durable.
    ///
    /// # Errors
    ///
    /// See [`ReadError`].
    fn head(&self) -> impl Future<Output = Result<Head, ReadError>> + Send;

    /// A wake-up only: resolves once the log is known to be longer than `seen_size`, with a size
    /// it is known to have. At once when it already is. Dropping the future is free.
    ///
    /// # Errors
    ///
    /// See [`ReadError`].
    fn follow(&self, seen_size: u64) -> impl Future<Output = Result<u64, ReadError>> + Send;
}

/// Why a batch was not appended.
#[derive(Debug, Error)]
pub enum AppendError {
    /// Somebody else has written. The process ends; it never retries into this
    /// (ledger-contract.md section 2).
    #[error(
        "the log holds {actual} records, not {expected}: another writer was here; \
         stop, and start one writer only"
    )]
    Conflict {
        /// Records the caller thought there are.
        expected: u64,
        /// Records there are.
        actual: u64,
    },
    /// The batch may or may not be stored.
    #[error(
        "it is unknown whether the batch at position {expected_size} was stored ({source}); \
         read the log from there before answering anybody"
    )]
    OutcomeUnknown {
        /// Size the batch was to be appended at.
        expected_size: u64,
        /// What the backend reported.
        source: BackendError,
    },
    /// A later writer holds the log.
    #[error(
        "writer epoch {epoch} was replaced by {current_epoch}; \
         stop this process, the other one is the writer"
    )]
    Fenced {
        /// The epoch this writer holds.
        epoch: u64,
        /// The epoch the log is held under.
        current_epoch: u64,
    },
    /// More than [`MAX_BATCH_BYTES`].
    #[error("the batch has {bytes} bytes, at most {limit} are allowed; append it in parts")]
    TooLarge {
        /// Leaf bytes of the batch.
        bytes: usize,
        /// The most allowed.
        limit: usize,
    },
    /// The records do not continue the log.
    #[error("the batch does not continue the log at position {position}: {cause}; seal it again")]
    NotContiguous {
        /// Position where the first fault shows.
        position: u64,
        /// What is wrong there.
        cause: Cause,
    },
    /// The backend failed before anything was stored.
    #[error("the log could not be written, nothing was stored: {0}")]
    Backend(#[source] BackendError),
}

/// Why records could not be read.
#[derive(Debug, Error)]
pub enum ReadError {
    /// What is stored is not what was appended.
    #[error("the stored log is damaged at position {}; restore it from a copy and verify that", .0.position)]
    Damaged(#[from] Break),
    /// The backend failed.
    #[error("the log could not be read: {0}")]
    Backend(#[source] BackendError),
}

impl<L: EventLog> EventLog for Arc<L> {
    fn append(
        &self,
        expected_size: u64,
        records: &[Record],
    ) -> impl Future<Output = Result<Head, AppendError>> + Send {
        L::append(self, expected_size, records)
    }

    fn read(
        &self,
        from: u64,
        limit: usize,
    ) -> impl Future<Output = Result<Vec<Record>, ReadError>> + Send {
        L::read(self, from, limit)
    }

    fn head(&self) -> impl Future<Output = Result<Head, ReadError>> + Send {
        L::head(self)
    }

    fn follow(&self, seen_size: u64) -> impl Future<Output = Result<u64, ReadError>> + Send {
        L::follow(self, seen_size)
    }
}
