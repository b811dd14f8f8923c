//! The keys of a ledger that is not running, from the records of its log.

use super::Keyring;
use x811_eventlog::Record;
use x811_protocol::event::{Event, LedgerEvent, LedgerOpened, LedgerRole};
use x811_protocol::key::PublicKey;

/// A log's keys, from the records that it is given in order.
#[derive(Debug, Default)]
pub struct Reading(Option<(LedgerOpened, Keyring)>);

impl Reading {
    /// Takes the next record. What replaces no key in force is none of the ledger's: the audit says
    /// more.
    pub fn take(&mut self, record: &Record) {
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
    pub fn opened(&self) -> Option<&LedgerOpened> {
        self.0.as_ref().map(|(opened, _)| opened)
    }

    /// The same, with the keys in force so far.
    pub fn ledger(&self) -> Option<LedgerOpened> {
        let (opened, keyring) = self.0.as_ref()?;
        Some(LedgerOpened {
            keys: *keyring.in_force(),
            ..opened.clone()
        })
    }

    /// The same, with the keys that were in force after the first `size` records.
    pub fn ledger_after(&self, size: u64) -> Option<LedgerOpened> {
        let (opened, keyring) = self.0.as_ref()?;
        Some(LedgerOpened {
            keys: keyring.after(size),
            ..opened.clone()
        })
    }

    /// True if that key has, or had, this role so far.
    pub fn had(&self, role: LedgerRole, key: PublicKey) -> bool {
        let keyring = self.0.as_ref().map(|(_, keyring)| keyring);
        keyring.is_some_and(|keyring| {
            let mut replaced = keyring.replaced.iter();
            keyring.in_force.of(role) == key
                || replaced.any(|before| (before.role, before.old_key) == (role, key))
        })
    }

    /// The keys that are in force, and those that were.
    pub fn keyring(self) -> Option<Keyring> {
        self.0.map(|(_, keyring)| keyring)
    }
}
