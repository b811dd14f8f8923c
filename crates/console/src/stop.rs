//! The signals that ask a process to stop.

use std::task::Poll;

use tokio::signal::unix::{Signal, SignalKind, signal};

/// SIGINT and SIGTERM, caught. Where a handler could not be set the signal ends the process, which
/// harms nothing either.
#[derive(Debug)]
pub struct StopSignals(Vec<Signal>);

impl StopSignals {
    /// Catches the signals from now on.
    #[must_use]
    pub fn set() -> StopSignals {
        let kinds = [SignalKind::interrupt(), SignalKind::terminate()];
        StopSignals(kinds.into_iter().flat_map(signal).collect())
    }

    /// Waits for the first of them.
    pub async fn asked(mut self) {
        std::future::poll_fn(|context| {
            let mut signals = self.0.iter_mut();
            if signals.any(|signal| signal.poll_recv(context).is_ready()) {
                Poll::Ready(())
            } else {
                Poll::Pending
            }
        })
        .await;
    }
}
