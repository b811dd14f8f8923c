//! `x811-bench append`: records into SQLite with the tree over them, in its running state and in
//! tiles, against the same records without any tree.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use tokio::task::JoinSet;
use x811_eventlog::{AppendError, Draft, Frontier, Head, Record};
use x811_ledger::port::{Commit, LedgerStore as _, ReadModel as _};
use x811_store::{Backend, Database, ReadRows};
use x811_world::row::{RowChange, StreamRow};

use super::backends::{self, Backends, BenchPlace, SideBySide};
use super::cpu::{Elapsed, Stopwatch, now};
use super::figures::{Latency, Rate, thousands};
use super::measured::Measured;
use super::{Common, broken};
use x811_console::failure::Failure;
use x811_console::output::Out;

/// Records of a turn. A turn with the tree and one without make a pair, and which comes first
/// alternates. The median of the pairs counts: a disk that writes out in between falls on one of
/// them, and with many short ones it is known how far chance moves the median.
const TURN_RECORDS: u64 = 4_096;

/// Pairs on the same files; what follows begins with new ones, so that the disk need not hold it all.
const PAIRS_OF_FILES: u64 = 25;

/// What it should reach.
const TARGET_RATIO: f64 = 0.95;

/// Rows of so many records are written together, as a ledger under load does.
const ROWS_AT_ONCE: u64 = 1_024;

/// Makes a leaf about 700 bytes long, as an OFFER's is.
const PADDING_BYTES: usize = 560;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    common: Common,
    /// About how many records are appended with a tree, and as many without
    #[arg(long, value_name = "COUNT", default_value_t = 800_000)]
    records: u64,
    /// Records of one commit
    #[arg(long, value_name = "COUNT", default_value_t = 256)]
    at_once: u64,
    #[command(flatten)]
    backends: Backends,
}

/// Measures and reports.
pub(super) async fn run(args: Args, out: &mut Out) -> Result<(), Failure> {
    let directory = args.common.directory()?;
    let at_once = args.at_once.max(1);
    let places = args.backends.places()?;
    if !places.is_empty() {
        out.report(&side_by_side(&args, directory.path(), places).await?);
        return Ok(());
    }
    let commits = (TURN_RECORDS / at_once).max(1);
    let all = (args.records / (commits * at_once)).max(1);
    let mut pairs = Vec::new();
    while (pairs.len() as u64) < all {
        let count = PAIRS_OF_FILES.min(all - pairs.len() as u64);
        let files = directory.path().join(pairs.len().to_string());
        pairs.extend(measure(&files, count, commits, at_once).await?);
        std::fs::remove_dir_all(&files).map_err(broken)?;
    }
    out.report(&measured(&pairs, commits * at_once, at_once));
    Ok(())
}

/// The same records to one place after the other, in turns; how long each commit takes.
async fn side_by_side(
    args: &Args,
    directory: &Path,
    places: Vec<BenchPlace>,
) -> Result<SideBySide, Failure> {
    let at_once = args.at_once.max(1);
    let commits = (TURN_RECORDS / at_once).max(1);
    let turns = (args.records / (commits * at_once)).max(1);
    let mut measured = Vec::new();
    for place in places {
        let own = directory.join(place.name());
        let mut log = BenchLog::open_in(&own, place.database()).await?;
        log.append(commits, at_once, true).await?;
        measured.push((place, log, Elapsed::default(), Vec::new()));
    }
    for _ in 0..turns {
        for (_, log, elapsed, latencies_us) in &mut measured {
            log.commits_us.clear();
            let stopwatch = Stopwatch::start(std::process::id());
            log.append(commits, at_once, true).await?;
            *elapsed += stopwatch.elapsed();
            latencies_us.append(&mut log.commits_us);
        }
    }
    let mut rows = Vec::new();
    for (place, log, elapsed, latencies_us) in measured {
        let rate = Rate::of(turns * commits * at_once, elapsed);
        rows.push(backends::Row::of(
            place.name(),
            rate,
            Latency::of(latencies_us),
        ));
        log.close().await?;
    }
    Ok(args.backends.report("append", at_once, rows))
}

/// That many pairs of turns, on files of their own in `directory`.
async fn measure(
    directory: &Path,
    count: u64,
    commits: u64,
    at_once: u64,
) -> Result<Vec<Pair>, Failure> {
    let mut with = BenchLog::open(&directory.join("with")).await?;
    let mut without = BenchLog::open(&directory.join("without")).await?;
    // What is first is not measured: it makes files and prepares statements.
    with.append(commits, at_once, true).await?;
    without.append(commits, at_once, false).await?;
    let mut pairs = Vec::new();
    for number in 0..count {
        let with_first = number % 2 == 0;
        let mut pair = Pair::default();
        for with_tree in [with_first, !with_first] {
            let place = if with_tree { &mut with } else { &mut without };
            let stopwatch = Stopwatch::start(std::process::id());
            place.append(commits, at_once, with_tree).await?;
            let took = stopwatch.elapsed();
            match with_tree {
                true => pair.with = took,
                false => pair.without = took,
            }
        }
        pairs.push(pair);
    }
    with.close().await?;
    without.close().await?;
    Ok(pairs)
}

/// What the same number of records took.
#[derive(Debug, Clone, Copy, Default)]
struct Pair {
    with: Elapsed,
    without: Elapsed,
}

/// A log with its rows, which follow it beside the commits as a ledger's do.
struct BenchLog {
    store: Backend,
    rows: Arc<ReadRows>,
    /// Rows on their way.
    writing: JoinSet<Result<(), AppendError>>,
    head: Head,
    frontier: Frontier,
    /// What each commit took.
    commits_us: Vec<u32>,
}

impl BenchLog {
    async fn open(directory: &Path) -> Result<BenchLog, Failure> {
        BenchLog::open_in(directory, None).await
    }

    async fn open_in(directory: &Path, database: Option<&Database>) -> Result<BenchLog, Failure> {
        let store = Backend::open(directory, database).await.map_err(broken)?;
        let rows = ReadRows::open(directory).await.map_err(broken)?;
        Ok(BenchLog {
            store,
            rows: Arc::new(rows),
            writing: JoinSet::new(),
            head: Head::EMPTY,
            frontier: Frontier::new(),
            commits_us: Vec::new(),
        })
    }

    /// Makes that many commits durable, and writes their rows.
    async fn append(&mut self, commits: u64, at_once: u64, with_tree: bool) -> Result<(), Failure> {
        let mut changes: Vec<RowChange> = Vec::new();
        let mut applied = self.head.size;
        for number in 1..=commits {
            let old_size = self.head.size;
            let records = self.seal(at_once)?;
            changes.extend(records.iter().map(place));
            let mut frontier = Vec::new();
            if with_tree {
                changes.extend(records.iter().map(leaf));
                records
                    .iter()
                    .for_each(|record| self.frontier.push(record.hash()));
                frontier = self.frontier.to_bytes();
            }
            let commit = Commit {
                expected_size: old_size,
                records,
                frontier,
                ..Commit::default()
            };
            let begun = now();
            self.store.commit(commit).await.map_err(broken)?;
            let took = u32::try_from(begun.elapsed().as_micros());
            self.commits_us.push(took.unwrap_or(u32::MAX));
            if self.head.size - applied >= ROWS_AT_ONCE || number == commits {
                self.write(applied, std::mem::take(&mut changes)).await?;
                applied = self.head.size;
            }
        }
        self.written().await
    }

    async fn close(self) -> Result<(), Failure> {
        self.store.close().await;
        let rows = Arc::into_inner(self.rows);
        rows.ok_or_else(|| broken("the rows are still in use"))?
            .close()
            .await;
        Ok(())
    }

    /// Writes the rows of what follows `old_size`, once those before are written.
    async fn write(&mut self, old_size: u64, changes: Vec<RowChange>) -> Result<(), Failure> {
        self.written().await?;
        let (rows, new_size) = (self.rows.clone(), self.head.size);
        self.writing
            .spawn(async move { rows.apply(old_size, new_size, &changes).await });
        Ok(())
    }

    async fn written(&mut self) -> Result<(), Failure> {
        while let Some(written) = self.writing.join_next().await {
            written.map_err(broken)?.map_err(broken)?;
        }
        Ok(())
    }

    fn seal(&mut self, count: u64) -> Result<Vec<Record>, Failure> {
        let mut records = Vec::new();
        for position in self.head.size..self.head.size + count {
            let draft = Draft {
                recorded_at_ms: position,
                stream: "bench".to_owned(),
                stream_seq: position,
                event: json!({ "type": "bench", "padding": "x".repeat(PADDING_BYTES) }),
            };
            let record = Record::seal(position, self.head.hash, draft).map_err(broken)?;
            self.head = Head::after(&record);
            records.push(record);
        }
        Ok(records)
    }
}

fn place(record: &Record) -> RowChange {
    RowChange::StreamRecord(StreamRow {
        stream: record.stream().to_owned(),
        stream_seq: record.stream_seq(),
        position: record.position(),
    })
}

fn leaf(record: &Record) -> RowChange {
    RowChange::Leaf {
        position: record.position(),
        hash: record.hash(),
    }
}

/// What all pairs say.
fn measured(pairs: &[Pair], records: u64, at_once: u64) -> Measured {
    let all = |figure: fn(&Pair) -> f64| Median::of(pairs.iter().map(figure));
    // Time without the tree for time with it. The median of as many other pairs would be between the two
    // bounds in 95 of 100 cases.
    let Median { from, median, to } =
        all(|pair| pair.without.wall.as_secs_f64() / pair.with.wall.as_secs_f64());
    let per_second = |seconds: Median| records as f64 / seconds.median;
    let with = per_second(all(|pair| pair.with.wall.as_secs_f64()));
    let without = per_second(all(|pair| pair.without.wall.as_secs_f64()));
    // CPU time of a record, all threads together.
    let cpu_us_each = |turn: fn(&Pair) -> Elapsed| {
        let cpu: Option<Duration> = pairs.iter().map(|pair| turn(pair).cpu).sum();
        let all_records = records as f64 * pairs.len() as f64;
        cpu.map(|cpu| cpu.as_secs_f64() * 1e6 / all_records)
    };
    let (cpu_with, cpu_without) = (
        cpu_us_each(|pair| pair.with),
        cpu_us_each(|pair| pair.without),
    );
    let rate = |per_second: f64, cpu_us_each: Option<f64>| {
        let cpu = cpu_us_each.map_or_else(String::new, |us| format!(", {us:.2} µs of CPU each"));
        format!("{} records a second{cpu}", thousands(per_second))
    };
    let heading = format!(
        "append with the tree: {median:.2} ({from:.2} to {to:.2}) of append without (target {TARGET_RATIO:.2})"
    );
    let count = pairs.len();
    Measured::new("append", heading)
        .figures(json!({
            "with_tree_per_second": with, "without_tree_per_second": without, "ratio": median,
            "ratio_from": from, "ratio_to": to, "target_ratio": TARGET_RATIO, "pairs": count,
            "at_once": at_once, "with_tree_cpu_us_each": cpu_with, "without_tree_cpu_us_each": cpu_without,
        }))
        .fields([
            ("with", rate(with, cpu_with)),
            ("without", rate(without, cpu_without)),
            ("commits", format!("of {at_once} records, durable, with their rows")),
            (
                "ratio",
                format!("the median of {count} pairs of turns, and where it lies in 95 of 100 cases"),
            ),
        ])
        .line(
            "bounded by SQLite and the disk; for the running state and for the tiles the tree adds a \
             node hash each, 32 bytes a record, and a page to each commit",
        )
}

/// The middle of many figures, and between which two of them the true one is in 95 of 100 cases:
/// each of the figures is above it as often as below, whatever they are.
#[derive(Debug, Clone, Copy)]
struct Median {
    from: f64,
    median: f64,
    to: f64,
}

impl Median {
    fn of(figures: impl Iterator<Item = f64>) -> Median {
        let mut figures: Vec<f64> = figures.collect();
        figures.sort_unstable_by(f64::total_cmp);
        let middle = figures.len() / 2;
        // 1.96 deviations of how many of them are below: half the root of their number.
        let apart = (0.98 * (figures.len() as f64).sqrt()).ceil() as usize;
        let at = |index: usize| figures.get(index).or(figures.last()).copied();
        let [from, median, to] = [middle.saturating_sub(apart), middle, middle + apart]
            .map(|index| at(index).unwrap_or(f64::NAN));
        Median { from, median, to }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_lies_between_its_bounds_and_outliers_move_neither() {
        let even = Median::of((0..=100).map(f64::from));
        assert_eq!((even.from, even.median, even.to), (40.0, 50.0, 60.0));
        let outliers = (0..=100).map(|n| f64::from(n) * if n > 60 { 1_000.0 } else { 1.0 });
        let same = Median::of(outliers);
        assert_eq!((same.from, same.median, same.to), (40.0, 50.0, 60.0));
        let one = Median::of([7.0].into_iter());
        assert_eq!((one.from, one.median, one.to), (7.0, 7.0, 7.0));
        assert!(Median::of(std::iter::empty()).median.is_nan());
    }
}
