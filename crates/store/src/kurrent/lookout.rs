//! A look at the stream's settings from time to time: an administrator may change them while a ledger
//! writes.

use std::sync::Arc;

use tokio::sync::{Notify, watch};
use tokio::task::AbortHandle;
use tokio::time::sleep;

use super::error::KurrentError;
use super::stream::Stream;
use crate::fault::StoreFault;

/// A task that looks at a stream until this is dropped.
#[derive(Debug)]
pub(super) struct Lookout {
    task: AbortHandle,
    found: watch::Receiver<Option<StoreFault>>,
    wake: Arc<Notify>,
}

impl Lookout {
    /// Looks at `stream`, which has at least as many records as `size` says.
    pub(super) fn start(stream: Arc<Stream>, size: watch::Receiver<u64>) -> Lookout {
        let (found, wake) = (watch::Sender::new(None), Arc::new(Notify::new()));
        let (receiver, woken) = (found.subscribe(), wake.clone());
        let task = tokio::spawn(async move {
            loop {
                tokio::select! {
                    () = sleep(stream.patience().look) => {}
                    () = woken.notified() => {}
                }
                let at_least = *size.borrow();
                let checked = stream.check(at_least).await;
                if let Some(fault) = judged(checked) {
                    note(&found, fault);
                }
            }
        });
        Lookout {
            task: task.abort_handle(),
            found: receiver,
            wake,
        }
    }

    /// Returns the fault that the last look found.
    pub(super) fn fault(&self) -> Option<StoreFault> {
        self.found.borrow().clone()
    }

    /// Looks now: something was refused.
    pub(super) fn look(&self) {
        self.wake.notify_one();
    }
}

impl Drop for Lookout {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// Returns the fault that a look shows, or `None` if it says nothing of the stream.
fn judged(checked: Result<(), KurrentError>) -> Option<Option<StoreFault>> {
    let Err(error) = checked else {
        return Some(None);
    };
    let sentence = error.to_string();
    match error {
        KurrentError::Tombstoned { .. } => Some(Some(StoreFault::Lost(sentence))),
        KurrentError::Hides { .. }
        | KurrentError::SoftDeleted { .. }
        | KurrentError::BeginsLate { .. }
        | KurrentError::Gone { .. }
        | KurrentError::Denied { .. } => Some(Some(StoreFault::Suspended(sentence))),
        KurrentError::Url
        | KurrentError::Unreachable(_)
        | KurrentError::Misconfigured(_)
        | KurrentError::TooOld
        | KurrentError::Refused(_)
        | KurrentError::Shorter { .. }
        | KurrentError::Differs { .. }
        | KurrentError::Misplaced { .. }
        | KurrentError::Index(_)
        | KurrentError::Suspended(_) => None,
    }
}

fn note(found: &watch::Sender<Option<StoreFault>>, fault: Option<StoreFault>) {
    let was_changed = found.send_if_modified(|known| {
        let is_other = *known != fault;
        known.clone_from(&fault);
        is_other
    });
    match fault {
        _ if !was_changed => {}
        Some(fault) => tracing::error!("nothing is acknowledged: {}", fault.sentence()),
        None => tracing::warn!("the stream shows all of its records again: messages are taken"),
    }
}
