//! The rules on a batch that every backend enforces the same way.

use super::{AppendError, MAX_BATCH_BYTES};
use crate::chain::{Cause, Head};
use crate::record::Record;

/// Checks `records` against the log they are to continue, and gives the head after them. A
/// backend calls this with the head it holds under its write lock, before it stores anything.
///
/// Streams are not checked: the writer that sealed the batch knows them, a backend does not.
///
/// # Errors
///
/// In this order: [`AppendError::TooLarge`], [`AppendError::Conflict`],
/// [`AppendError::NotContiguous`].
pub fn check_batch(
    head: &Head,
    expected_size: u64,
    records: &[Record],
) -> Result<Head, AppendError> {
    let bytes = records.iter().map(|record| record.bytes().len()).sum();
    if bytes > MAX_BATCH_BYTES {
        return Err(AppendError::TooLarge {
            bytes,
            limit: MAX_BATCH_BYTES,
        });
    }
    if expected_size != head.size {
        return Err(AppendError::Conflict {
            expected: expected_size,
            actual: head.size,
        });
    }
    records
        .iter()
        .try_fold(*head, |head, record| match misfit(&head, record) {
            Some(cause) => Err(AppendError::NotContiguous {
                position: head.size,
                cause,
            }),
            None => Ok(Head::after(record)),
        })
}

fn misfit(head: &Head, record: &Record) -> Option<Cause> {
    let (due, position) = (head.size, record.position());
    if position > due {
        return Some(Cause::Missing { last: position - 1 });
    }
    if position < due {
        return Some(Cause::Reordered { expected: due });
    }
    if record.prev() != head.hash {
        return Some(Cause::LinkBroken {
            expected: head.hash,
            found: record.prev(),
        });
    }
    let (before_ms, found_ms) = (head.recorded_at_ms, record.recorded_at_ms());
    (found_ms < before_ms).then_some(Cause::TimeRanBack {
        before_ms,
        found_ms,
    })
}
