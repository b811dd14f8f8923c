//! `--csv DIR`: the interactions, payments, sums of providers and findings of an audit, each as a table
//! that a spreadsheet reads (RFC 4180), and as text alone: no cell of a log becomes a formula.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use x811_audit::{Finding, ListedInteraction, Listing, Payment, Report, Totals};
use x811_protocol::event::Level;
use x811_protocol::settlement_view::ProviderPaid;

use super::draft::FileDraft;
use super::summary::usdc;
use crate::failure::Failure;
use x811_protocol::shown::escape;

/// What spreadsheets take for the beginning of a formula.
const OF_FORMULAS: [char; 8] = ['=', '+', '-', '@', '＝', '＋', '－', '＠'];

const INTERACTIONS: [&str; 17] = [
    "interaction",
    "initiator",
    "provider",
    "state",
    "paid",
    "code",
    "dispute_code",
    "opened_at",
    "updated_at",
    "request_position",
    "last_position",
    "due_usdc",
    "paid_usdc",
    "late_usdc",
    "reversed_usdc",
    "network",
    "is_replayed",
];

const PAYMENTS: [&str; 8] = [
    "position",
    "interaction",
    "network",
    "tx_hash",
    "amount_usdc",
    "level",
    "is_late",
    "is_reversed",
];

const PROVIDERS: [&str; 10] = [
    "provider",
    "interactions",
    "paid",
    "not_yet",
    "no",
    "not_replayed",
    "due_usdc",
    "paid_usdc",
    "late_usdc",
    "reversed_usdc",
];

const FINDINGS: [&str; 6] = ["position", "line", "stream", "field", "cause", "sentence"];

/// The tables of one audit on their way to their folder: none is half written.
pub(super) struct Tables {
    interactions: FileDraft,
    payments: FileDraft,
    providers: FileDraft,
    findings: FileDraft,
    folder: PathBuf,
}

impl Tables {
    /// Drafts of them in `folder`, which is made where it is not there yet, about `source`.
    pub(super) fn of(folder: &Path, source: &Path) -> Result<Tables, Failure> {
        std::fs::create_dir_all(folder).map_err(|error| {
            let message = format!("{} cannot be made: {error}", folder.display());
            Failure::local("file", message).hint("name a folder that you may write to")
        })?;
        let draft = |name: &str| FileDraft::of(&folder.join(name), source);
        Ok(Tables {
            interactions: draft("interactions.csv")?,
            payments: draft("payments.csv")?,
            providers: draft("providers.csv")?,
            findings: draft("findings.csv")?,
            folder: folder.to_owned(),
        })
    }

    /// Puts them in their places; the folder that they are in.
    pub(super) fn finish(self, report: &Report) -> Result<PathBuf, Failure> {
        if let Some(listing) = &report.listing {
            let Listing {
                interactions,
                payments,
                providers,
                ..
            } = listing;
            let rows = interactions.iter().map(interaction);
            self.interactions.finish_table(&INTERACTIONS, rows)?;
            let rows = payments.iter().map(payment);
            self.payments.finish_table(&PAYMENTS, rows)?;
            let rows = providers.iter().map(|(did, of)| provider(did, of));
            self.providers.finish_table(&PROVIDERS, rows)?;
        }
        let rows = report.findings.iter().map(finding);
        self.findings.finish_table(&FINDINGS, rows)?;
        Ok(self.folder)
    }
}

impl FileDraft {
    fn finish_table<const N: usize>(
        self,
        header: &[&str; N],
        rows: impl Iterator<Item = [String; N]>,
    ) -> Result<(), Failure> {
        self.finish_with(|out| {
            write_row(out, header.iter().copied())?;
            for row in rows {
                write_row(out, row.iter().map(String::as_str))?;
            }
            Ok(())
        })
    }
}

fn interaction(one: &ListedInteraction) -> [String; 17] {
    [
        one.interaction.to_string(),
        one.initiator.to_string(),
        one.provider.to_string(),
        one.state.to_string(),
        paid(one.paid).to_owned(),
        text(one.code),
        text(one.dispute_code.map(|code| code.as_str())),
        one.opened_at_ms.to_rfc3339(),
        one.updated_at_ms.to_rfc3339(),
        one.request_position.to_string(),
        one.last_position.to_string(),
        text(one.due_micro_usdc.map(|due| due.to_usdc_decimal())),
        usdc(one.paid_micro_usdc),
        usdc(one.late_micro_usdc),
        usdc(one.reversed_micro_usdc),
        text(one.network.as_deref()),
        one.is_replayed.to_string(),
    ]
}

fn payment(one: &Payment) -> [String; 8] {
    [
        one.position.to_string(),
        one.interaction.to_string(),
        one.network.to_string(),
        one.tx_hash.to_string(),
        usdc(one.amount_micro_usdc),
        level(one.level).to_owned(),
        one.is_late.to_string(),
        one.is_reversed.to_string(),
    ]
}

fn provider(did: &impl ToString, of: &Totals) -> [String; 10] {
    [
        did.to_string(),
        of.interactions.to_string(),
        of.paid.to_string(),
        of.not_yet.to_string(),
        of.no.to_string(),
        of.not_replayed.to_string(),
        usdc(of.due_micro_usdc),
        usdc(of.paid_micro_usdc),
        usdc(of.late_micro_usdc),
        usdc(of.reversed_micro_usdc),
    ]
}

fn finding(one: &Finding) -> [String; 6] {
    [
        one.position.to_string(),
        text(one.line),
        text(one.stream.as_deref()),
        one.field.clone(),
        one.cause.to_string(),
        one.sentence.clone(),
    ]
}

/// Nothing for what is not there.
fn text(value: Option<impl ToString>) -> String {
    value.map_or_else(String::new, |value| value.to_string())
}

/// As JSON says it.
pub(super) fn paid(paid: ProviderPaid) -> &'static str {
    match paid {
        ProviderPaid::Yes => "yes",
        ProviderPaid::NotYet => "not_yet",
        ProviderPaid::No => "no",
    }
}

pub(super) fn level(level: Level) -> &'static str {
    match level {
        Level::Seen => "seen",
        Level::Confirmed => "confirmed",
        Level::Safe => "safe",
        Level::Final => "final",
    }
}

/// A line: cells with commas between them, and CR LF behind the last (RFC 4180).
fn write_row<'a>(out: &mut dyn Write, cells: impl Iterator<Item = &'a str>) -> io::Result<()> {
    for (index, cell) in cells.enumerate() {
        if index > 0 {
            out.write_all(b",")?;
        }
        write_cell(out, cell)?;
    }
    out.write_all(b"\r\n")
}

/// What is invisible or ends a line is shown as on a terminal; what would be a formula gets an
/// apostrophe in front, and so does what has one, that each has one spelling.
fn write_cell(out: &mut dyn Write, cell: &str) -> io::Result<()> {
    let cell = escape(cell);
    let begins = cell.chars().find(|c| !c.is_whitespace());
    let apostrophe = match begins {
        Some(first) if first == '\'' || OF_FORMULAS.contains(&first) => "'",
        Some(_) | None => "",
    };
    if cell.contains([',', '"', '\r', '\n']) {
        write!(out, "\"{apostrophe}{}\"", cell.replace('"', "\"\""))
    } else {
        write!(out, "{apostrophe}{cell}")
    }
}

#[cfg(test)]
mod tests;
