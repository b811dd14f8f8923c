//! Whether the log extends the checkpoint that was signed last: what a start would say, and more.

use super::Examined;
use crate::checkpoint::Misfit;
use x811_audit::checkpoint_note::open;
use x811_eventlog::{Checkpoint, CheckpointError};
use x811_protocol::event::LedgerOpened;

/// Why the ledger does not start with the stored checkpoint.
#[derive(Debug, thiserror::Error)]
pub enum SignedFault {
    /// The log has not begun.
    #[error(
        "it is the checkpoint of a ledger, and the log is empty: is the data directory's disk mounted?"
    )]
    NoLog,
    /// Nothing that a ledger signed.
    #[error(
        "it is no checkpoint ({0}): it was damaged, or written by somebody else. Make sure that the data directory is the newest copy there is, then move the file away"
    )]
    Damaged(CheckpointError),
    /// The checkpoint is of another log.
    #[error(
        "it is of the log {found}, this one is {own}: two ledgers were given one checkpoint directory, or --checkpoint-dir names the wrong one"
    )]
    OtherLog {
        /// The origin it names.
        found: String,
        /// The origin of this log.
        own: String,
    },
    /// Signed by nobody who may.
    #[error(
        "it names this log and {size} records, but is not signed by the key that signs there: somebody without the key wrote it, or the key was rotated in a newer copy of this log. See who may write to the checkpoint's directory, and make sure that the data directory is the newest copy there is; then move the file away"
    )]
    Forged {
        /// The size it names.
        size: u64,
    },
    /// The log is another than the one that was signed for.
    #[error(transparent)]
    Misfit(#[from] Misfit),
}

/// Holds the stored note against the log, which was examined up to the size that it names.
///
/// # Errors
/// [`SignedFault`].
pub fn check_signed(note: &str, examined: &Examined) -> Result<Checkpoint, SignedFault> {
    let claimed = Checkpoint::claimed(note).map_err(SignedFault::Damaged)?;
    let log = examined.world.head().size;
    let (Some(identity), Some(keyring)) = (examined.world.identity(), examined.world.keyring())
    else {
        return Err(SignedFault::NoLog);
    };
    if claimed.origin != identity.origin {
        return Err(SignedFault::OtherLog {
            found: claimed.origin,
            own: identity.origin.clone(),
        });
    }
    let signer = LedgerOpened {
        keys: keyring.after(claimed.size),
        ..(**identity).clone()
    };
    let size = claimed.size;
    let signed = open(note, &signer).map_err(|_| SignedFault::Forged { size })?;
    if signed.size > log {
        let signed = signed.size;
        return Err(SignedFault::Misfit(Misfit::Behind { log, signed }));
    }
    let there = examined.worlds.get(&signed.size);
    if there.is_some_and(|world| world.frontier().root() != signed.root) {
        return Err(SignedFault::Misfit(Misfit::Forked { size: signed.size }));
    }
    Ok(signed)
}
