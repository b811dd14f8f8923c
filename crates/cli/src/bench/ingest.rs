//! `x811 bench ingest`: envelopes into a ledger in this process, durable on SQLite
//! (`synchronous=FULL`), by many agents at once.

use serde::Serialize;

use super::Common;
use super::cpu::{Elapsed, Stopwatch};
use super::figures::{Latency, Rate, thousands};
use super::ledger::{BenchLedger, NETWORK};
use super::limit::Limit;
use super::traffic::{Agents, Conversation, Message};
use crate::failure::Failure;
use crate::output::{Out, Report, Tone};

/// Turns of ledger and limit: noise of the machine falls on both.
const TURNS: usize = 5;

/// Messages of an average conversation.
pub(super) const MESSAGES_EACH: usize = 5;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    common: Common,
    /// About how many envelopes are sent
    #[arg(long, value_name = "COUNT", default_value_t = 150_000)]
    messages: usize,
    /// Conversations at once; each waits for its answers
    #[arg(long, value_name = "COUNT", default_value_t = 768)]
    at_once: usize,
    /// Agents that talk to each other
    #[arg(long, value_name = "COUNT", default_value_t = 200, value_parser = clap::value_parser!(u16).range(2..))]
    agents: u16,
}

/// Measures and reports.
pub(super) async fn run(args: Args, out: &mut Out) -> Result<(), Failure> {
    let directory = args.common.directory()?;
    let ledger = BenchLedger::open(directory.path()).await?;
    let agents = Agents::generate(usize::from(args.agents), NETWORK)?;
    ledger
        .accept_all(agents.registrations(ledger.did())?)
        .await?;
    let each = args.messages / MESSAGES_EACH / TURNS;
    let warm_up = agents.conversations(0, each / 2)?;
    ledger.converse(warm_up, args.at_once).await?;
    let mut ingest = Ingest::default();
    for turn in 0..TURNS {
        let conversations = agents.conversations(each * (turn + 1), each)?;
        ingest.turn(&ledger, conversations, args.at_once).await?;
    }
    let records = ledger.size();
    ledger.close().await?;
    out.report(&ingest.measured(records, args.at_once));
    Ok(())
}

/// Ledger and limit, in turns.
#[derive(Debug, Default)]
pub(super) struct Ingest {
    limit: Limit,
    accepted: u64,
    elapsed: Elapsed,
    latencies_us: Vec<u32>,
}

impl Ingest {
    /// Measures the limit, then the ledger, with the same envelopes.
    pub(super) async fn turn(
        &mut self,
        ledger: &BenchLedger,
        conversations: Vec<Conversation>,
        at_once: usize,
    ) -> Result<(), Failure> {
        let messages: Vec<&Message> = conversations.iter().flatten().collect();
        self.limit.measure(&messages)?;
        let stopwatch = Stopwatch::start(std::process::id());
        let latencies_us = ledger.converse(conversations, at_once).await?;
        // Rows are part of the cost, whenever they are written.
        ledger.rows_caught_up().await?;
        self.elapsed += stopwatch.elapsed();
        self.accepted += latencies_us.len() as u64;
        self.latencies_us.extend(latencies_us);
        Ok(())
    }

    fn measured(self, records: u64, at_once: usize) -> Measured {
        let ingest = Rate::of(self.accepted, self.elapsed);
        let limit_per_second = self.limit.per_second();
        Measured {
            benchmark: "ingest",
            cores: rayon::current_num_threads(),
            limit_per_second,
            ratio: ingest.per_second / limit_per_second,
            ingest,
            latency: Latency::of(self.latencies_us),
            at_once,
            records,
        }
    }
}

#[derive(Debug, Serialize)]
struct Measured {
    benchmark: &'static str,
    cores: usize,
    limit_per_second: f64,
    ingest: Rate,
    ratio: f64,
    latency: Latency,
    at_once: usize,
    records: u64,
}

impl Report for Measured {
    fn print(&self, out: &mut Out) {
        out.heading(
            Tone::Plain,
            format_args!("ingest: {:.2} of the limit", self.ratio),
        );
        out.fields(&[
            ("accepted", self.ingest.text("envelopes")),
            (
                "limit",
                format!(
                    "{} raw verify_strict a second on {} cores",
                    thousands(self.limit_per_second),
                    self.cores
                ),
            ),
            (
                "answers",
                format!("{}, {} at once", self.latency.text(), self.at_once),
            ),
            ("log", format!("{} records", thousands(self.records as f64))),
        ]);
        out.line(bound(self.cores, self.limit_per_second, &self.ingest));
    }
}

/// What keeps it from being faster: where the CPU went, and whether all of it was used.
pub(super) fn bound(cores: usize, limit_per_second: f64, rate: &Rate) -> String {
    let Some(cpu_us) = rate.cpu_us_each else {
        return "bound: unknown, CPU time cannot be read here".to_owned();
    };
    let verify_us = cores as f64 * 1e6 / limit_per_second;
    let busy = cpu_us * rate.per_second / (cores as f64 * 1e6);
    let what = if busy > 0.85 {
        "CPU"
    } else {
        "waiting: for the disk, or for commits that follow each other"
    };
    format!(
        "bound by {what}: {:.0} % of {cores} cores busy; of {cpu_us:.0} µs each, {verify_us:.0} µs check the \
         signature, {:.0} µs do everything else",
        busy * 100.0,
        (cpu_us - verify_us).max(0.0),
    )
}
