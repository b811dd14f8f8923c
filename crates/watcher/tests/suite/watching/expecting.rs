//! What a scripted ledger waits for.

#![expect(clippy::unwrap_used, reason = "a harness stops the test at once")]

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

use imbl::OrdSet;
use tokio::sync::watch;
use x811_protocol::evm::TxHash;
use x811_watcher::{Expected, Expecting};

use super::rig::Looks;

/// What tests change while a watcher asks for it.
type Shared<T> = Arc<Mutex<BTreeSet<T>>>;

pub(crate) fn expecting(
    looks: &Arc<Mutex<Looks>>,
    (undecided, headers): (&Shared<TxHash>, &Shared<u64>),
    missing: &Shared<TxHash>,
    watched: watch::Receiver<OrdSet<TxHash>>,
) -> Expecting {
    let (looks, undecided, missing) = (looks.clone(), undecided.clone(), missing.clone());
    let headers = headers.clone();
    Arc::new(move |reported| {
        missing.lock().unwrap().clone_from(reported.missing);
        Expected {
            looked_for: match &*looks.lock().unwrap() {
                Looks::All => watched.borrow().iter().copied().collect(),
                Looks::These(hashes) => hashes.clone(),
            },
            undecided: undecided.lock().unwrap().clone(),
            recorded: BTreeSet::new(),
            headers: headers.lock().unwrap().clone(),
        }
    })
}
