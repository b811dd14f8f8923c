//! What a store is opened for writing for, and which epochs stand for "nobody writes here".
//!
//! A log that was moved and a log that is still being copied have epochs that no writer ever has, in
//! the store itself: so it does not matter by which directory, host or copy of a file somebody comes
//! to it (stores.md section 6).

use thiserror::Error;

/// The log is elsewhere now, or is a copy for reading: nobody ever writes to it again.
pub(crate) const MOVED: u64 = i64::MAX as u64;

/// The log is being copied to here, or that was interrupted.
pub(crate) const COPYING: u64 = MOVED - 1;

/// The epoch of a log that was copied to here whole; the first writer raises it.
pub(crate) const COPIED: u64 = 1;

/// What somebody wants to write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// What a ledger appends.
    Ledger,
    /// A copy of another log.
    Copy,
}

/// Why nobody may write here.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum Sealed {
    /// The log was moved to another place, or this is a copy for reading.
    #[error(
        "this log was moved to another place with `x811 log copy`, goes on under another origin by \
         `x811 ledger reopen`, or is a copy for reading: nobody \
         writes to it any more. The file MOVED in the data directory says where it is now; start the \
         ledger there. It can still be read, exported and audited here"
    )]
    Moved,
    /// Half a copy.
    #[error(
        "`x811 log copy` to this place was interrupted: run the same command again, it goes on where \
         it was; no ledger may start here before"
    )]
    Unfinished,
    /// A copy may only go where nothing is.
    #[error("there is a log in the new place already: nothing was changed; name an empty one")]
    NotEmpty,
}

impl Purpose {
    /// The epoch of who opens a log that has the epoch `current`.
    pub(crate) fn next_epoch(self, current: i64, is_empty: bool) -> Result<i64, Sealed> {
        match (self, current.cast_unsigned()) {
            (_, MOVED) => Err(Sealed::Moved),
            (Purpose::Copy, COPYING) => Ok(current),
            (Purpose::Ledger, COPYING) => Err(Sealed::Unfinished),
            (Purpose::Copy, _) if !is_empty => Err(Sealed::NotEmpty),
            (Purpose::Copy, _) => Ok(COPYING.cast_signed()),
            (Purpose::Ledger, _) => Ok(current.saturating_add(1)),
        }
    }
}
