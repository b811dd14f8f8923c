//! Records as they were appended. A bit of a leaf that changed on the disk mostly leaves JSON that
//! reads well, so whoever gives a record out first compares its hash with what names it: the record
//! behind it, or the head that is held in memory.

use x811_eventlog::{Break, Cause, EventLog, Hash, Head, ReadError, Record};

/// The record at `position`, compared with what names it. `head` is that of the running ledger, read
/// before the record. `None` where the log has none there.
///
/// # Errors
/// [`ReadError::Damaged`] when it is not what was appended.
pub async fn record<L: EventLog>(
    log: &L,
    position: u64,
    head: Head,
) -> Result<Option<Record>, ReadError> {
    let mut page = log.read(position, 2).await?;
    check(&page, position, head)?;
    page.truncate(1);
    Ok(page.pop())
}

/// The `count` records from `first` on, compared with what names them; fewer where the log ends.
///
/// # Errors
/// [`ReadError::Damaged`] when one is not what was appended.
pub async fn records<L: EventLog>(
    log: &L,
    first: u64,
    count: usize,
    head: Head,
) -> Result<Vec<Record>, ReadError> {
    let mut records: Vec<Record> = Vec::with_capacity(count.saturating_add(1));
    while records.len() <= count {
        let from = first + records.len() as u64;
        let page = log.read(from, count + 1 - records.len()).await?;
        if page.is_empty() {
            break;
        }
        records.extend(page);
    }
    check(&records, first, head)?;
    records.truncate(count);
    Ok(records)
}

/// Each record against the one behind it, and the last against the head where that ends with it.
/// What was appended since the head was read has nothing to be compared with yet.
fn check(records: &[Record], first: u64, head: Head) -> Result<(), ReadError> {
    for pair in records.windows(2) {
        if let [record, next] = pair {
            linked(record, next)?;
        }
    }
    match records.last() {
        Some(last) if last.position() + 1 == head.size => named(last, head.hash),
        // A record behind this one was asked for too.
        Some(last) if records.len() < 2 && last.position() + 1 < head.size => {
            Err(missing(last.position() + 1))
        }
        None if first < head.size => Err(missing(first)),
        Some(_) | None => Ok(()),
    }
}

fn linked(record: &Record, next: &Record) -> Result<(), ReadError> {
    let (expected, found) = (record.hash(), next.prev());
    if found == expected {
        return Ok(());
    }
    let position = next.position();
    let cause = Cause::LinkBroken { expected, found };
    Err(Break { position, cause }.into())
}

/// `expected` is what `record` is called by.
fn named(record: &Record, expected: Hash) -> Result<(), ReadError> {
    let found = record.hash();
    if found == expected {
        return Ok(());
    }
    let position = record.position();
    let cause = Cause::HeadDiffers { expected, found };
    Err(Break { position, cause }.into())
}

fn missing(position: u64) -> ReadError {
    let cause = Cause::Missing { last: position };
    Break { position, cause }.into()
}
