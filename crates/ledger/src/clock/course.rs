//! The course of a wall clock since the machine booted, kept over restarts of the process: a clock that
//! jumped while no ledger ran is not believed at once either (ledger-contract.md section 1.2).

use std::fmt;
use std::str::FromStr;
use x811_protocol::time::TimestampMs;

/// Time since the machine booted, and the name of that boot.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SinceBoot {
    /// New with each boot.
    pub boot: String,
    /// Milliseconds since then; time in which the machine was suspended counts.
    pub ms: u64,
}

/// A wall clock that was believed, against the time since the machine booted. One line of text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Course {
    /// When it was noted.
    noted: SinceBoot,
    wall: TimestampMs,
}

impl Course {
    /// The course of a clock that stands at `wall` now.
    pub fn at(now: SinceBoot, wall: TimestampMs) -> Course {
        Course { noted: now, wall }
    }

    /// Where the wall clock should stand now; `None` where the machine was booted since, or does not count
    /// the time since then itself, as some containers do.
    pub fn expected(&self, now: &SinceBoot) -> Option<TimestampMs> {
        let is_same = now.boot == self.noted.boot && now.ms >= self.noted.ms;
        is_same.then(|| self.wall.saturating_add_ms(now.ms - self.noted.ms))
    }
}

impl fmt::Display for Course {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (SinceBoot { boot, ms }, wall_ms) = (&self.noted, self.wall.as_ms());
        writeln!(f, "{boot} {ms} {wall_ms}")
    }
}

impl FromStr for Course {
    type Err = ();

    fn from_str(line: &str) -> Result<Course, ()> {
        let mut words = line.split_ascii_whitespace();
        let mut next = || words.next().ok_or(());
        let boot = next()?.to_owned();
        let ms = next()?.parse().map_err(|_| ())?;
        let wall: u64 = next()?.parse().map_err(|_| ())?;
        Ok(Course {
            noted: SinceBoot { boot, ms },
            wall: wall.try_into().map_err(|_| ())?,
        })
    }
}

/// Reads the first number of `/proc/uptime`, seconds with two decimals, as milliseconds.
pub(super) fn uptime_ms(text: &str) -> Option<u64> {
    let (seconds, hundredths) = text.split_whitespace().next()?.split_once('.')?;
    let hundredths: u64 = hundredths.get(..2)?.parse().ok()?;
    let seconds: u64 = seconds.parse().ok()?;
    seconds.checked_mul(1_000)?.checked_add(hundredths * 10)
}

#[cfg(test)]
mod tests {
    use super::super::{Clock, ClockState, LedgerClock, ManualClock, ReferenceClock};
    use super::*;
    use std::sync::Arc;

    fn since(boot: &str, ms: u64) -> SinceBoot {
        let boot = boot.to_owned();
        SinceBoot { boot, ms }
    }

    #[test]
    fn lc_1_2_a_course_holds_for_one_boot() {
        let course = Course::at(since("a", 5_000), TimestampMs::new(1_000_000));
        assert_eq!(course.to_string().parse(), Ok(course.clone()));
        for (now, expected) in [
            (since("a", 5_000), Some(1_000_000)),
            (since("a", 65_000), Some(1_060_000)),
            (since("a", 4_999), None),
            (since("b", 65_000), None),
        ] {
            assert_eq!(
                course.expected(&now),
                expected.map(TimestampMs::new),
                "{now:?}"
            );
        }
        for line in ["", "a", "a 1", "a x 1", "a 1 -1"] {
            assert!(line.parse::<Course>().is_err(), "{line:?}");
        }
    }

    #[test]
    fn uptimes_are_read_as_milliseconds() {
        assert_eq!(uptime_ms("350735.47 234388.90\n"), Some(350_735_470));
        assert_eq!(uptime_ms("0.05 0.00"), Some(50));
        for text in ["", "1", "1.", "x.00", "-1.00"] {
            assert_eq!(uptime_ms(text), None, "{text:?}");
        }
    }

    /// A machine that booted when its monotonic clock began.
    #[derive(Debug)]
    struct Machine(ManualClock);

    impl Clock for Machine {
        fn wall(&self) -> TimestampMs {
            self.0.wall()
        }

        fn monotonic_ms(&self) -> u64 {
            self.0.monotonic_ms()
        }

        async fn sleep_ms(&self, ms: u64) {
            self.0.sleep_ms(ms).await;
        }

        fn since_boot(&self) -> Option<SinceBoot> {
            Some(since("a", self.0.monotonic_ms()))
        }
    }

    /// A clock stands 40 s ahead for two seconds, and the ledger is started in them.
    #[test]
    fn lc_1_2_a_start_while_the_clock_is_ahead_for_two_seconds_records_no_later_time() {
        let begun = TimestampMs::new(1_000_000);
        let machine = Arc::new(Machine(ManualClock::at(begun)));
        let course = machine.since_boot().map(|now| Course::at(now, begun));
        machine.0.advance_ms(10_000);
        machine.0.jump_wall_to(begun.saturating_add_ms(50_000));
        let clock = Arc::new(ReferenceClock::over(machine.clone(), course));
        let ledger = LedgerClock::start(clock, begun);
        assert!(!ledger.is_settled());
        assert_eq!(ledger.now(), begun.saturating_add_ms(10_000));
        machine.0.advance_ms(2_000);
        assert_eq!(ledger.check(), ClockState::Unsettled);
        machine.0.jump_wall_to(begun.saturating_add_ms(12_000));
        assert_eq!(ledger.check(), ClockState::Settled);
        assert_eq!(ledger.now(), begun.saturating_add_ms(12_000));
    }

    #[test]
    fn lc_1_2_a_start_after_a_clock_was_set_adopts_it_once_it_has_held() {
        let begun = TimestampMs::new(1_000_000);
        let machine = Arc::new(Machine(ManualClock::at(begun)));
        let course = machine.since_boot().map(|now| Course::at(now, begun));
        machine.0.jump_wall_to(begun.saturating_add_ms(600_000));
        let clock = Arc::new(ReferenceClock::over(machine.clone(), course));
        let ledger = LedgerClock::start(clock, begun);
        assert_eq!(ledger.check(), ClockState::Unsettled);
        machine.0.advance_ms(10_000);
        assert_eq!(ledger.check(), ClockState::Adopted { gap_ms: 600_000 });
    }
}
