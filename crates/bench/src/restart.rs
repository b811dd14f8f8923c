//! `x811-bench restart`: how long a ledger is away when it starts: from opening the store to a
//! sequencer, and to the first message that it has accepted; from a snapshot, from a snapshot and
//! what followed it, and from the log alone.
//!
//! The log is that of real conversations ([`super::history`]), spread over the minutes before the
//! start. Nonces are held for 15 minutes, so with 14 of them a start has to bring back all.
//!
//! Before them agreements are made that live a year. The ledger is started without and with them, and once
//! after it was away, so that the figures say what they add by themselves; the starts that follow hold them too.

use serde::Serialize;
use serde_json::json;
use std::path::Path;
use std::time::Duration;
use x811_ledger::clock::ManualClock;

use super::cpu::{Stopwatch, now};
use super::figures::{Rate, thousands};
use super::history::{History, PastClock, register};
use super::ledger::{BenchLedger, NETWORK, StartFrom};
use super::limit::Limit;
use super::measured::Measured;
use super::traffic::{Agents, conversations_of_records};
use super::{Common, agreement, memory, wall_clock};
use x811_console::failure::Failure;
use x811_console::output::Out;

/// Time that the messages after the last snapshot take.
const TAIL_MS: u64 = 1_000;

/// How long it takes by the ledger's clock until agreements are made and it was away.
const AGREEING_MS: u64 = 3_000_000;

/// One of so many agreements is made before memory is read.
const WARM_UP: usize = 5;

/// How long the ledger is away once while it holds them.
const AWAY: Duration = Duration::from_secs(60);

/// Conversations the limit is measured with.
const SAMPLE: usize = 1_000;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    common: Common,
    /// About how many records the log has; 1000000 take 2.3 GB on the disk
    #[arg(long, value_name = "COUNT", default_value_t = 500_000)]
    records: usize,
    /// Over how many minutes they are spread
    #[arg(long, value_name = "MINUTES", default_value_t = 14)]
    minutes: u64,
    /// About how many records follow the last snapshot when the ledger has crashed
    #[arg(long, value_name = "COUNT", default_value_t = 10_000)]
    tail: usize,
    /// How many agreements are in force; each lives a year
    #[arg(long, value_name = "COUNT", default_value_t = 10_000)]
    agreements: usize,
}

/// Measures and reports.
pub(super) async fn run(args: Args, out: &mut Out) -> Result<(), Failure> {
    let directory = args.common.directory()?;
    let span_ms = args.minutes * 60_000;
    let stage = Stage {
        directory: directory.path(),
        agents: Agents::generate(args.common.agents(), NETWORK)?,
        clock: PastClock::at(wall_clock().saturating_sub_ms(span_ms + AGREEING_MS)),
    };
    let stopwatch = Stopwatch::start(std::process::id());
    let ledger = stage.open(StartFrom::Snapshots).await?;
    register(&ledger, &stage.agents, &stage.clock).await?;
    ledger.close().await?;
    let agreements = stage.agreements(args.agreements).await?;
    let ledger = stage.open(StartFrom::Snapshots).await?;
    let conversations = conversations_of_records(args.records);
    stage.history(&ledger, 0, conversations, span_ms).await?;
    let records = ledger.size();
    ledger.close().await?;
    let fill = Rate::of(records, stopwatch.elapsed());

    let mut starts = vec![stage.start("snapshot", StartFrom::Snapshots).await?];
    let ledger = stage.open(StartFrom::Snapshots).await?;
    let tail = conversations_of_records(args.tail);
    stage.history(&ledger, conversations, tail, TAIL_MS).await?;
    ledger.crash().await?;
    for (what, from) in [
        ("snapshot and tail", StartFrom::Snapshots),
        ("whole log", StartFrom::WholeLog),
    ] {
        starts.push(stage.start(what, from).await?);
    }
    let limit_per_second = stage.limit_per_second()?;
    out.report(&measured(
        &fill,
        (&starts, agreements.as_ref()),
        limit_per_second,
    ));
    Ok(())
}

/// Where it happens.
struct Stage<'a> {
    directory: &'a Path,
    agents: Agents,
    clock: PastClock,
}

impl Stage<'_> {
    async fn open(&self, from: StartFrom) -> Result<BenchLedger<ManualClock>, Failure> {
        BenchLedger::open_at(self.directory, self.clock.of_ledger(), from).await
    }

    async fn history(
        &self,
        ledger: &BenchLedger<ManualClock>,
        first: usize,
        conversations: usize,
        span_ms: u64,
    ) -> Result<(), Failure> {
        let history = History {
            first,
            conversations,
            span_ms,
        };
        history.make(ledger, &self.agents, &self.clock).await
    }

    /// Makes so many, and starts the ledger without and with them. `None` where none are asked for.
    async fn agreements(&self, count: usize) -> Result<Option<Agreements>, Failure> {
        if count == 0 {
            return Ok(None);
        }
        let ledger = self.open(StartFrom::Snapshots).await?;
        agreement::prepare(&ledger, &self.agents, &self.clock).await?;
        ledger.close().await?;
        let mut starts = vec![self.start("without", StartFrom::Snapshots).await?];
        let ledger = self.open(StartFrom::Snapshots).await?;
        // What any first messages take, whatever they are about, is not counted.
        let first = count / WARM_UP;
        agreement::make(&ledger, &self.agents, &self.clock, 0..first, 2).await?;
        let before = memory::rss_bytes();
        agreement::make(&ledger, &self.agents, &self.clock, first..count, 3).await?;
        let after = memory::rss_bytes();
        ledger.close().await?;
        starts.push(self.start("with", StartFrom::Snapshots).await?);
        self.clock.pass(AWAY);
        starts.push(
            self.start("with, after a minute", StartFrom::Snapshots)
                .await?,
        );
        let more = after.zip(before);
        let more = more.map(|(after, before)| after.saturating_sub(before));
        Ok(Some(Agreements {
            count,
            bytes_each: more.map(|bytes| bytes / (count - first) as u64),
            starts,
        }))
    }

    /// Starts the ledger, has a newcomer registered, and stops it in order.
    async fn start(&self, what: &'static str, from: StartFrom) -> Result<Start, Failure> {
        let newcomer = Agents::generate(1, NETWORK)?;
        let stopwatch = Stopwatch::start(std::process::id());
        let begin = now();
        let ledger = self.open(from).await?;
        let (ready, elapsed) = (begin.elapsed(), stopwatch.elapsed());
        let (records, held) = (ledger.size(), ledger.held());
        let (nonces, agreements) = (held.nonces, held.agreements);
        register(&ledger, &newcomer, &self.clock).await?;
        let first_accepted = begin.elapsed();
        let times = ledger.start_times();
        ledger.close().await?;
        Ok(Start {
            what,
            records,
            nonces,
            agreements,
            store_ms: ms(times.store),
            rows_ms: ms(times.rows),
            world_ms: ms(times.world),
            ready_ms: ms(ready),
            first_accepted_ms: ms(first_accepted),
            cpu_ms: elapsed.cpu.map(ms),
        })
    }

    fn limit_per_second(&self) -> Result<f64, Failure> {
        let sample = self.agents.conversations(0, SAMPLE)?;
        let messages: Vec<_> = sample.iter().flatten().collect();
        let mut limit = Limit::default();
        limit.measure(&messages)?;
        Ok(limit.per_second())
    }
}

fn ms(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

#[derive(Debug, Serialize)]
struct Start {
    what: &'static str,
    records: u64,
    /// Nonces that it brought back.
    nonces: usize,
    /// Agreements in force that it holds.
    agreements: usize,
    /// How long it took to open `ledger.db`.
    store_ms: f64,
    /// How long it took to open `read.db`.
    rows_ms: f64,
    /// Reading the snapshot, replaying the records after it.
    world_ms: f64,
    /// All of it, until there is a sequencer.
    ready_ms: f64,
    /// From the beginning until a first message was durable.
    first_accepted_ms: f64,
    /// CPU time until there is a sequencer.
    #[serde(skip_serializing_if = "Option::is_none")]
    cpu_ms: Option<f64>,
}

/// What agreements add to a start.
#[derive(Debug, Serialize)]
struct Agreements {
    count: usize,
    /// What each took of memory while they were made, with the rows' and the store's own.
    #[serde(skip_serializing_if = "Option::is_none")]
    bytes_each: Option<u64>,
    /// By snapshots, of a log that has little else.
    starts: Vec<Start>,
}

impl Agreements {
    fn text(&self) -> String {
        let memory = match self.bytes_each {
            Some(bytes) => format!("{} bytes each", thousands(bytes as f64)),
            None => "memory cannot be read here".to_owned(),
        };
        format!("{} in force, {memory}", thousands(self.count as f64))
    }
}

/// Columns of a table of starts; the first says how it began.
const HEADER: [&str; 8] = [
    "records",
    "nonces",
    "agreements",
    "ledger.db",
    "read.db",
    "world",
    "sequencer",
    "first accepted",
];

fn header(what: &'static str) -> Vec<&'static str> {
    [what].into_iter().chain(HEADER).collect()
}

fn measured(
    fill: &Rate,
    (starts, agreements): (&[Start], Option<&Agreements>),
    limit_per_second: f64,
) -> Measured {
    let by_snapshot_ms = starts.first().map_or(f64::NAN, |start| start.ready_ms);
    let whole = starts.last();
    // Records that a start by the whole log replays in a second; it checks no signature.
    let replayed = whole.map_or(f64::NAN, |it| it.records as f64 * 1e3 / it.world_ms);
    let replay_ratio = replayed / limit_per_second;
    let ratio = by_snapshot_ms / whole.map_or(f64::NAN, |start| start.ready_ms);
    let heading = format!("restart: by snapshot {ratio:.2} of the time by the whole log");
    let measured = Measured::new("restart", heading)
        .figures(json!({
            "limit_per_second": limit_per_second, "ratio": ratio, "replayed_per_second": replayed,
            "replay_ratio": replay_ratio, "fill": fill, "starts": starts, "agreements": agreements,
        }))
        .table(&header("start by"), starts.iter().map(row).collect());
    let measured = match agreements {
        Some(agreements) => measured.fields([("agreements", agreements.text())]).table(
            &header("start"),
            agreements.starts.iter().map(row).collect(),
        ),
        None => measured,
    };
    let (replayed, records) = (thousands(replayed), thousands(fill.count as f64));
    measured
        .fields([
            (
                "replay",
                format!("{replayed} records a second, {replay_ratio:.1} for each signature that could be checked"),
            ),
            ("limit", super::limit::text(limit_per_second)),
            ("log", format!("{records} records, made in {:.0} s", fill.seconds)),
        ])
        .line(bound(whole))
}

/// What keeps a start by the whole log from being faster.
fn bound(whole: Option<&Start>) -> String {
    let Some((whole, cpu_ms)) = whole.and_then(|whole| Some((whole, whole.cpu_ms?))) else {
        return "bound: unknown, CPU time cannot be read here".to_owned();
    };
    let busy_cores = cpu_ms / whole.ready_ms;
    let what = if busy_cores > 0.85 {
        "CPU: one record is replayed after the other"
    } else {
        "waiting for the disk"
    };
    format!(
        "bound by {what}; {busy_cores:.1} of {} cores busy during a start by the whole log, {:.1} µs of CPU a \
         record",
        rayon::current_num_threads(),
        cpu_ms * 1e3 / whole.records.max(1) as f64
    )
}

fn row(start: &Start) -> Vec<String> {
    let ms = |ms: f64| format!("{} ms", thousands(ms));
    vec![
        start.what.to_owned(),
        thousands(start.records as f64),
        thousands(start.nonces as f64),
        thousands(start.agreements as f64),
        ms(start.store_ms),
        ms(start.rows_ms),
        ms(start.world_ms),
        ms(start.ready_ms),
        ms(start.first_accepted_ms),
    ]
}
