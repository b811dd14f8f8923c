//! Records, read back from rows of a place and its leaf.

use std::collections::HashMap;

use x811_eventlog::{Break, Cause, ReadError, Record};

/// Most records in one page, whatever limit is asked for: 64 MiB of the largest leaves.
pub(crate) const MAX_PAGE_RECORDS: usize = 1_024;

/// The record whose leaf lies at `position`, which was due at `due`.
pub(crate) fn record_at(due: u64, position: u64, leaf: Vec<u8>) -> Result<Record, ReadError> {
    let record = Record::parse(leaf).map_err(|error| damaged(due, Cause::NotARecord(error)))?;
    if position == due && record.position() == due {
        return Ok(record);
    }
    let found = position.max(record.position());
    if found > due {
        return Err(damaged(due, Cause::Missing { last: found - 1 }));
    }
    let cause = Cause::Reordered { expected: due };
    Err(damaged(record.position(), cause))
}

/// Those that were found, in the order of the question.
pub(crate) fn in_order(positions: &[u64], found: &HashMap<u64, Record>) -> Vec<Record> {
    let positions = positions.iter();
    positions
        .filter_map(|position| found.get(position).cloned())
        .collect()
}

fn damaged(position: u64, cause: Cause) -> ReadError {
    ReadError::Damaged(Break { position, cause })
}
