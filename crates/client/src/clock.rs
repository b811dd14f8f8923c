//! Time, injected: nothing else in this crate looks at a clock or waits.

use std::future::Future;
use std::pin::Pin;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use x811_protocol::time::TimestampMs;

/// Tells the time and waits.
pub trait Clock: Send + Sync {
    /// What time it is now.
    fn now(&self) -> TimestampMs;

    /// Comes back after `ms` milliseconds.
    fn pause(&self, ms: u64) -> Pin<Box<dyn Future<Output = ()> + Send + '_>>;
}

/// The computer's clock. The ledger refuses messages that are more than five minutes off (AE-89),
/// so keep it synchronised (AE-144).
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    #[expect(
        clippy::disallowed_methods,
        reason = "the one place that reads the computer's clock"
    )]
    fn now(&self) -> TimestampMs {
        let since_epoch = SystemTime::now().duration_since(UNIX_EPOCH);
        let ms = since_epoch.map_or(0, |elapsed| elapsed.as_millis());
        TimestampMs::new(u64::try_from(ms).unwrap_or(u64::MAX))
    }

    fn pause(&self, ms: u64) -> Pin<Box<dyn Future<Output = ()> + Send + '_>> {
        Box::pin(tokio::time::sleep(Duration::from_millis(ms)))
    }
}
