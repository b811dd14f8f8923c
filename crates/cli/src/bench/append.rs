//! `x811 bench append`: records into SQLite with the tree over them, in its running state and in
//! tiles, against the same records without any tree.

use std::path::Path;
use std::time::Duration;

use serde::Serialize;
use serde_json::json;
use x811_eventlog::{Draft, Frontier, Head, Record};
use x811_ledger::port::{Commit, LedgerStore as _, ReadModel as _};
use x811_ledger::row::RowChange;
use x811_store::{SqliteReadModel, SqliteStore};

use super::cpu::now;
use super::figures::thousands;
use super::{Common, broken};
use crate::failure::Failure;
use crate::output::{Out, Report, Tone};

/// How often each of the two is measured, one after the other.
const TURNS: u64 = 10;

/// Rows of so many records are written together, as a ledger under load does.
const ROWS_AT_ONCE: usize = 4_096;

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
    let commits = (args.records / at_once / TURNS).max(1);
    let mut with = Place::open(&directory.path().join("with")).await?;
    let mut without = Place::open(&directory.path().join("without")).await?;
    // What is first is not measured: it makes files and prepares statements.
    with.append(1, at_once, true).await?;
    without.append(1, at_once, false).await?;
    let (mut with_time, mut without_time) = (Duration::ZERO, Duration::ZERO);
    for _ in 0..TURNS {
        without_time += without.append(commits, at_once, false).await?;
        with_time += with.append(commits, at_once, true).await?;
    }
    let appended = (TURNS * commits * at_once) as f64;
    out.report(&Measured {
        benchmark: "append",
        with_tree_per_second: appended / with_time.as_secs_f64(),
        without_tree_per_second: appended / without_time.as_secs_f64(),
        ratio: without_time.as_secs_f64() / with_time.as_secs_f64(),
        at_once,
    });
    Ok(())
}

/// A log with its rows.
struct Place {
    store: SqliteStore,
    rows: SqliteReadModel,
    head: Head,
    frontier: Frontier,
}

impl Place {
    async fn open(directory: &Path) -> Result<Place, Failure> {
        Ok(Place {
            store: SqliteStore::open(directory).await.map_err(broken)?,
            rows: SqliteReadModel::open(directory).await.map_err(broken)?,
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
            if changes.len() >= ROWS_AT_ONCE || number == commits {
                let gathered = std::mem::take(&mut changes);
                let rows = self.rows.apply(applied, self.head.size, gathered).await;
                rows.map_err(broken)?;
                applied = self.head.size;
            }
        }
        Ok(started.elapsed())
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
    ratio: f64,
    /// Records of one commit.
    at_once: u64,
}

impl Report for Measured {
    fn print(&self, out: &mut Out) {
        out.heading(
            Tone::Plain,
            format_args!("append with the tree: {:.2} of append without", self.ratio),
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
        ]);
        out.line("bounded by SQLite; the tree adds one node hash and 32 bytes a record");
    }
}
