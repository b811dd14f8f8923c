//! The limit: nobody can accept envelopes faster than their signatures can be checked.

use rayon::prelude::*;
use std::time::Duration;

use super::broken;
use super::cpu::now;
use super::figures::thousands;
use super::traffic::Message;
use x811_console::failure::Failure;

/// How long the limit is measured at a time.
const TURN: Duration = Duration::from_millis(400);

/// Envelopes checked between two looks at the clock.
const SLICE: usize = 4_096;

/// Raw `verify_strict`, measured in turns with something else.
#[derive(Debug, Default)]
pub(super) struct Limit {
    checked: u64,
    time: Duration,
}

impl Limit {
    /// Checks signatures of `messages`, over and over, on all cores for a while.
    pub(super) fn measure(&mut self, messages: &[&Message]) -> Result<(), Failure> {
        let started = now();
        while started.elapsed() < TURN {
            for slice in messages.chunks(SLICE) {
                if !slice.par_iter().all(|message| message.is_authentic()) {
                    return Err(broken("a signature of its own does not verify"));
                }
                self.checked += slice.len() as u64;
                if started.elapsed() >= TURN {
                    break;
                }
            }
        }
        self.time += started.elapsed();
        Ok(())
    }

    /// Signatures in a second, on all cores.
    pub(super) fn per_second(&self) -> f64 {
        self.checked as f64 / self.time.as_secs_f64()
    }
}

/// The limit, for people.
pub(super) fn text(per_second: f64) -> String {
    format!(
        "{} raw verify_strict a second on {} cores",
        thousands(per_second),
        rayon::current_num_threads()
    )
}
