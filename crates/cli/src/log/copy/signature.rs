//! The signature of the last checkpoint, by the keys that the copied log names.

use x811_audit::checkpoint_note::verifies;
use x811_eventlog::{Checkpoint, EventLog as _, ReadError};
use x811_ledger::doctor::SignedFault;
use x811_ledger::keyring;
use x811_protocol::event::{Event, LedgerEvent};
use x811_store::Backend;

use crate::failure::Failure;

/// Refuses a checkpoint that the ledger of the copied log, which has `size` records, did not sign. Whoever
/// writes to a database could otherwise exchange the leaves and store a checkpoint over them.
pub(super) async fn verify(note: &str, log: &Backend, size: u64) -> Result<(), Failure> {
    let unreadable = |error: ReadError| Failure::local("log", error.to_string());
    let claimed =
        Checkpoint::claimed(note).map_err(|error| refused(&SignedFault::Damaged(error)))?;
    let first = log.read(0, 1).await.map_err(unreadable)?;
    let opened = first
        .first()
        .map(|record| Event::from_json(record.event_json()));
    let Some(Ok(Event::Ledger(LedgerEvent::Opened(opened)))) = opened else {
        return Err(refused(&SignedFault::NoLog));
    };
    if claimed.origin != opened.origin {
        return Err(refused(&SignedFault::OtherLog {
            found: claimed.origin,
            own: opened.origin,
        }));
    }
    let keyring = keyring::read(log, size).await.map_err(unreadable)?;
    let keyring = keyring.ok_or_else(|| refused(&SignedFault::NoLog))?;
    let key = *keyring.after(claimed.size).checkpoint.as_bytes();
    let is_by_key = |message: &[u8], signature: &[u8; 64]| verifies(&key, message, signature);
    match Checkpoint::open(note, &opened.origin, key, is_by_key) {
        Ok(_) => Ok(()),
        Err(_) => Err(refused(&SignedFault::Forged { size: claimed.size })),
    }
}

fn refused(fault: &SignedFault) -> Failure {
    Failure::local("checkpoint", format!("the last checkpoint: {fault}"))
        .hint("the log was not moved")
}
