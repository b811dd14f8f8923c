//! A wall clock that follows a reference, such as the clock of the database that holds the log
//! (stores.md section 2): processes whose machines' clocks differ then record the same time.
//!
//! One clock that jumps is not believed: where the reference jumps and the machine's clock does not, the
//! reference's jump is left out, and the other way round. Without a reference it is the machine's clock.

use super::{Clock, Course, JUMP_MS, SinceBoot};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use x811_protocol::time::TimestampMs;

/// A reference that is this near is not followed: nobody notices it.
const NEAR_MS: i64 = 1_000;

/// A change of a clock against the monotonic one, between two readings, that is a jump.
const CLOCK_JUMP_MS: i64 = 1_000;

/// The most by which a reference that drifts is followed at a time.
const STEP_MS: i64 = 1_000;

/// A reading that took longer says too little.
const READING_MS: u64 = 1_000;

/// The first one may take longer: without it the reference is not known at all.
const FIRST_READING_MS: u64 = 10_000;

/// The machine's clocks, corrected by those of a reference.
#[derive(Debug)]
pub struct ReferenceClock<C> {
    machine: Arc<C>,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    correction: Correction,
    /// The course of the wall clock before this process began, as far as it was noted.
    course: Option<Course>,
}

impl<C: Clock> ReferenceClock<C> {
    /// The clocks of `machine`, until there is a reference. `course` was noted by an earlier process.
    pub fn over(machine: Arc<C>, course: Option<Course>) -> ReferenceClock<C> {
        ReferenceClock {
            machine,
            state: Mutex::new(State {
                correction: Correction::default(),
                course,
            }),
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<C: Clock> Clock for ReferenceClock<C> {
    fn wall(&self) -> TimestampMs {
        let correction_ms = self.correction_ms();
        let wall = self.machine.wall();
        match correction_ms {
            0.. => wall.saturating_add_ms(correction_ms.unsigned_abs()),
            _ => wall.saturating_sub_ms(correction_ms.unsigned_abs()),
        }
    }

    fn monotonic_ms(&self) -> u64 {
        self.machine.monotonic_ms()
    }

    async fn sleep_ms(&self, ms: u64) {
        self.machine.sleep_ms(ms).await;
    }

    fn set_by(&self, reference: TimestampMs, asked_at_ms: u64) {
        let wall = self.machine.wall();
        let monotonic_ms = self.machine.monotonic_ms();
        let took_ms = monotonic_ms.saturating_sub(asked_at_ms);
        let mut state = self.lock();
        let most_ms = match state.correction.last {
            Some(_) => READING_MS,
            None => FIRST_READING_MS,
        };
        if took_ms > most_ms {
            return;
        }
        let reading = Reading {
            wall_ms: wall.as_ms().cast_signed(),
            reference_ms: reference
                .saturating_add_ms(took_ms / 2)
                .as_ms()
                .cast_signed(),
            monotonic_ms: monotonic_ms.cast_signed(),
        };
        state.correction = state.correction.after(reading);
    }

    fn correction_ms(&self) -> i64 {
        self.lock().correction.ms
    }

    fn since_boot(&self) -> Option<SinceBoot> {
        self.machine.since_boot()
    }

    fn expected_wall(&self) -> Option<TimestampMs> {
        let state = self.lock();
        // With a reference nothing has to be guessed.
        if state.correction.last.is_some() {
            return None;
        }
        state.course.as_ref()?.expected(&self.machine.since_boot()?)
    }
}

/// Both clocks at one moment, in milliseconds.
#[derive(Debug, Clone, Copy)]
struct Reading {
    wall_ms: i64,
    reference_ms: i64,
    monotonic_ms: i64,
}

/// What the wall clock is corrected by.
#[derive(Debug, Clone, Copy, Default)]
struct Correction {
    ms: i64,
    /// Jumps of the reference that are left out.
    ignored_ms: i64,
    last: Option<Reading>,
}

impl Correction {
    /// The correction after another reading.
    fn after(self, now: Reading) -> Correction {
        let read = Correction {
            last: Some(now),
            ..self
        };
        let due_ms = now.reference_ms - self.ignored_ms - now.wall_ms;
        let off_ms = due_ms - self.ms;
        if off_ms.abs() <= NEAR_MS {
            return read;
        }
        let Some(last) = self.last else {
            return Correction { ms: due_ms, ..read };
        };
        let passed_ms = now.monotonic_ms - last.monotonic_ms;
        let has_jumped =
            |from_ms: i64, to_ms: i64| (to_ms - from_ms - passed_ms).abs() > CLOCK_JUMP_MS;
        let machine_jumped = has_jumped(last.wall_ms, now.wall_ms);
        let reference_jumped = has_jumped(last.reference_ms, now.reference_ms);
        match (machine_jumped, reference_jumped) {
            (true, _) => Correction { ms: due_ms, ..read },
            (false, true) => Correction {
                ignored_ms: self.ignored_ms + off_ms,
                ..read
            },
            (false, false) => Correction {
                ms: self.ms + off_ms.clamp(-STEP_MS, STEP_MS),
                ..read
            },
        }
    }
}

/// The difference from which on a machine's clock is told to the operator, in milliseconds.
pub const FAR_OFF_MS: u64 = JUMP_MS;

#[cfg(test)]
mod tests {
    use super::super::{ClockState, LedgerClock, ManualClock};
    use super::*;

    const HOUR_MS: u64 = 3_600_000;
    const BEGUN: TimestampMs = TimestampMs::new(100 * HOUR_MS);

    struct Clocks {
        machine: Arc<ManualClock>,
        clock: Arc<ReferenceClock<ManualClock>>,
        /// The reference against the time that passes.
        reference_ahead_ms: i64,
    }

    impl Clocks {
        fn with(wall: TimestampMs) -> Clocks {
            let machine = Arc::new(ManualClock::at(wall));
            let clock = Arc::new(ReferenceClock::over(machine.clone(), None));
            Clocks {
                machine,
                clock,
                reference_ahead_ms: 0,
            }
        }

        fn reference(&self) -> TimestampMs {
            let ms = BEGUN.as_ms() + self.machine.monotonic_ms();
            TimestampMs::new(ms.saturating_add_signed(self.reference_ahead_ms))
        }

        fn read(&self) {
            let asked_at_ms = self.machine.monotonic_ms();
            self.clock.set_by(self.reference(), asked_at_ms);
        }

        fn pass(&self, ms: u64) {
            self.machine.advance_ms(ms);
            self.read();
        }
    }

    #[test]
    fn lc_1_2_a_clock_that_is_off_follows_its_reference() {
        for wall in [
            BEGUN,
            BEGUN.saturating_add_ms(HOUR_MS),
            BEGUN.saturating_sub_ms(HOUR_MS),
            BEGUN.saturating_add_ms(6_000),
        ] {
            let clocks = Clocks::with(wall);
            assert_eq!(clocks.clock.wall(), wall, "before there is a reference");
            clocks.read();
            assert_eq!(clocks.clock.wall(), BEGUN);
            let ledger = LedgerClock::start(clocks.clock.clone(), BEGUN);
            clocks.pass(3_000);
            assert_eq!(ledger.check(), ClockState::Settled);
            assert_eq!(ledger.now(), BEGUN.saturating_add_ms(3_000));
        }
        let near = Clocks::with(BEGUN.saturating_add_ms(900));
        near.read();
        assert_eq!(near.clock.correction_ms(), 0);
    }

    #[test]
    fn lc_1_2_a_machine_whose_clock_jumps_is_corrected_and_records_nothing_of_it() {
        for jump in [
            BEGUN.saturating_add_ms(HOUR_MS),
            BEGUN.saturating_sub_ms(HOUR_MS),
        ] {
            let clocks = Clocks::with(BEGUN);
            clocks.read();
            let ledger = LedgerClock::start(clocks.clock.clone(), BEGUN);
            clocks.machine.jump_wall_to(jump);
            assert_eq!(ledger.check(), ClockState::Unsettled);
            clocks.pass(1_000);
            assert_eq!(ledger.check(), ClockState::Settled);
            clocks.pass(20_000);
            assert_eq!(ledger.check(), ClockState::Settled);
            assert!(ledger.now().since(BEGUN) <= 21_000, "{}", ledger.now());
        }
    }

    #[test]
    fn lc_1_2_a_reference_that_jumps_alone_is_not_followed_and_may_come_back() {
        let mut clocks = Clocks::with(BEGUN);
        clocks.read();
        let ledger = LedgerClock::start(clocks.clock.clone(), BEGUN);
        clocks.reference_ahead_ms = 3_600_000;
        for _ in 0..30 {
            clocks.pass(1_000);
            assert_eq!(ledger.check(), ClockState::Settled);
        }
        assert_eq!(ledger.now(), BEGUN.saturating_add_ms(30_000));
        clocks.reference_ahead_ms = 0;
        clocks.pass(1_000);
        assert_eq!(clocks.clock.correction_ms(), 0);
        assert_eq!(ledger.check(), ClockState::Settled);
    }

    #[test]
    fn lc_1_2_a_clock_that_drifts_follows_in_small_steps() {
        let mut clocks = Clocks::with(BEGUN);
        clocks.read();
        let ledger = LedgerClock::start(clocks.clock.clone(), BEGUN);
        for second in 1..100 {
            clocks.reference_ahead_ms = second * 100;
            clocks.pass(1_000);
            assert_eq!(ledger.check(), ClockState::Settled, "{second}");
        }
        let off_ms = clocks.reference().since(clocks.clock.wall());
        assert!(off_ms <= 1_100, "{off_ms}");
    }

    #[test]
    fn lc_1_2_a_reading_that_took_long_says_nothing() {
        for (most_ms, is_first) in [(READING_MS, false), (FIRST_READING_MS, true)] {
            for (took_ms, is_taken) in [(0, true), (most_ms, true), (most_ms + 1, false)] {
                let clocks = Clocks::with(BEGUN);
                if !is_first {
                    clocks.read();
                }
                clocks
                    .machine
                    .jump_wall_to(BEGUN.saturating_add_ms(HOUR_MS));
                let asked_at_ms = clocks.machine.monotonic_ms();
                clocks.machine.advance_ms(took_ms);
                clocks.clock.set_by(clocks.reference(), asked_at_ms);
                let is_corrected = clocks.clock.correction_ms() != 0;
                assert_eq!(is_corrected, is_taken, "{took_ms} {is_first}");
            }
        }
    }
}
