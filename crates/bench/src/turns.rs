//! Turns of the limit and of what is measured: noise of the machine falls on both.

use super::clients::{Answered, Retries};
use super::cpu::Elapsed;
use super::figures::{Latency, Rate};
use super::limit::Limit;
use super::traffic::Conversation;
use x811_console::failure::Failure;

/// How many there are.
pub(super) const TURNS: usize = 5;

/// What all turns add up to.
#[derive(Debug, Default)]
pub(super) struct Turns {
    limit: Limit,
    answered: Answered,
    elapsed: Elapsed,
}

/// The figures of all turns.
#[derive(Debug)]
pub(super) struct Sum {
    pub(super) limit_per_second: f64,
    pub(super) rate: Rate,
    pub(super) latency: Latency,
    pub(super) retries: Retries,
}

impl Turns {
    /// Measures the limit with the messages of this turn.
    pub(super) fn limit(&mut self, conversations: &[Conversation]) -> Result<(), Failure> {
        let messages: Vec<_> = conversations.iter().flatten().collect();
        self.limit.measure(&messages)
    }

    /// Adds what this turn's messages took.
    pub(super) fn add(&mut self, answered: Answered, elapsed: Elapsed) {
        self.answered.add(answered);
        self.elapsed += elapsed;
    }

    pub(super) fn sum(self) -> Sum {
        let accepted = self.answered.latencies_us.len() as u64;
        Sum {
            limit_per_second: self.limit.per_second(),
            rate: Rate::of(accepted, self.elapsed),
            latency: Latency::of(self.answered.latencies_us),
            retries: self.answered.retries,
        }
    }
}

impl Sum {
    /// Accepted for each signature that could have been checked.
    pub(super) fn ratio(&self) -> f64 {
        self.rate.per_second / self.limit_per_second
    }
}

/// What a ledger waits for when not all cores are busy.
pub(super) const WAITING: &str = "waiting: for the disk, or for commits that follow each other";

/// What keeps it from being faster: whether all of the CPU was used, how much for each, and what a
/// check alone takes; `waiting` is what it must be if it was not.
pub(super) fn bound(cores: usize, limit_per_second: f64, rate: &Rate, waiting: &str) -> String {
    let Some(cpu_us) = rate.cpu_us_each else {
        return "bound: unknown, CPU time cannot be read here".to_owned();
    };
    let busy = cpu_us * rate.per_second / (cores as f64 * 1e6);
    let what = if busy > 0.85 { "CPU" } else { waiting };
    format!(
        "bound by {what}: {:.0} % of {cores} cores busy, {cpu_us:.0} µs for each; {}",
        busy * 100.0,
        check_alone(cores, limit_per_second),
    )
}

/// What the limit is made of, for comparison: signatures are checked in groups, for less.
pub(super) fn check_alone(cores: usize, limit_per_second: f64) -> String {
    let us = cores as f64 * 1e6 / limit_per_second;
    format!("a signature checked alone takes {us:.0} µs, and less in a group")
}
