//! The keys of a ledger that is not running, from its log alone.

use crate::port::{LedgerStore, ReadModel};
use x811_eventlog::{EventLog, ReadError};
use x811_protocol::stream::Stream;
use x811_world::keyring::{Keyring, Reading};

/// Records, or positions of them, that are read at a time.
const PAGE: usize = 1_024;

/// The keys after the first `size` records, looked for in all of them; `None` where the log does
/// not begin as a ledger's does.
///
/// # Errors
/// The log cannot be read.
pub async fn read<L: EventLog>(log: &L, size: u64) -> Result<Option<Keyring>, ReadError> {
    let (mut keys, mut next) = (Reading::default(), 0);
    while next < size {
        let page = log.read(next, PAGE).await?;
        if page.is_empty() {
            break;
        }
        page.iter()
            .filter(|record| record.position() < size)
            .for_each(|record| keys.take(record));
        next += page.len() as u64;
    }
    Ok(keys.keyring())
}

/// The same, where the rows for readers say which records to look at.
///
/// # Errors
/// Log or rows cannot be read.
pub async fn find<S: LedgerStore, R: ReadModel>(
    store: &S,
    rows: &R,
    size: u64,
) -> Result<Option<Keyring>, ReadError> {
    let (mut keys, mut next) = (Reading::default(), 0);
    let stream = Stream::Ledger.to_string();
    loop {
        let positions = rows.stream_positions(&stream, next, PAGE).await?;
        let covered: Vec<u64> = positions.iter().copied().filter(|at| *at < size).collect();
        let records = store.records(&covered).await?;
        records.iter().for_each(|record| keys.take(record));
        if covered.len() < PAGE {
            return Ok(keys.keyring());
        }
        next += PAGE as u64;
    }
}
