//! CPU time of a process, as Linux counts it.

use std::fs;
use std::time::{Duration, Instant};

/// Ticks in a second of `/proc/<pid>/stat`: `USER_HZ`, 100 on every architecture of Linux.
const TICKS_PER_SECOND: u32 = 100;

/// The CPU time of all threads of a process so far, in user and kernel mode; `None` where there is
/// no `/proc`, or no such process.
pub(super) fn cpu_time(pid: u32) -> Option<Duration> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name of the program may hold blanks; it ends with the last parenthesis.
    let (_, after_name) = stat.rsplit_once(')')?;
    let mut fields = after_name.split_ascii_whitespace().skip(11);
    let mut ticks = || fields.next()?.parse::<u32>().ok();
    Some(Duration::from_secs(1) * (ticks()? + ticks()?) / TICKS_PER_SECOND)
}

/// Wall and CPU time since it was started.
#[derive(Debug, Clone, Copy)]
pub(super) struct Stopwatch {
    pid: u32,
    started: Instant,
    cpu: Option<Duration>,
}

/// What a [`Stopwatch`] shows.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Elapsed {
    pub(super) wall: Duration,
    /// CPU time of the process; absent where it cannot be read.
    pub(super) cpu: Option<Duration>,
}

impl Stopwatch {
    /// Starts one on a process.
    pub(super) fn start(pid: u32) -> Stopwatch {
        Stopwatch {
            pid,
            cpu: cpu_time(pid),
            started: now(),
        }
    }

    pub(super) fn elapsed(&self) -> Elapsed {
        Elapsed {
            wall: self.started.elapsed(),
            cpu: cpu_time(self.pid)
                .zip(self.cpu)
                .map(|(now, before)| now.saturating_sub(before)),
        }
    }
}

impl std::ops::AddAssign for Elapsed {
    fn add_assign(&mut self, other: Elapsed) {
        self.wall += other.wall;
        self.cpu = match (self.cpu, other.cpu) {
            (Some(one), Some(two)) => Some(one + two),
            (one, two) => one.or(two),
        };
    }
}

/// The moment, for measuring.
#[expect(
    clippy::disallowed_methods,
    reason = "a benchmark measures the machine's own time; nothing is decided by it"
)]
pub(super) fn now() -> Instant {
    Instant::now()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_process_has_used_some_time() {
        let watch = Stopwatch::start(std::process::id());
        while watch.elapsed().cpu.is_some_and(|cpu| cpu.is_zero()) {
            std::hint::spin_loop();
        }
        let elapsed = watch.elapsed();
        assert!(
            elapsed
                .cpu
                .is_none_or(|cpu| cpu >= Duration::from_millis(10))
        );
        assert!(!elapsed.wall.is_zero());
    }
}
