//! `x811 audit`: re-runs a whole log, from a data directory or an export, and trusts nobody.

use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::path::{Path, PathBuf};

use serde::Serialize;
use x811_eventlog::Hash;
use x811_ledger::audit::{self, FactCounts, Finding, audit_export, audit_store};
use x811_store::{OpenError, SqliteReadModel, SqliteStore};

use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::{Out, Report, Tone};

/// Most findings that are shown to a person; `--json` lists them all.
const SHOWN_FINDINGS: usize = 20;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// A ledger's data directory (running or not), an export file, or `-` for standard input
    source: PathBuf,
    /// A head you noted earlier: the log must hold the record of this hash
    #[arg(long, value_name = "HASH")]
    expect_head: Option<Hash>,
}

/// Audits; [`Exit::Findings`] when anything is wrong.
pub(crate) async fn run(args: Args, out: &mut Out) -> Result<Exit, Failure> {
    let report = if args.source.is_dir() {
        of_directory(&args.source, args.expect_head).await?
    } else {
        of_export(&args.source, args.expect_head)?
    };
    let is_clean = report.is_clean();
    out.report(&Audited {
        source: args.source,
        report,
    });
    Ok(if is_clean { Exit::Ok } else { Exit::Findings })
}

/// Audits a ledger's data directory.
pub(crate) async fn of_directory(
    directory: &Path,
    expect_head: Option<Hash>,
) -> Result<audit::Report, Failure> {
    let store = SqliteStore::open_read_only(directory)
        .await
        .map_err(unopened)?;
    let rows = match SqliteReadModel::open_read_only(directory).await {
        Ok(rows) => Some(rows),
        // Rows may be thrown away at any time; the log is what counts.
        Err(OpenError::NoLedger { .. }) => None,
        Err(error) => return Err(unopened(error)),
    };
    audit_store(&store, rows.as_ref(), expect_head)
        .await
        .map_err(|error| Failure::local("log", error.to_string()))
}

fn of_export(file: &Path, expect_head: Option<Hash>) -> Result<audit::Report, Failure> {
    let unreadable = |error: io::Error| {
        let message = format!("{} cannot be read: {error}", file.display());
        Failure::local("file", message).hint("name a data directory or an export file")
    };
    let input: Box<dyn BufRead> = if file == Path::new("-") {
        Box::new(io::stdin().lock())
    } else {
        Box::new(BufReader::new(File::open(file).map_err(unreadable)?))
    };
    audit_export(input, expect_head).map_err(unreadable)
}

/// A data directory that cannot be opened for reading.
pub(crate) fn unopened(error: OpenError) -> Failure {
    let is_empty = matches!(error, OpenError::NoLedger { .. });
    let code = if is_empty { "no_ledger" } else { "data_dir" };
    Failure::local(code, error.to_string())
}

#[derive(Serialize)]
struct Audited {
    source: PathBuf,
    #[serde(flatten)]
    report: audit::Report,
}

impl Report for Audited {
    fn print(&self, out: &mut Out) {
        let report = &self.report;
        out.heading(
            Tone::Plain,
            format_args!("audit of {}", self.source.display()),
        );
        out.fields(&self.figures());
        out.gap();
        if report.is_clean() {
            out.heading(Tone::Good, "clean: nothing is wrong");
        } else {
            let count = report.findings.len() as u64 + report.findings_left_out;
            let things = if count == 1 { "thing is" } else { "things are" };
            out.heading(Tone::Bad, format_args!("NOT CLEAN: {count} {things} wrong"));
            for finding in report.findings.iter().take(SHOWN_FINDINGS) {
                out.line(format_args!("  {}", headline(finding)));
                out.line(format_args!("      {}", finding.sentence));
            }
            let more = count.saturating_sub(SHOWN_FINDINGS as u64);
            if more > 0 {
                out.line(format_args!("  and {more} more; --json lists them"));
            }
        }
        out.gap();
        for note in self.notes() {
            out.line(note);
        }
    }
}

impl Audited {
    /// What was checked, and how much of it there was.
    fn figures(&self) -> Vec<(&'static str, String)> {
        let report = &self.report;
        let facts = &report.facts;
        let mut figures = Vec::new();
        figures.extend(report.ledger.clone().map(|did| ("ledger", did)));
        figures.push((
            "records",
            format!("{}, hash chain and tree recomputed", report.records),
        ));
        figures.push((
            "signatures",
            format!("{} of {} hold", report.signatures_valid, report.envelopes),
        ));
        figures.push((
            "facts",
            format!(
                "{} proven by the signed message, {} asserted (message not here), {} broken",
                facts.proven, facts.asserted, facts.broken
            ),
        ));
        let wallets = &report.wallets;
        figures.push((
            "wallets",
            format!(
                "{} proven by their key, {} asserted (contracts, asked when bound), {} broken",
                wallets.proven, wallets.asserted, wallets.broken
            ),
        ));
        for erasure in &report.absent_bodies.erasures {
            let positions: Vec<String> = erasure.positions.iter().map(u64::to_string).collect();
            figures.push((
                "erased",
                format!(
                    "the bodies of {}, by the record at {} ({}, {}): asserted only",
                    positions.join(", "),
                    erasure.position,
                    erasure.operator,
                    erasure.reason_code
                ),
            ));
        }
        figures.push(("interactions", self.interactions()));
        let roots = &report.state_roots;
        if *roots != FactCounts::default() {
            let (proven, asserted, broken) = (roots.proven, roots.asserted, roots.broken);
            figures.push((
                "state roots",
                format!(
                    "{proven} computed again and equal, {asserted} not computed, {broken} broken"
                ),
            ));
        }
        for (network, paid) in &report.paid {
            let (total, fee) = (usdc(paid.total_micro_usdc), usdc(paid.fee_micro_usdc));
            let interactions = paid.interactions;
            figures.push((
                "paid",
                format!("{total} USDC for {interactions} on {network}, {fee} of it fees"),
            ));
        }
        figures.extend(self.rows().map(|rows| ("rows", rows)));
        figures.push(("head", report.head.to_string()));
        figures.push(("root", report.root.to_string()));
        figures
    }

    fn interactions(&self) -> String {
        let states = self.report.interactions.iter();
        let mut states: Vec<String> = states
            .map(|(state, count)| format!("{count} {state}"))
            .collect();
        if self.report.interactions_unknown > 0 {
            states.push(format!("{} unknown", self.report.interactions_unknown));
        }
        if states.is_empty() {
            return "none".to_owned();
        }
        format!("{}, every decision made again", states.join(", "))
    }

    fn rows(&self) -> Option<String> {
        let check = self.report.read_model?;
        let mut text = format!(
            "{} interactions and {} deliveries compared with the log",
            check.interactions, check.deliveries
        );
        if check.lag_records > 0 {
            text.push_str(&format!(
                "; read model lags by {} records",
                check.lag_records
            ));
        }
        if check.not_compared > 0 {
            text.push_str(&format!("; {} moving, not compared", check.not_compared));
        }
        Some(text)
    }

    /// What the figures do not say.
    fn notes(&self) -> Vec<String> {
        let report = &self.report;
        let mut notes = Vec::new();
        if report.not_replayed > 0 {
            notes.push(format!(
                "{} records could not be replayed, because of what is wrong before them: nothing is \
                 known of their effect",
                report.not_replayed
            ));
        }
        let absent = &report.absent_bodies;
        if absent.erasures_left_out > 0 {
            let more = absent.erasures_left_out;
            notes.push(format!("{more} more records erased bodies"));
        }
        if absent.missing > 0 {
            notes.push(format!(
                "{} bodies are not here, though no record erased them: they were left out or lost, \
                 and what they would prove is asserted only",
                absent.missing
            ));
        }
        if report.not_re_decided > 0 {
            notes.push(format!(
                "{} records follow decision rules that this version does not know: not re-decided",
                report.not_re_decided
            ));
        }
        if report.notices_owed > 0 {
            notes.push(format!(
                "{} notices are still owed to parties; a running ledger issues them",
                report.notices_owed
            ));
        }
        notes.push(match report.expected_head_position {
            Some(position) if position + 1 == report.records => {
                "the log ends with the head you named".to_owned()
            }
            Some(position) => format!(
                "the head you named is position {position}; {} records followed it",
                report.records.saturating_sub(position + 1)
            ),
            None => {
                "a log that was cut off at its end looks like a shorter one: note the head, and \
                     give it with --expect-head next time"
                    .to_owned()
            }
        });
        notes
    }
}

fn headline(finding: &Finding) -> String {
    let mut text = format!("position {}", finding.position);
    if let Some(line) = finding.line {
        text.push_str(&format!(", line {line}"));
    }
    if let Some(stream) = &finding.stream {
        text.push_str(&format!(", {stream}"));
    }
    format!("{text}: {} ({})", finding.cause, finding.field)
}

/// An amount in USDC, which may be more than any one payment.
fn usdc(micro_usdc: u128) -> String {
    let text = format!("{}.{:06}", micro_usdc / 1_000_000, micro_usdc % 1_000_000);
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

#[cfg(test)]
mod tests;
