//! The keys of a ledger that is not running, from its log alone.

use super::Keyring;
use crate::port::{LedgerStore, ReadModel};
use x811_eventlog::{EventLog, ReadError, Record};
use x811_protocol::event::{Event, LedgerEvent, LedgerOpened, LedgerRole};
use x811_protocol::key::PublicKey;
use x811_protocol::stream::Stream;

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

/// A log's keys, from the records that it is given in order.
#[derive(Debug, Default)]
pub(crate) struct Reading(Option<(LedgerOpened, Keyring)>);

impl Reading {
    /// Takes the next record. What replaces no key in force is none of the ledger's: the audit says
    /// more.
    pub(crate) fn take(&mut self, record: &Record) {
        let is_about_keys = matches!(
            record.event_type(),
            b"ledger_opened" | b"ledger_key_rotated"
        );
        if !is_about_keys {
            return;
        }
        match (Event::from_json(record.event_json()), &mut self.0) {
            (Ok(Event::Ledger(LedgerEvent::Opened(opened))), None) => {
                let keyring = Keyring::opened(opened.keys);
                self.0 = Some((opened, keyring));
            }
            (Ok(Event::Ledger(LedgerEvent::KeyRotated(rotated))), Some((opened, keyring))) => {
                if let Ok(after) = keyring.rotated(opened.did, &rotated, record.position()) {
                    *keyring = after;
                }
            }
            _ => {}
        }
    }

    /// What position 0 says.
    pub(crate) fn opened(&self) -> Option<&LedgerOpened> {
        self.0.as_ref().map(|(opened, _)| opened)
    }

    /// The same, with the keys in force so far.
    pub(crate) fn ledger(&self) -> Option<LedgerOpened> {
        let (opened, keyring) = self.0.as_ref()?;
        Some(LedgerOpened {
            keys: *keyring.in_force(),
            ..opened.clone()
        })
    }

    /// The same, with the keys that were in force after the first `size` records.
    pub(crate) fn ledger_after(&self, size: u64) -> Option<LedgerOpened> {
        let (opened, keyring) = self.0.as_ref()?;
        Some(LedgerOpened {
            keys: keyring.after(size),
            ..opened.clone()
        })
    }

    /// True if that key has, or had, this role so far.
    pub(crate) fn had(&self, role: LedgerRole, key: PublicKey) -> bool {
        let keyring = self.0.as_ref().map(|(_, keyring)| keyring);
        keyring.is_some_and(|keyring| {
            let mut replaced = keyring.replaced.iter();
            keyring.in_force.of(role) == key
                || replaced.any(|before| (before.role, before.old_key) == (role, key))
        })
    }

    fn keyring(self) -> Option<Keyring> {
        self.0.map(|(_, keyring)| keyring)
    }
}
