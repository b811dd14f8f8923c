//! `x811-bench ingest`: envelopes into a ledger in this process, durable on SQLite
//! (`synchronous=FULL`), by many agents at once.

use std::path::Path;

use serde_json::json;

use super::Common;
use super::backends::{self, Backends, BenchPlace, SideBySide};
use super::cpu::Stopwatch;
use super::figures::thousands;
use super::ledger::{BenchLedger, NETWORK};
use super::measured::Measured;
use super::traffic::{Agents, Conversation, MESSAGES_EACH};
use super::turns::{Sum, TURNS, Turns, WAITING, bound};
use x811_console::failure::Failure;
use x811_console::output::Out;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    common: Common,
    /// About how many envelopes are sent
    #[arg(long, value_name = "COUNT", default_value_t = 150_000)]
    messages: usize,
    /// Conversations at once; each waits for its answers
    #[arg(long, value_name = "COUNT", default_value_t = 2_048)]
    at_once: usize,
    #[command(flatten)]
    backends: Backends,
}

/// Measures and reports.
pub(super) async fn run(args: Args, out: &mut Out) -> Result<(), Failure> {
    let directory = args.common.directory()?;
    let places = args.backends.places()?;
    if !places.is_empty() {
        out.report(&side_by_side(&args, directory.path(), places).await?);
        return Ok(());
    }
    let ledger = BenchLedger::open(directory.path()).await?;
    let agents = Agents::generate(args.common.agents(), NETWORK)?;
    ledger
        .accept_all(agents.registrations(ledger.did())?)
        .await?;
    let each = args.messages / MESSAGES_EACH / TURNS;
    let warm_up = agents.conversations(0, each / 2)?;
    ledger.converse(warm_up, args.at_once).await?;
    let mut turns = Turns::default();
    for number in 0..TURNS {
        let conversations = agents.conversations(each * (number + 1), each)?;
        turn(&mut turns, &ledger, conversations, args.at_once).await?;
    }
    let records = ledger.size();
    ledger.close().await?;
    out.report(&measured(&turns.sum(), records, args.at_once));
    Ok(())
}

/// The same envelopes, as far as their ledgers allow, into one ledger after the other, in turns.
async fn side_by_side(
    args: &Args,
    directory: &Path,
    places: Vec<BenchPlace>,
) -> Result<SideBySide, Failure> {
    let each = args.messages / MESSAGES_EACH / TURNS;
    let agents = Agents::generate(args.common.agents(), NETWORK)?;
    let mut measured = Vec::new();
    for place in places {
        let own = directory.join(place.name());
        let ledger = BenchLedger::open_in(&own, place.database()).await?;
        let registrations = agents.registrations(ledger.did())?;
        ledger.accept_all(registrations).await?;
        let warm_up = agents.conversations(0, each / 2)?;
        ledger.converse(warm_up, args.at_once).await?;
        let before = ledger.bytes().await?;
        measured.push((place, ledger, Turns::default(), before));
    }
    for number in 0..TURNS {
        for (_, ledger, turns, _) in &mut measured {
            let conversations = agents.conversations(each * (number + 1), each)?;
            turn(turns, ledger, conversations, args.at_once).await?;
        }
    }
    let mut rows = Vec::new();
    for (place, ledger, turns, before) in measured {
        let after = ledger.bytes().await?;
        let sum = turns.sum();
        let interactions = sum.rate.count / MESSAGES_EACH as u64;
        let row = backends::Row::of(place.name(), sum.rate, sum.latency);
        rows.push(row.with_bytes(before, after, interactions));
        ledger.close().await?;
    }
    Ok(args.backends.report("ingest", args.at_once as u64, rows))
}

/// Measures the limit, then the ledger, with the same envelopes.
pub(super) async fn turn(
    turns: &mut Turns,
    ledger: &BenchLedger,
    conversations: Vec<Conversation>,
    at_once: usize,
) -> Result<(), Failure> {
    turns.limit(&conversations)?;
    let stopwatch = Stopwatch::start(std::process::id());
    let answered = ledger.converse(conversations, at_once).await?;
    // Rows are part of the cost, whenever they are written.
    ledger.rows_caught_up().await?;
    turns.add(answered, stopwatch.elapsed());
    Ok(())
}

fn measured(sum: &Sum, records: u64, at_once: usize) -> Measured {
    let Sum {
        limit_per_second,
        rate,
        latency,
        retries,
    } = sum;
    let (cores, ratio) = (rayon::current_num_threads(), sum.ratio());
    let (answers, again) = (latency.text(), retries.text());
    Measured::new("ingest", format!("ingest: {ratio:.2} of the limit"))
        .figures(json!({
            "limit_per_second": limit_per_second, "ingest": rate, "ratio": ratio, "latency": latency,
            "at_once": at_once, "records": records,
        }))
        // Messages that were told X811-9001.
        .figures(retries)
        .fields([
            ("accepted", rate.text("envelopes")),
            ("limit", super::limit::text(*limit_per_second)),
            ("answers", format!("{answers}, {at_once} at once, sent again: {again}")),
            ("log", format!("{} records", thousands(records as f64))),
        ])
        .line(bound(cores, *limit_per_second, rate, WAITING))
}
