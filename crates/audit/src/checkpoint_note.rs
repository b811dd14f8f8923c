//! Signatures of checkpoints.

use x811_eventlog::{Checkpoint, CheckpointError};
use x811_protocol::event::LedgerOpened;
use x811_protocol::key::PublicKey;
use x811_protocol::signature::Signature;

/// Reads a checkpoint that `ledger` should have signed, with the keys it has there.
///
/// # Errors
/// [`CheckpointError`] when it was changed, or is another log's.
pub fn open(note: &str, ledger: &LedgerOpened) -> Result<Checkpoint, CheckpointError> {
    let key = ledger.keys.checkpoint;
    Checkpoint::open(note, &ledger.origin, *key.as_bytes(), verifier(key))
}

/// Whether `key` signed the message: for policies, which name keys by their bytes.
#[must_use]
pub fn verifies(key: &[u8; 32], message: &[u8], signature: &[u8; 64]) -> bool {
    PublicKey::from_bytes(key).is_ok_and(|key| verifier(key)(message, signature))
}

/// Whether that key signed a message.
pub fn verifier(key: PublicKey) -> impl Fn(&[u8], &[u8; 64]) -> bool {
    move |message, signature| key.verify(message, &Signature::from_bytes(*signature))
}
