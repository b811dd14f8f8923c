//! Places for a log, measured side by side in one run.

use clap::ValueEnum;
use serde::Serialize;
use x811_store::{Database, LogUrl, PostgresError, Quorum, StoreUrl};

use super::figures::{Latency, Rate, thousands};
use x811_console::failure::Failure;
use x811_console::output::{Out, Report, Tone};

/// What a double is called, so that nobody takes its figures for those of a server.
const DOUBLE: &str = "eventstore-double";

/// A kind of place.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Kind {
    /// A file of the bench's own
    Sqlite,
    /// A PostgreSQL database, named by --store-url
    Postgres,
    /// One with standbys that must have what is acknowledged, named by --quorum-url
    PostgresQuorum,
    /// A double of EventStoreDB's protocol, named by --double-url, with the database of --beside-url
    /// beside it; in a build with the feature `eventstore`
    EventstoreDouble,
}

/// Which places are measured.
#[derive(Debug, Clone, clap::Args)]
pub(super) struct Backends {
    /// Places for the log, to be measured side by side; the first one is what the others are compared
    /// with
    #[arg(long, value_enum, value_name = "NAME", value_delimiter = ',')]
    backend: Vec<Kind>,
    /// PostgreSQL database with no log in it
    #[arg(long, value_name = "URL")]
    store_url: Option<String>,
    /// The same, of a primary that waits for one of its standbys
    #[arg(long, value_name = "URL")]
    quorum_url: Option<String>,
    /// Name of a standby of that one; may be given again
    #[arg(long = "store-standby", value_name = "NAME", value_delimiter = ',')]
    standbys: Vec<String>,
    /// The double's nodes, kurrentdb://…, with no log in it
    #[arg(long, value_name = "URL", requires = "beside_url")]
    double_url: Option<LogUrl>,
    /// PostgreSQL database for what lies beside the double's log
    #[arg(long, value_name = "URL")]
    beside_url: Option<String>,
    /// The delay that the double was started with: the report says what is added to it
    #[arg(long, value_name = "MILLISECONDS", requires = "double_url")]
    double_delay_ms: Option<u32>,
}

/// Where a benchmark keeps its log.
#[derive(Debug)]
pub(super) struct BenchPlace {
    kind: Kind,
    database: Option<Database>,
}

impl BenchPlace {
    /// How it is called; also the name of its directory.
    pub(super) fn name(&self) -> &'static str {
        match self.kind {
            Kind::Sqlite => "sqlite",
            Kind::Postgres => "postgres",
            Kind::PostgresQuorum => "postgres-quorum",
            Kind::EventstoreDouble => DOUBLE,
        }
    }

    /// The database, where it is one.
    pub(super) fn database(&self) -> Option<&Database> {
        self.database.as_ref()
    }
}

impl Backends {
    /// The places, in order; none where none is asked for.
    pub(super) fn places(&self) -> Result<Vec<BenchPlace>, Failure> {
        let places = self.backend.iter().map(|kind| {
            let database = self.database_of(*kind)?;
            Ok(BenchPlace {
                kind: *kind,
                database,
            })
        });
        places.collect()
    }

    /// Returns the rows as a report.
    pub(super) fn report(
        &self,
        benchmark: &'static str,
        at_once: u64,
        mut rows: Vec<Row>,
    ) -> SideBySide {
        let first = rows.first().map_or(1.0, |row| row.rate.per_second);
        for row in &mut rows {
            row.ratio = row.rate.per_second / first;
        }
        SideBySide {
            benchmark,
            at_once,
            double_delay_ms: self.double_delay_ms,
            backends: rows,
        }
    }

    fn database_of(&self, kind: Kind) -> Result<Option<Database>, Failure> {
        Ok(match kind {
            Kind::Sqlite => None,
            Kind::Postgres => Some(Database::at(named(self.store_url.as_ref(), "--store-url")?)),
            Kind::PostgresQuorum => {
                let url = named(self.quorum_url.as_ref(), "--quorum-url")?;
                let quorum = Quorum::of(1, self.standbys.clone());
                let none = || Failure::usage("name its standbys by --store-standby");
                Some(Database {
                    quorum: Some(quorum.ok_or_else(none)?),
                    ..Database::at(url)
                })
            }
            Kind::EventstoreDouble => {
                let none = || Failure::usage("this place is named by --double-url URL");
                Some(Database {
                    log: Some(self.double_url.clone().ok_or_else(none)?),
                    ..Database::at(named(self.beside_url.as_ref(), "--beside-url")?)
                })
            }
        })
    }
}

fn named(url: Option<&String>, option: &str) -> Result<StoreUrl, Failure> {
    let missing = || Failure::usage(&format!("this place is named by {option} URL"));
    let url = url.ok_or_else(missing)?;
    let unread = |error: PostgresError| Failure::local("config", error.to_string());
    url.parse().map_err(unread)
}

/// What one place did.
#[derive(Debug, Serialize)]
pub(super) struct Row {
    backend: &'static str,
    rate: Rate,
    latency: Latency,
    /// Of the first place's rate.
    ratio: f64,
    /// Bytes that the tables grew by for each interaction.
    #[serde(skip_serializing_if = "Option::is_none")]
    table_bytes_each: Option<u64>,
    /// Bytes that the server wrote to its own log, and sent to each standby, for each.
    #[serde(skip_serializing_if = "Option::is_none")]
    log_bytes_each: Option<u64>,
}

impl Row {
    pub(super) fn of(backend: &'static str, rate: Rate, latency: Latency) -> Row {
        Row {
            backend,
            rate,
            latency,
            ratio: 1.0,
            table_bytes_each: None,
            log_bytes_each: None,
        }
    }

    /// The same, with what it wrote between two looks.
    pub(super) fn with_bytes(
        self,
        before: Option<(u64, u64)>,
        after: Option<(u64, u64)>,
        interactions: u64,
    ) -> Row {
        let grown = before.zip(after).filter(|_| interactions > 0);
        let each = |from: u64, to: u64| to.saturating_sub(from) / interactions;
        Row {
            table_bytes_each: grown.map(|(from, to)| each(from.0, to.0)),
            log_bytes_each: grown.map(|(from, to)| each(from.1, to.1)),
            ..self
        }
    }
}

#[derive(Debug, Serialize)]
pub(super) struct SideBySide {
    benchmark: &'static str,
    /// Conversations, or records of a commit.
    at_once: u64,
    /// Delay of each answer of the double.
    #[serde(skip_serializing_if = "Option::is_none")]
    double_delay_ms: Option<u32>,
    backends: Vec<Row>,
}

impl Report for SideBySide {
    fn print(&self, out: &mut Out) {
        let first = self.backends.first().map_or("", |row| row.backend);
        out.heading(
            Tone::Plain,
            format_args!(
                "{}: {} at once, as ratios to {first}",
                self.benchmark, self.at_once
            ),
        );
        let bytes = |bytes: Option<u64>| {
            bytes.map_or_else(|| "-".to_owned(), |bytes| thousands(bytes as f64))
        };
        let rows = self.backends.iter().map(|row| {
            vec![
                row.backend.to_owned(),
                thousands(row.rate.per_second),
                format!("{:.2}", row.ratio),
                row.latency.text(),
                row.rate
                    .cpu_us_each
                    .map_or_else(|| "-".to_owned(), |us| format!("{us:.0} µs")),
                bytes(row.table_bytes_each),
                bytes(row.log_bytes_each),
            ]
        });
        let rows: Vec<Vec<String>> = rows.collect();
        let head = [
            "backend",
            "a second",
            "ratio",
            "answers",
            "CPU each",
            "table bytes",
            "log bytes",
        ];
        out.table(&head, &rows);
        let Some(double) = self.backends.iter().find(|row| row.backend == DOUBLE) else {
            return;
        };
        out.line(
            "eventstore-double: the protocol over memory, without disk and without replication. It says \
             what the client and the database beside it cost, and nothing of a server",
        );
        if let Some(delay_ms) = self.double_delay_ms {
            let beyond_ms = f64::from(double.latency.p50_us) / 1_000.0 - f64::from(delay_ms);
            out.line(format_args!(
                "eventstore-double: each of its answers takes {delay_ms} ms; the p50 is {beyond_ms:.1} ms more"
            ));
        }
    }
}
