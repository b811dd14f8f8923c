//! A look at the stream's settings from time to time: an administrator may change them while a ledger
//! writes.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio::sync::{Notify, watch};
use tokio::task::AbortHandle;
use tokio::time::{Instant, sleep};

use super::error::KurrentError;
use super::stream::Stream;
use crate::fault::StoreFault;

/// Longest time without a look that said anything. A session that is open goes on though its user may read
/// nothing any more.
const LONGEST_UNSEEN: Duration = Duration::from_secs(30);

/// A task that looks at a stream until this is dropped.
#[derive(Debug)]
pub(super) struct Lookout {
    task: AbortHandle,
    found: watch::Receiver<Option<StoreFault>>,
    wake: Arc<Wake>,
}

/// A reason to look before the time.
#[derive(Debug, Default)]
struct Wake {
    notify: Notify,
    /// True if an append was denied, so that a look tries the right to append as well.
    was_denied: AtomicBool,
}

impl Lookout {
    /// Looks at `stream`, which has at least as many records as `size` says.
    pub(super) fn start(stream: Arc<Stream>, size: watch::Receiver<u64>) -> Lookout {
        let (found, wake) = (watch::Sender::new(None), Arc::new(Wake::default()));
        let (receiver, woken) = (found.subscribe(), wake.clone());
        let task = tokio::spawn(async move {
            let mut seen = Instant::now();
            loop {
                tokio::select! {
                    () = sleep(stream.patience().look) => {}
                    () = woken.notify.notified() => {}
                }
                let at_least = *size.borrow();
                let checked = checked(&stream, &woken, at_least).await;
                let unseen = checked.as_ref().err().map(ToString::to_string);
                match (judged(checked), unseen) {
                    (Some(fault), _) => {
                        seen = Instant::now();
                        note(&found, fault);
                    }
                    (None, Some(error)) if seen.elapsed() > LONGEST_UNSEEN => {
                        note(&found, Some(StoreFault::Suspended(error)));
                    }
                    (None, _) => {}
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

    /// Looks now: something failed. `was_denied` is true if it was an append for which the right is missing.
    pub(super) fn look(&self, was_denied: bool) {
        self.wake.was_denied.fetch_or(was_denied, Ordering::Relaxed);
        self.wake.notify.notify_one();
    }
}

impl Drop for Lookout {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// Checks the stream, and the right to append to it if an append was denied.
async fn checked(stream: &Stream, wake: &Wake, at_least: u64) -> Result<(), KurrentError> {
    stream.check(at_least).await?;
    if wake.was_denied.load(Ordering::Relaxed) {
        if let Some(error) = stream.denied().await {
            return Err(error);
        }
        wake.was_denied.store(false, Ordering::Relaxed);
    }
    Ok(())
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
        | KurrentError::Denied { .. }
        | KurrentError::NoUser
        | KurrentError::Misconfigured(_) => Some(Some(StoreFault::Suspended(sentence))),
        KurrentError::Url
        | KurrentError::Unreachable(_)
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
