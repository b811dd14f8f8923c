//! `x811-bench growth`: the rate of ingest beside a long history, against the rate on an empty
//! ledger. Finished interactions may cost room on the disk, and nothing else.
//!
//! The history is made by the real sequencer, from signed messages, outside the timing
//! ([`super::history`]). It is dated half an hour back and further, so that what is held for a
//! window of time (nonces, ids) is that of the measured traffic alone, as on a ledger that has been
//! running for long. Both ledgers then run side by side and take turns.

use serde::Serialize;
use serde_json::json;
use std::path::Path;

use super::clients::Retries;
use super::cpu::Stopwatch;
use super::figures::{Latency, Rate, thousands};
use super::history::{History, PastClock, register};
use super::ledger::{BenchLedger, NETWORK, StartFrom};
use super::measured::Measured;
use super::traffic::{Agents, MESSAGES_EACH};
use super::turns::{Sum, TURNS, Turns, WAITING, bound};
use super::{Common, ingest, wall_clock};
use x811_console::failure::Failure;
use x811_console::output::Out;

/// What it should keep of the rate on an empty ledger.
const TARGET_RATIO: f64 = 0.9;

/// How long ago the history ended: longer than anything is held in memory.
const AGO_MS: u64 = 30 * 60_000;

/// Time from one stored interaction to the next, on average: 20 a second.
const APART_MS: u64 = 50;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    common: Common,
    /// Finished interactions that one of the ledgers holds before; 1000000 of them take minutes to
    /// make, and 13 GB on the disk
    #[arg(long, value_name = "COUNT", default_value_t = 100_000)]
    stored: usize,
    /// About how many envelopes are sent to each ledger
    #[arg(long, value_name = "COUNT", default_value_t = 100_000)]
    messages: usize,
    /// Conversations at once; each waits for its answers
    #[arg(long, value_name = "COUNT", default_value_t = 2_048)]
    at_once: usize,
}

/// Measures and reports.
pub(super) async fn run(args: Args, out: &mut Out) -> Result<(), Failure> {
    let agents = Agents::generate(args.common.agents(), NETWORK)?;
    let (empty_directory, filled_directory) = (args.common.directory()?, args.common.directory()?);
    let fill = fill(filled_directory.path(), &agents, args.stored).await?;
    let filled = BenchLedger::open(filled_directory.path()).await?;
    let stored_records = filled.size();
    let empty = BenchLedger::open(empty_directory.path()).await?;
    empty.accept_all(agents.registrations(empty.did())?).await?;
    let (on_empty, on_filled) = take_turns(&args, &agents, &empty, &filled).await?;
    let held_nonces = filled.held().nonces;
    empty.close().await?;
    filled.close().await?;
    let ratio = on_filled.rate.per_second / on_empty.rate.per_second;
    let heading =
        format!("growth: {ratio:.2} of the rate on an empty ledger (target {TARGET_RATIO:.2})");
    let (limit_per_second, stored) = (on_filled.limit_per_second, args.stored);
    let cores = rayon::current_num_threads();
    let bound = bound(cores, limit_per_second, &on_filled.rate, WAITING);
    let (empty, filled) = (Side::from(on_empty), Side::from(on_filled));
    // The limit is that beside the filled ledger's turns; each side has its own. The nonces that the filled
    // ledger held in the end are those of the measured traffic.
    let figures = json!({
        "limit_per_second": limit_per_second, "ratio": ratio, "target_ratio": TARGET_RATIO,
        "stored_interactions": stored, "stored_records": stored_records, "fill": fill, "empty": empty,
        "filled": filled, "held_nonces": held_nonces, "at_once": args.at_once,
    });
    let (stored, records) = (thousands(stored as f64), thousands(stored_records as f64));
    let made = format!(
        "{stored} finished interactions, {records} records, in {:.0} s",
        fill.seconds
    );
    let header = [
        "ledger",
        "envelopes a second",
        "of the limit",
        "answers",
        "sent again",
    ];
    let measured = Measured::new("growth", heading)
        .figures(figures)
        .table(&header, vec![empty.row("empty"), filled.row("filled")])
        .fields([
            ("filled with", made),
            ("limit", super::limit::text(limit_per_second)),
        ])
        .line(bound);
    out.report(&measured);
    Ok(())
}

/// Makes a ledger with finished interactions in it.
async fn fill(directory: &Path, agents: &Agents, stored: usize) -> Result<Rate, Failure> {
    let stopwatch = Stopwatch::start(std::process::id());
    let span_ms = stored as u64 * APART_MS;
    let clock = PastClock::at(wall_clock().saturating_sub_ms(AGO_MS + span_ms));
    let ledger = BenchLedger::open_at(directory, clock.of_ledger(), StartFrom::Snapshots).await?;
    register(&ledger, agents, &clock).await?;
    let history = History {
        first: 0,
        conversations: stored,
        span_ms,
    };
    history.make(&ledger, agents, &clock).await?;
    let records = ledger.size();
    ledger.close().await?;
    Ok(Rate::of(records, stopwatch.elapsed()))
}

/// The same traffic to both, in turns, after a warm-up of both.
async fn take_turns(
    args: &Args,
    agents: &Agents,
    empty: &BenchLedger,
    filled: &BenchLedger,
) -> Result<(Sum, Sum), Failure> {
    let each = args.messages / MESSAGES_EACH / TURNS;
    let mut next = args.stored;
    let mut conversations = |count| {
        let first = next;
        next += count;
        agents.conversations(first, count)
    };
    for ledger in [empty, filled] {
        let warm_up = conversations(each / 2)?;
        ledger.converse(warm_up, args.at_once).await?;
    }
    let (mut on_empty, mut on_filled) = (Turns::default(), Turns::default());
    for _ in 0..TURNS {
        ingest::turn(&mut on_empty, empty, conversations(each)?, args.at_once).await?;
        ingest::turn(&mut on_filled, filled, conversations(each)?, args.at_once).await?;
    }
    Ok((on_empty.sum(), on_filled.sum()))
}

/// One of the two ledgers.
#[derive(Debug, Serialize)]
struct Side {
    limit_per_second: f64,
    ratio_to_limit: f64,
    ingest: Rate,
    latency: Latency,
    #[serde(flatten)]
    retries: Retries,
}

impl From<Sum> for Side {
    fn from(sum: Sum) -> Side {
        Side {
            limit_per_second: sum.limit_per_second,
            ratio_to_limit: sum.ratio(),
            ingest: sum.rate,
            latency: sum.latency,
            retries: sum.retries,
        }
    }
}

impl Side {
    fn row(&self, name: &str) -> Vec<String> {
        vec![
            name.to_owned(),
            thousands(self.ingest.per_second),
            format!("{:.2}", self.ratio_to_limit),
            self.latency.text(),
            self.retries.text(),
        ]
    }
}
