//! `x811 bench audit`: how fast a whole log is audited, by the code of `x811 audit`: hashes, tree,
//! signatures, facts against bodies, every decision made again, rows compared.

use serde::Serialize;
use std::path::Path;

use super::cpu::Stopwatch;
use super::figures::{Rate, thousands};
use super::history::{History, PastClock, register};
use super::ledger::{BenchLedger, NETWORK, StartFrom};
use super::limit::Limit;
use super::traffic::{Agents, Conversation, conversations_of_records};
use super::turns::bound;
use super::{Common, broken, memory, wall_clock};
use crate::failure::Failure;
use crate::output::{Out, Report, Tone};

/// What it should reach: signatures for each that raw checking would do.
const TARGET_RATIO: f64 = 0.7;

/// What it waits for when not all cores are busy.
const WAITING: &str = "what one core does alone: replaying in order, and reading";

/// Conversations the limit is measured with.
const SAMPLE: usize = 1_000;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    common: Common,
    /// About how many records the log has
    #[arg(long, value_name = "COUNT", default_value_t = 200_000)]
    records: usize,
}

/// Measures and reports.
pub(super) async fn run(args: Args, out: &mut Out) -> Result<(), Failure> {
    let directory = args.common.directory()?;
    let agents = Agents::generate(args.common.agents(), NETWORK)?;
    let conversations = conversations_of_records(args.records);
    fill(directory.path(), &agents, conversations).await?;
    let sample = agents.conversations(conversations, SAMPLE)?;
    let mut limit = Limit::default();
    measure(&mut limit, &sample)?;
    memory::forget_peak();
    let rss_before_bytes = memory::rss_bytes();
    let stopwatch = Stopwatch::start(std::process::id());
    let report = crate::audit::of_directory(directory.path(), None).await?;
    let elapsed = stopwatch.elapsed();
    let peak_rss_bytes = memory::peak_rss_bytes();
    measure(&mut limit, &sample)?;
    if !report.is_clean() {
        return Err(broken("the audit found its own log not clean"));
    }
    let signatures = Rate::of(report.signatures_valid, elapsed);
    let limit_per_second = limit.per_second();
    out.report(&Measured {
        benchmark: "audit",
        cores: rayon::current_num_threads(),
        limit_per_second,
        ratio: signatures.per_second / limit_per_second,
        target_ratio: TARGET_RATIO,
        signatures,
        records: Rate::of(report.records, elapsed),
        rss_before_bytes,
        peak_rss_bytes,
    });
    Ok(())
}

/// A ledger to audit, made and closed.
async fn fill(directory: &Path, agents: &Agents, conversations: usize) -> Result<(), Failure> {
    let clock = PastClock::at(wall_clock());
    let ledger = BenchLedger::open_at(directory, clock.of_ledger(), StartFrom::Snapshots).await?;
    register(&ledger, agents, &clock).await?;
    let history = History {
        first: 0,
        conversations,
        span_ms: 0,
    };
    history.make(&ledger, agents, &clock).await?;
    ledger.close().await
}

fn measure(limit: &mut Limit, sample: &[Conversation]) -> Result<(), Failure> {
    let messages: Vec<_> = sample.iter().flatten().collect();
    limit.measure(&messages)
}

#[derive(Debug, Serialize)]
struct Measured {
    benchmark: &'static str,
    cores: usize,
    limit_per_second: f64,
    signatures: Rate,
    records: Rate,
    ratio: f64,
    target_ratio: f64,
    /// Resident when the audit began: what making the log left behind.
    #[serde(skip_serializing_if = "Option::is_none")]
    rss_before_bytes: Option<u64>,
    /// The most that was resident while it ran.
    #[serde(skip_serializing_if = "Option::is_none")]
    peak_rss_bytes: Option<u64>,
}

impl Report for Measured {
    fn print(&self, out: &mut Out) {
        out.heading(
            Tone::Plain,
            format_args!(
                "audit: {:.2} of the limit (target {:.2})",
                self.ratio, self.target_ratio
            ),
        );
        out.fields(&[
            ("signatures", self.signatures.text("signatures")),
            (
                "records",
                format!("{} a second", thousands(self.records.per_second)),
            ),
            ("limit", super::limit::text(self.limit_per_second)),
            (
                "memory",
                format!(
                    "{} at most, {} of it before the audit began",
                    memory::text(self.peak_rss_bytes),
                    memory::text(self.rss_before_bytes)
                ),
            ),
        ]);
        out.line(bound(
            self.cores,
            self.limit_per_second,
            &self.signatures,
            WAITING,
        ));
    }
}
