//! `x811-bench discovery`: a page of discovery among many registered agents, against the read of one
//! row.
//!
//! Pages begin behind agents all over the registry, with and without a capability in turns, and are read
//! from rows as a ledger writes them, without HTTP.

use serde_json::json;
use std::path::Path;
use std::sync::Arc;
use x811_ledger::port::ReadModel as _;
use x811_protocol::did::Did;
use x811_protocol::id::EnvelopeId;
use x811_protocol::trust::TrustCounters;
use x811_store::ReadRows;
use x811_world::agent::Status;
use x811_world::row::{AgentRow, RowChange};

use super::cpu::now;
use super::figures::{Latency, thousands};
use super::measured::Measured;
use super::{Common, broken};
use x811_console::failure::Failure;
use x811_console::output::Out;

/// Agents of one transaction.
const BATCH: u64 = 10_000;

/// Task types there are; each agent offers two of them.
const TASKS: u64 = 100;

/// Made first and not counted.
const WARM_UP: u64 = 50;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    common: Common,
    /// How many agents are registered
    #[arg(long, value_name = "COUNT", default_value_t = 100_000)]
    registered: u64,
    /// How many pages are read
    #[arg(long, value_name = "COUNT", default_value_t = 3_000)]
    pages: u64,
    /// Agents of a page
    #[arg(long, value_name = "COUNT", default_value_t = 20)]
    limit: usize,
}

/// Measures and reports.
pub(super) async fn run(args: Args, out: &mut Out) -> Result<(), Failure> {
    let directory = args.common.directory()?;
    let rows = registry(directory.path(), args.registered).await?;
    let (mut pages, mut single) = (Vec::new(), Vec::new());
    for number in 0..WARM_UP + args.pages {
        // Steps that meet every place, in no order.
        let after = number.wrapping_mul(7_919) % args.registered;
        let task = task(number);
        let capability = number.is_multiple_of(2).then_some(task.as_str());
        let page_us = read(&rows, capability, after, args.limit).await?;
        let single_us = read(&rows, None, after, 1).await?;
        if number >= WARM_UP {
            pages.push(page_us);
            single.push(single_us);
        }
    }
    rows.close().await;
    let (page, one_row) = (Latency::of(pages), Latency::of(single));
    let ratio = f64::from(page.p99_us) / f64::from(one_row.p99_us.max(1));
    let heading = format!("discovery: a page takes {ratio:.1} times as long as one row, at p99");
    let agents = thousands(args.registered as f64);
    // The ratio is of the times of a page and of one row, each at p99.
    let figures = json!({
        "registered": args.registered, "agents_of_a_page": args.limit, "ratio": ratio, "page": page,
        "one_row": one_row,
    });
    let measured = Measured::new("discovery", heading)
        .figures(figures)
        .fields([
            (
                "page",
                format!("{} of {agents} agents, {}", args.limit, page.text()),
            ),
            ("one row", one_row.text()),
        ]);
    out.report(&measured);
    Ok(())
}

fn task(number: u64) -> String {
    format!("task.{}", number % TASKS)
}

async fn registry(directory: &Path, registered: u64) -> Result<ReadRows, Failure> {
    let rows = ReadRows::open(directory).await.map_err(broken)?;
    let mut from = 0;
    while from < registered {
        let to = registered.min(from + BATCH);
        let changes: Result<Vec<[RowChange; 2]>, Failure> = (from..to).map(agent).collect();
        let changes = changes?.concat();
        rows.apply(from, to, &changes).await.map_err(broken)?;
        from = to;
    }
    Ok(rows)
}

fn agent(position: u64) -> Result<[RowChange; 2], Failure> {
    let random: [u8; 10] = std::array::from_fn(|at| position.to_be_bytes()[at % 8]);
    let uuid = EnvelopeId::from_parts(position, &random).uuid();
    let successes = u32::try_from(position % 50).map_err(broken)?;
    let row = AgentRow {
        registered_position: position,
        did: Did::from_uuid(uuid).map_err(broken)?,
        status: Status::Active,
        expires_at_ms: None,
        trust: TrustCounters {
            s: successes,
            ..TrustCounters::NONE
        },
    };
    let names: Arc<[String]> = Arc::new([task(position), task(position / TASKS)]);
    let registered_position = position;
    Ok([
        RowChange::Agent(row),
        RowChange::Capabilities {
            registered_position,
            names,
        },
    ])
}

/// How long one page took, in microseconds.
async fn read(
    rows: &ReadRows,
    capability: Option<&str>,
    after: u64,
    limit: usize,
) -> Result<u32, Failure> {
    let begun = now();
    let page = rows.agents(capability, Some(after), limit).await;
    let took = begun.elapsed();
    page.map_err(broken)?;
    Ok(u32::try_from(took.as_micros()).unwrap_or(u32::MAX))
}
