//! What an open round takes of memory: measured in a process of its own, so that nothing that was sent and
//! freed before is taken for it, once for each size of round.

use std::process::Stdio;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use tokio::process::Command;

use super::{Args, rounds};
use crate::ledger::{BenchLedger, NETWORK};
use crate::traffic::Agents;
use crate::{broken, memory, program};
use x811_console::failure::Failure;
use x811_console::output::{Out, Report, Tone};

/// The allocator gives back at once what is free: what is resident is in use.
const GIVEN_BACK: (&str, &str) = ("MIMALLOC_PURGE_DELAY", "0");

/// Rounds at once: few, so that little is under way that no round keeps.
const AT_ONCE: usize = 8;

/// Memory is read so often, this long after each other: the least of it is what stays.
const READINGS: usize = 20;
const APART: Duration = Duration::from_millis(50);

/// What that process says.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub(super) struct Open {
    /// Rounds that were left open and weighed, each with all votes but one.
    pub(super) rounds: usize,
    /// With the rows' and the store's own memory; absent where it cannot be read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) bytes_each: Option<u64>,
}

impl Report for Open {
    fn print(&self, out: &mut Out) {
        let bytes = self.bytes_each.map(|bytes| bytes.to_string());
        let bytes = bytes.unwrap_or_else(|| "unknown here".to_owned());
        let heading = format!("{} open rounds: bytes each: {bytes}", self.rounds);
        out.heading(Tone::Plain, heading);
    }
}

/// Asks another process of this program.
pub(super) async fn measured(args: &Args, voters: usize) -> Result<Open, Failure> {
    let output = command(args, voters)?.output().await.map_err(broken)?;
    serde_json::from_slice(&output.stdout)
        .map_err(|_| broken("memory was not measured; the other process says above why"))
}

fn command(args: &Args, voters: usize) -> Result<Command, Failure> {
    let mut command = program("x811-bench")?;
    command
        .env(GIVEN_BACK.0, GIVEN_BACK.1)
        .args(["round", "--json"])
        .args(["--memory-of", &voters.to_string()])
        .args(["--open-seats", &args.open_seats.to_string()])
        .args(["--agents", &args.common.agents.to_string()])
        .stdin(Stdio::null())
        .stderr(Stdio::inherit())
        .kill_on_drop(true);
    if let Some(parent) = &args.common.dir {
        command.arg("--dir").arg(parent);
    }
    Ok(command)
}

/// Measures in this process, which has done nothing else.
pub(super) async fn measure(args: &Args, voters: usize) -> Result<Open, Failure> {
    if voters < 2 {
        return Err(Failure::usage("a round that stays open has two voters"));
    }
    let directory = args.common.directory()?;
    let ledger = BenchLedger::open_with_rounds(directory.path()).await?;
    let agents = Agents::generate(args.common.agents().max(voters + 1), NETWORK)?.taking_part();
    ledger
        .accept_all(agents.registrations(ledger.did())?)
        .await?;
    let count = (args.open_seats / voters).max(1);
    let of = |first, count| rounds(&agents, ledger.did(), voters, first, count, voters - 1);
    // As many before: what is made once for all rounds is there then, caches of the store among it.
    let (first, open) = (of(0, count)?, of(count, count)?);
    ledger.converse(first.clone(), count.min(AT_ONCE)).await?;
    let before = kept(&ledger).await?;
    // Copies are sent: where the messages themselves were freed, rounds would take their place.
    ledger.converse(open.clone(), count.min(AT_ONCE)).await?;
    let after = kept(&ledger).await?;
    drop((first, open));
    ledger.close().await?;
    let more = after
        .zip(before)
        .map(|(after, before)| after.saturating_sub(before));
    Ok(Open {
        rounds: count,
        bytes_each: more.map(|bytes| bytes / count as u64),
    })
}

/// What stays in memory once all is written that was sent; `None` where that cannot be read.
async fn kept(ledger: &BenchLedger) -> Result<Option<u64>, Failure> {
    ledger.rows_caught_up().await?;
    let mut least = None;
    for _ in 0..READINGS {
        tokio::time::sleep(APART).await;
        let now = memory::own_bytes();
        least = least.min(now).or(now);
    }
    Ok(least)
}
