//! Time as the ledger records it: the wall clock, anchored to a monotonic one, never going back.
//!
//! A wall clock that jumps by more than five seconds against the monotonic one is not believed at
//! once: until it is settled nothing lapses and the ledger is not ready (ledger-contract.md
//! section 1.2). One that went ahead is adopted when it has held its course; while one that went
//! back catches up, recorded time stands still.

mod course;
mod reference;

pub use course::{Course, SinceBoot};
pub use reference::{FAR_OFF_MS, ReferenceClock};

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};
use x811_protocol::time::TimestampMs;

/// A wall clock and a monotonic one. Everything in this crate that needs time asks one of these.
pub trait Clock: Send + Sync + 'static {
    /// Milliseconds since the Unix epoch, as the machine believes now; may jump.
    fn wall(&self) -> TimestampMs;

    /// Milliseconds since some fixed moment; never goes back, never jumps.
    fn monotonic_ms(&self) -> u64;

    /// Waits for that long, as the monotonic clock counts.
    fn sleep_ms(&self, ms: u64) -> impl Future<Output = ()> + Send;

    /// Takes in what a reference clock said that was asked at `asked_at_ms` on the monotonic clock. A clock
    /// that follows none ignores it.
    fn set_by(&self, _reference: TimestampMs, _asked_at_ms: u64) {}

    /// How far [`Clock::wall`] is ahead of the machine's own wall clock because of a reference.
    fn correction_ms(&self) -> i64 {
        0
    }

    /// The time since the machine booted, where it says so.
    fn since_boot(&self) -> Option<SinceBoot> {
        None
    }

    /// Where the wall clock should stand by what was noted of it before this process began.
    fn expected_wall(&self) -> Option<TimestampMs> {
        None
    }
}

/// The machine's own clocks.
#[derive(Debug)]
pub struct SystemClock {
    started: Instant,
}

impl SystemClock {
    /// The machine's own clocks.
    #[expect(
        clippy::disallowed_methods,
        reason = "the one place that reads the machine's clock"
    )]
    pub fn new() -> SystemClock {
        SystemClock {
            started: Instant::now(),
        }
    }
}

impl Default for SystemClock {
    fn default() -> Self {
        SystemClock::new()
    }
}

impl Clock for SystemClock {
    #[expect(
        clippy::disallowed_methods,
        reason = "the one place that reads the machine's clock"
    )]
    fn wall(&self) -> TimestampMs {
        let since = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .unwrap_or_default();
        TimestampMs::new(u64::try_from(since.as_millis()).unwrap_or(u64::MAX))
    }

    fn monotonic_ms(&self) -> u64 {
        u64::try_from(self.started.elapsed().as_millis()).unwrap_or(u64::MAX)
    }

    async fn sleep_ms(&self, ms: u64) {
        tokio::time::sleep(Duration::from_millis(ms)).await;
    }

    /// Linux says so.
    fn since_boot(&self) -> Option<SinceBoot> {
        let boot = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
        let uptime = std::fs::read_to_string("/proc/uptime").ok()?;
        Some(SinceBoot {
            boot: boot.trim().to_owned(),
            ms: course::uptime_ms(&uptime)?,
        })
    }
}

/// A clock that a test moves by hand.
#[derive(Debug)]
pub struct ManualClock {
    monotonic_ms: AtomicU64,
    /// The wall clock against the monotonic one, so that time that passes is one change for both.
    wall_ahead_ms: AtomicU64,
    moved: tokio::sync::Notify,
}

impl ManualClock {
    /// A clock that stands at `wall`.
    pub fn at(wall: TimestampMs) -> ManualClock {
        ManualClock {
            monotonic_ms: AtomicU64::new(0),
            wall_ahead_ms: AtomicU64::new(wall.as_ms()),
            moved: tokio::sync::Notify::new(),
        }
    }

    /// Lets `ms` pass on both clocks.
    pub fn advance_ms(&self, ms: u64) {
        self.monotonic_ms.fetch_add(ms, Ordering::SeqCst);
        self.moved.notify_waiters();
    }

    /// Sets the wall clock alone, as an operator or a bad time server would.
    pub fn jump_wall_to(&self, wall: TimestampMs) {
        let ahead_ms = wall.as_ms().wrapping_sub(self.monotonic_ms());
        self.wall_ahead_ms.store(ahead_ms, Ordering::SeqCst);
        self.moved.notify_waiters();
    }
}

impl Clock for ManualClock {
    fn wall(&self) -> TimestampMs {
        let ahead_ms = self.wall_ahead_ms.load(Ordering::SeqCst);
        TimestampMs::new(ahead_ms.wrapping_add(self.monotonic_ms()))
    }

    fn monotonic_ms(&self) -> u64 {
        self.monotonic_ms.load(Ordering::SeqCst)
    }

    async fn sleep_ms(&self, ms: u64) {
        let until = self.monotonic_ms() + ms;
        loop {
            let moved = self.moved.notified();
            if self.monotonic_ms() >= until {
                return;
            }
            moved.await;
        }
    }
}

/// How far wall and anchored clock may differ before the wall clock is not believed.
const JUMP_MS: u64 = 5_000;

/// How long a wall clock that jumped forward must hold its new course before it is adopted.
const SETTLE_MS: u64 = 10_000;

/// How steady the new course must be.
const COURSE_MS: u64 = 1_000;

/// The shortest time after which to try again while the clock is not believed.
const RETRY_MS: u64 = 1_000;

/// The clock that is recorded.
#[derive(Debug)]
pub struct LedgerClock<C> {
    clock: std::sync::Arc<C>,
    anchor: Mutex<Anchor>,
}

#[derive(Debug, Clone, Copy)]
struct Anchor {
    wall: TimestampMs,
    monotonic_ms: u64,
    /// The jump now being waited for.
    jump: Option<Jump>,
}

#[derive(Debug, Clone, Copy)]
enum Jump {
    /// The wall clock went ahead: when that was first seen, and by how much.
    Ahead {
        seen_monotonic_ms: u64,
        ahead_ms: u64,
    },
    /// The wall clock went back: recorded time stands still until it has caught up.
    Held,
}

impl Anchor {
    fn at(&self, monotonic_ms: u64) -> TimestampMs {
        if let Some(Jump::Held) = self.jump {
            return self.wall;
        }
        let elapsed_ms = monotonic_ms.saturating_sub(self.monotonic_ms);
        self.wall.saturating_add_ms(elapsed_ms)
    }
}

/// When a clock that is not believed will be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Settling {
    /// The moment, by the wall clock while it is behind, else by the anchored one.
    pub at: TimestampMs,
    /// After how long to try again.
    pub retry_after_ms: u64,
}

/// What a check of the wall clock found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ClockState {
    /// Wall and anchored clock agree.
    Settled,
    /// They do not; nothing lapses.
    Unsettled,
    /// The wall clock has held its new course ahead of ours: time is adopted, and the gap counts
    /// as downtime.
    Adopted {
        /// By how much.
        gap_ms: u64,
    },
}

impl<C: Clock> LedgerClock<C> {
    /// A clock that starts at the wall clock, but not before `floor`: it is not settled while the
    /// wall clock is far behind that, or far ahead of where it should stand.
    pub fn start(clock: std::sync::Arc<C>, floor: TimestampMs) -> LedgerClock<C> {
        let (wall, monotonic_ms) = (clock.wall(), clock.monotonic_ms());
        let expected = clock.expected_wall().map(|expected| expected.max(floor));
        let jumped_from = expected.filter(|expected| wall.since(*expected) > JUMP_MS);
        let anchor = match jumped_from {
            Some(expected) => Anchor {
                wall: expected,
                monotonic_ms,
                jump: Some(Jump::Ahead {
                    seen_monotonic_ms: monotonic_ms,
                    ahead_ms: wall.since(expected),
                }),
            },
            None => Anchor {
                wall: wall.max(floor),
                monotonic_ms,
                jump: (floor.since(wall) > JUMP_MS).then_some(Jump::Held),
            },
        };
        LedgerClock {
            clock,
            anchor: Mutex::new(anchor),
        }
    }

    /// Now, as it is recorded.
    pub fn now(&self) -> TimestampMs {
        let anchor = *self.lock();
        anchor.at(self.clock.monotonic_ms())
    }

    /// Milliseconds on the monotonic clock.
    pub fn monotonic_ms(&self) -> u64 {
        self.clock.monotonic_ms()
    }

    /// The clock inside, for waiting.
    pub fn source(&self) -> &C {
        &self.clock
    }

    /// Whether the wall clock is believed, without changing anything.
    pub fn is_settled(&self) -> bool {
        self.lock().jump.is_none()
    }

    /// When the wall clock is believed again, if nobody sets it before; `None` while it is.
    pub fn settling(&self) -> Option<Settling> {
        let (wall, monotonic_ms) = self.read();
        let anchor = *self.lock();
        let now = anchor.at(monotonic_ms);
        Some(match anchor.jump? {
            Jump::Held => {
                let in_ms = now.since(wall).saturating_sub(JUMP_MS);
                Settling {
                    at: wall.saturating_add_ms(in_ms),
                    retry_after_ms: in_ms.clamp(RETRY_MS, SETTLE_MS),
                }
            }
            Jump::Ahead {
                seen_monotonic_ms, ..
            } => {
                let in_ms = (seen_monotonic_ms + SETTLE_MS).saturating_sub(monotonic_ms);
                Settling {
                    at: now.saturating_add_ms(in_ms),
                    // It may be set right at any moment, and then nobody has to wait.
                    retry_after_ms: RETRY_MS,
                }
            }
        })
    }

    /// Compares the wall clock with the anchored one.
    pub fn check(&self) -> ClockState {
        let (wall, monotonic_ms) = self.read();
        let mut anchor = self.lock();
        let now = anchor.at(monotonic_ms);
        if wall.since(now).max(now.since(wall)) <= JUMP_MS {
            // Small differences are followed forward, a drift at a time; never back.
            *anchor = Anchor {
                wall: wall.max(now),
                monotonic_ms,
                jump: None,
            };
            return ClockState::Settled;
        }
        if wall < now {
            *anchor = Anchor {
                wall: now,
                monotonic_ms,
                jump: Some(Jump::Held),
            };
            return ClockState::Unsettled;
        }
        let ahead_ms = wall.since(now);
        match anchor.jump {
            Some(Jump::Ahead {
                seen_monotonic_ms,
                ahead_ms: seen_ahead_ms,
            }) if seen_ahead_ms.abs_diff(ahead_ms) <= COURSE_MS => {
                if monotonic_ms < seen_monotonic_ms + SETTLE_MS {
                    return ClockState::Unsettled;
                }
                *anchor = Anchor {
                    wall,
                    monotonic_ms,
                    jump: None,
                };
                ClockState::Adopted { gap_ms: ahead_ms }
            }
            Some(Jump::Ahead { .. } | Jump::Held) | None => {
                *anchor = Anchor {
                    wall: now,
                    monotonic_ms,
                    jump: Some(Jump::Ahead {
                        seen_monotonic_ms: monotonic_ms,
                        ahead_ms,
                    }),
                };
                ClockState::Unsettled
            }
        }
    }

    /// Both clocks at one moment. A process may be stopped between two readings for any time, which would
    /// look as if the wall clock had jumped.
    fn read(&self) -> (TimestampMs, u64) {
        loop {
            let monotonic_ms = self.clock.monotonic_ms();
            let wall = self.clock.wall();
            let took_ms = self.clock.monotonic_ms().saturating_sub(monotonic_ms);
            if took_ms <= COURSE_MS {
                return (wall, monotonic_ms);
            }
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Anchor> {
        self.anchor
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;
    use std::sync::atomic::AtomicBool;

    fn clocks(wall_ms: u64) -> (Arc<ManualClock>, LedgerClock<ManualClock>) {
        let wall = TimestampMs::new(wall_ms);
        let clock = Arc::new(ManualClock::at(wall));
        (clock.clone(), LedgerClock::start(clock, wall))
    }

    #[test]
    fn lc_1_2_time_stands_still_while_a_clock_that_went_back_catches_up() {
        let (clock, ledger) = clocks(100_000);
        clock.jump_wall_to(TimestampMs::new(40_000));
        assert_eq!(ledger.check(), ClockState::Unsettled);
        clock.advance_ms(30_000);
        assert_eq!(ledger.check(), ClockState::Unsettled);
        assert_eq!(ledger.now(), TimestampMs::new(100_000));
        clock.advance_ms(25_000);
        assert_eq!(ledger.check(), ClockState::Settled);
        assert_eq!(ledger.now(), TimestampMs::new(100_000));
        clock.advance_ms(1_000);
        assert_eq!(ledger.now(), TimestampMs::new(101_000));
    }

    /// A process that is stopped for a minute, once, between two readings of its clocks.
    #[derive(Debug)]
    struct Stopped {
        inner: ManualClock,
        is_due: AtomicBool,
    }

    impl Clock for Stopped {
        fn wall(&self) -> TimestampMs {
            if self.is_due.swap(false, Ordering::SeqCst) {
                self.inner.advance_ms(60_000);
            }
            self.inner.wall()
        }

        fn monotonic_ms(&self) -> u64 {
            self.inner.monotonic_ms()
        }

        async fn sleep_ms(&self, ms: u64) {
            self.inner.sleep_ms(ms).await;
        }
    }

    #[test]
    fn lc_1_2_a_process_that_is_stopped_between_two_readings_sees_no_jump() {
        let wall = TimestampMs::new(100_000);
        let clock = Arc::new(Stopped {
            inner: ManualClock::at(wall),
            is_due: AtomicBool::new(false),
        });
        let ledger = LedgerClock::start(clock.clone(), wall);
        clock.is_due.store(true, Ordering::SeqCst);
        assert_eq!(ledger.check(), ClockState::Settled);
        assert_eq!(ledger.now(), TimestampMs::new(160_000));
    }

    #[test]
    fn lc_1_2_small_steps_back_never_add_up_to_a_standstill() {
        let (clock, ledger) = clocks(100_000);
        for _ in 0..5 {
            clock.jump_wall_to(clock.wall().saturating_sub_ms(2_000));
            ledger.check();
        }
        clock.advance_ms(10_000);
        assert_eq!(ledger.check(), ClockState::Settled);
    }

    #[test]
    fn lc_1_2_a_clock_that_is_not_believed_says_until_when() {
        let (clock, ledger) = clocks(100_000);
        assert_eq!(ledger.settling(), None);
        clock.jump_wall_to(TimestampMs::new(40_000));
        ledger.check();
        // From 5 s before the recorded time on it is believed.
        let settling = |at_ms, retry_after_ms| {
            let at = TimestampMs::new(at_ms);
            Some(Settling { at, retry_after_ms })
        };
        assert_eq!(ledger.settling(), settling(95_000, 10_000));
        clock.advance_ms(52_000);
        assert_eq!(ledger.settling(), settling(95_000, 3_000));
        let (clock, ledger) = clocks(100_000);
        clock.jump_wall_to(TimestampMs::new(700_000));
        ledger.check();
        clock.advance_ms(4_000);
        assert_eq!(ledger.settling(), settling(110_000, 1_000));
    }

    #[test]
    fn lc_1_2_a_steady_course_ahead_is_adopted() {
        let (clock, ledger) = clocks(100_000);
        clock.jump_wall_to(TimestampMs::new(700_000));
        assert_eq!(ledger.check(), ClockState::Unsettled);
        clock.advance_ms(9_999);
        assert_eq!(ledger.check(), ClockState::Unsettled);
        clock.advance_ms(1);
        assert_eq!(ledger.check(), ClockState::Adopted { gap_ms: 600_000 });
        assert_eq!(ledger.now(), TimestampMs::new(710_000));
    }
}
