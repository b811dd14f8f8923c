//! The keys of a ledger that is not running, from its log alone.

use super::Keyring;
use crate::port::{LedgerStore, ReadModel};
use crate::stream::Stream;
use x811_eventlog::{EventLog, ReadError, Record};
use x811_protocol::did::Did;
use x811_protocol::event::Event;

/// Records, or positions of them, that are read at a time.
const PAGE: usize = 1_024;

/// The keys after the first `size` records, looked for in all of them; `None` where the log does
/// not begin as a ledger's does.
///
/// # Errors
/// The log cannot be read.
pub async fn read<L: EventLog>(log: &L, size: u64) -> Result<Option<Keyring>, ReadError> {
    let (mut keys, mut next) = (Keys::default(), 0);
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
    let (mut keys, mut next) = (Keys::default(), 0);
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

#[derive(Default)]
struct Keys(Option<(Did, Keyring)>);

impl Keys {
    /// Takes the next record. What replaces no key in force is none of the ledger's: the audit says
    /// more.
    fn take(&mut self, record: &Record) {
        let is_about_keys = matches!(
            record.event_type(),
            b"ledger_opened" | b"ledger_key_rotated"
        );
        if !is_about_keys {
            return;
        }
        match (Event::from_json(record.event_json()), &self.0) {
            (Ok(Event::LedgerOpened(opened)), None) => {
                self.0 = Some((opened.did, Keyring::opened(opened.keys)));
            }
            (Ok(Event::LedgerKeyRotated(rotated)), Some((did, keyring))) => {
                if let Ok(after) = keyring.rotated(*did, &rotated, record.position()) {
                    self.0 = Some((*did, after));
                }
            }
            _ => {}
        }
    }

    fn keyring(self) -> Option<Keyring> {
        self.0.map(|(_, keyring)| keyring)
    }
}
