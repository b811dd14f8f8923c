//! `x811 audit` in a process of its own, so that time and memory are the audit's alone.

use std::path::Path;
use std::pin::pin;
use std::process::Stdio;
use std::time::Duration;

use serde::Deserialize;
use tokio::process::Command;

use crate::cpu::{Elapsed, Stopwatch};
use crate::{broken, memory, program};
use x811_console::failure::Failure;

/// How often it is looked at: what it used between the last look and its end is not counted.
const LOOK_EVERY: Duration = Duration::from_millis(10);

/// An audit that found nothing wrong.
#[derive(Debug)]
pub(super) struct Audited {
    pub(super) records: u64,
    pub(super) signatures: u64,
    pub(super) elapsed: Elapsed,
    /// The most that was resident at a time.
    pub(super) peak_rss_bytes: Option<u64>,
}

/// The members of `x811 audit --json` that are measured.
#[derive(Deserialize)]
struct AuditReport {
    verdict: String,
    records: u64,
    signatures_valid: u64,
}

/// Audits the ledger in `directory`.
pub(super) async fn audit(directory: &Path) -> Result<Audited, Failure> {
    let process = command(directory)?.spawn().map_err(broken)?;
    let pid = process.id().ok_or_else(|| broken("the audit has no id"))?;
    let stopwatch = Stopwatch::start(pid);
    let (mut elapsed, mut peak_rss_bytes) = (stopwatch.elapsed(), None);
    let mut output = pin!(process.wait_with_output());
    let output = loop {
        tokio::select! {
            output = &mut output => break output.map_err(broken)?,
            () = tokio::time::sleep(LOOK_EVERY) => {
                let now = stopwatch.elapsed();
                elapsed.cpu = now.cpu.or(elapsed.cpu);
                peak_rss_bytes = memory::peak_rss_bytes_of(pid).max(peak_rss_bytes);
            }
        }
    };
    elapsed.wall = stopwatch.elapsed().wall;
    let report: AuditReport = serde_json::from_slice(&output.stdout)
        .map_err(|_| broken("the audit did not end; its own words are above"))?;
    if report.verdict != "clean" {
        return Err(broken("the audit did not find its own log clean"));
    }
    Ok(Audited {
        records: report.records,
        signatures: report.signatures_valid,
        elapsed,
        peak_rss_bytes,
    })
}

fn command(directory: &Path) -> Result<Command, Failure> {
    let mut command = program("x811")?;
    command
        .args(["audit", "--json"])
        .arg(directory)
        .arg("--checkpoint-dir")
        .arg(super::checkpoint_dir(directory))
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .kill_on_drop(true);
    Ok(command)
}
