//! How long ago something was, on a machine that may have been suspended since.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use tokio::time::Instant;

/// A moment on both clocks: the monotonic one may stand still while the machine is suspended, and
/// somebody may set the wall clock back.
#[derive(Debug, Clone, Copy)]
pub(super) struct Moment {
    monotonic: Instant,
    wall: SystemTime,
}

impl Moment {
    #[expect(
        clippy::disallowed_methods,
        reason = "a lease is held against the clocks of the machine that holds it"
    )]
    pub(super) fn now() -> Moment {
        Moment {
            monotonic: Instant::now(),
            wall: SystemTime::now(),
        }
    }

    /// The wall clock, in milliseconds since the Unix epoch.
    pub(super) fn wall_ms(&self) -> u64 {
        let since = self.wall.duration_since(UNIX_EPOCH).unwrap_or_default();
        u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
    }

    /// The time since, by the clock that counted more of it: nothing counts for longer than it may.
    pub(super) fn elapsed(&self) -> Duration {
        let slept = self.wall.elapsed().unwrap_or_default();
        self.monotonic.elapsed().max(slept)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOUR: Duration = Duration::from_secs(3_600);

    #[test]
    fn stores_3_the_time_that_a_machine_was_suspended_counts() {
        let now = Moment::now();
        let suspended = Moment {
            wall: now.wall - HOUR,
            ..now
        };
        assert!(suspended.elapsed() >= HOUR);
        // A wall clock that was set back takes nothing away.
        let second = Duration::from_secs(1);
        let set_back = Moment {
            wall: now.wall + HOUR,
            monotonic: now.monotonic - second,
        };
        assert!((second..HOUR).contains(&set_back.elapsed()));
    }
}
