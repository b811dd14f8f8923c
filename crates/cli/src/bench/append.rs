//! `x811 bench append`: records into SQLite with the tree over them, in its running state and in
//! tiles, against the same records without any tree.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use serde::Serialize;
use serde_json::json;
use tokio::task::JoinSet;
use x811_eventlog::{AppendError, Draft, Frontier, Head, Record};
use x811_ledger::port::{Commit, LedgerStore as _, ReadModel as _};
use x811_ledger::row::RowChange;
use x811_store::{SqliteReadModel, SqliteStore};

use super::cpu::now;
use super::figures::thousands;
use super::{Common, broken};
use crate::failure::Failure;
use crate::output::{Out, Report, Tone};

/// Pairs of turns, each with the tree and without; which comes first alternates. The median of the
/// pairs counts: a disk that writes out in between falls on one of them.
const PAIRS: u64 = 50;

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
    #[arg(long, value_name = "COUNT", default_value_t = 200_000)]
    records: u64,
    /// Records of one commit
    #[arg(long, value_name = "COUNT", default_value_t = 256)]
    at_once: u64,
}

/// Measures and reports.
pub(super) async fn run(args: Args, out: &mut Out) -> Result<(), Failure> {
    let directory = args.common.directory()?;
    let at_once = args.at_once.max(1);
    let commits = (args.records / at_once / PAIRS).max(1);
    let mut with = Place::open(&directory.path().join("with")).await?;
    let mut without = Place::open(&directory.path().join("without")).await?;
    // What is first is not measured: it makes files and prepares statements.
    with.append(commits, at_once, true).await?;
    without.append(commits, at_once, false).await?;
    let mut pairs = Vec::new();
    for number in 0..PAIRS {
        let with_first = number % 2 == 0;
        let mut pair = Pair::default();
        for with_tree in [with_first, !with_first] {
            let place = if with_tree { &mut with } else { &mut without };
            let took = place.append(commits, at_once, with_tree).await?;
            match with_tree {
                true => pair.with = took,
                false => pair.without = took,
            }
        }
        pairs.push(pair);
    }
    out.report(&Measured::of(&pairs, commits * at_once, at_once));
    Ok(())
}

/// How long the same number of records took.
#[derive(Debug, Clone, Copy, Default)]
struct Pair {
    with: Duration,
    without: Duration,
}

/// A log with its rows, which follow it beside the commits as a ledger's do.
struct Place {
    store: SqliteStore,
    rows: Arc<SqliteReadModel>,
    /// Rows on their way.
    writing: JoinSet<Result<(), AppendError>>,
    head: Head,
    frontier: Frontier,
}

impl Place {
    async fn open(directory: &Path) -> Result<Place, Failure> {
        let rows = SqliteReadModel::open(directory).await.map_err(broken)?;
        Ok(Place {
            store: SqliteStore::open(directory).await.map_err(broken)?,
            rows: Arc::new(rows),
            writing: JoinSet::new(),
            head: Head::EMPTY,
            frontier: Frontier::new(),
        })
    }

    /// Makes that many commits durable, and writes their rows.
    async fn append(
        &mut self,
        commits: u64,
        at_once: u64,
        with_tree: bool,
    ) -> Result<Duration, Failure> {
        let started = now();
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
            self.store.commit(commit).await.map_err(broken)?;
            if self.head.size - applied >= ROWS_AT_ONCE || number == commits {
                self.write(applied, std::mem::take(&mut changes)).await?;
                applied = self.head.size;
            }
        }
        self.written().await?;
        Ok(started.elapsed())
    }

    /// Writes the rows of what follows `old_size`, once those before are written.
    async fn write(&mut self, old_size: u64, changes: Vec<RowChange>) -> Result<(), Failure> {
        self.written().await?;
        let (rows, new_size) = (self.rows.clone(), self.head.size);
        self.writing
            .spawn(async move { rows.apply(old_size, new_size, changes).await });
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
    RowChange::StreamRecord {
        stream: record.stream().to_owned(),
        stream_seq: record.stream_seq(),
        position: record.position(),
    }
}

fn leaf(record: &Record) -> RowChange {
    RowChange::Leaf {
        position: record.position(),
        hash: record.hash(),
    }
}

#[derive(Debug, Serialize)]
struct Measured {
    benchmark: &'static str,
    with_tree_per_second: f64,
    without_tree_per_second: f64,
    /// Time without the tree for time with it: the median of all pairs.
    ratio: f64,
    /// A quarter of the pairs are below.
    lower_quartile: f64,
    /// A quarter of the pairs are above.
    upper_quartile: f64,
    target_ratio: f64,
    pairs: usize,
    /// Records of one commit.
    at_once: u64,
}

impl Measured {
    fn of(pairs: &[Pair], records: u64, at_once: u64) -> Measured {
        let all = |figure: fn(&Pair) -> f64| Quartiles::of(pairs.iter().map(figure));
        let ratio = all(|pair| pair.without.as_secs_f64() / pair.with.as_secs_f64());
        let per_second = |seconds: Quartiles| records as f64 / seconds.median;
        Measured {
            benchmark: "append",
            with_tree_per_second: per_second(all(|pair| pair.with.as_secs_f64())),
            without_tree_per_second: per_second(all(|pair| pair.without.as_secs_f64())),
            ratio: ratio.median,
            lower_quartile: ratio.lower,
            upper_quartile: ratio.upper,
            target_ratio: TARGET_RATIO,
            pairs: pairs.len(),
            at_once,
        }
    }
}

/// The middle of many figures, and of the lower and the upper half of them.
#[derive(Debug, Clone, Copy)]
struct Quartiles {
    lower: f64,
    median: f64,
    upper: f64,
}

impl Quartiles {
    fn of(figures: impl Iterator<Item = f64>) -> Quartiles {
        let mut figures: Vec<f64> = figures.collect();
        figures.sort_unstable_by(f64::total_cmp);
        let at = |quarter: usize| figures.get(figures.len() * quarter / 4).copied();
        let [lower, median, upper] = [1, 2, 3].map(|quarter| at(quarter).unwrap_or(f64::NAN));
        Quartiles {
            lower,
            median,
            upper,
        }
    }
}

impl Report for Measured {
    fn print(&self, out: &mut Out) {
        out.heading(
            Tone::Plain,
            format_args!(
                "append with the tree: {:.2} of append without (target {:.2})",
                self.ratio, self.target_ratio
            ),
        );
        out.fields(&[
            (
                "with",
                format!("{} records a second", thousands(self.with_tree_per_second)),
            ),
            (
                "without",
                format!(
                    "{} records a second",
                    thousands(self.without_tree_per_second)
                ),
            ),
            (
                "commits",
                format!("of {} records, durable, with their rows", self.at_once),
            ),
            (
                "ratio",
                format!(
                    "the median of {} pairs of turns; half of them lie from {:.2} to {:.2}",
                    self.pairs, self.lower_quartile, self.upper_quartile
                ),
            ),
        ]);
        out.line(
            "bounded by SQLite and the disk; for the running state and for the tiles the tree adds a \
             node hash each, 32 bytes a record, and a page to each commit",
        );
    }
}
