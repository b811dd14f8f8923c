//! `x811 audit A B`: whether two files of one log contradict each other, or a trace and a log.

mod trace;

use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::path::Path;

use serde::Serialize;
use x811_audit::{AgainstError, Comparison, PaperReport, compare};

use crate::data_dir::unreadable;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::kinds::{self, Kind};
use crate::output::{Out, Report, Tone};

/// Most contradictions that are shown; `--json` lists more.
const SHOWN: usize = 10;

/// Compares; [`Exit::Findings`] when they contradict, [`Exit::Incomplete`] when they have nothing in
/// common that could.
pub(super) fn run(one: &Path, other: &Path, out: &mut Out) -> Result<Exit, Failure> {
    let is_input = |file: &Path| file == Path::new("-");
    if is_input(one) && is_input(other) {
        let message = "only one of the two files can be standard input";
        return Err(Failure::usage(message));
    }
    let (mut first, mut second) = (open(one)?, open(other)?);
    match (is_trace(&mut first), is_trace(&mut second)) {
        (true, true) => {
            let message = "both files are traces: a trace is held against an export or a bundle";
            return Err(Failure::usage(message).hint("x811 export --help"));
        }
        (true, false) => return trace::run((one, first), (other, second), out),
        (false, true) => return trace::run((other, second), (one, first), out),
        (false, false) => {}
    }
    let (name, other_name) = (one.to_string_lossy(), other.to_string_lossy());
    // The smaller one is kept in memory.
    let is_swapped = first.bytes > second.bytes;
    let compared = match is_swapped {
        false => compare((&name, first.input), (&other_name, second.input)),
        true => compare((&other_name, second.input), (&name, first.input)),
    };
    let comparison = compared.map_err(|error| uncompared(&error))?;
    let exit = match (comparison.agrees(), comparison.was_compared()) {
        (false, _) => Exit::Findings,
        (true, true) => Exit::Ok,
        (true, false) => Exit::Incomplete,
    };
    out.report(&Compared {
        agrees: comparison.agrees(),
        was_compared: comparison.was_compared(),
        comparison,
    });
    Ok(exit)
}

/// A file to read, and how large it is.
struct Opened {
    input: Box<dyn BufRead>,
    bytes: u64,
}

/// A file that cannot be read is none; whoever reads it says why.
fn is_trace(file: &mut Opened) -> bool {
    let first = file.input.fill_buf().unwrap_or_default();
    kinds::is(Kind::Trace, first)
}

fn open(file: &Path) -> Result<Opened, Failure> {
    if file == Path::new("-") {
        return Ok(Opened {
            input: Box::new(BufReader::new(io::stdin())),
            bytes: u64::MAX,
        });
    }
    if file.is_dir() {
        let message = format!("{} is a directory: two files are compared", file.display());
        return Err(Failure::usage(&message).hint("export it first: x811 export DIR -o FILE"));
    }
    let opened = File::open(file).map_err(|error| unreadable(file, &error))?;
    let metadata = opened.metadata();
    let metadata = metadata.map_err(|error| unreadable(file, &error))?;
    Ok(Opened {
        input: Box::new(BufReader::new(opened)),
        bytes: metadata.len(),
    })
}

fn uncompared(error: &AgainstError) -> Failure {
    match error {
        AgainstError::Unreadable { .. } => Failure::local("file", error.to_string()).hint(
            "two exports, bundles, receipts (in JSON) or signed checkpoints of one log are compared",
        ),
        AgainstError::OtherLogs { .. } => Failure::usage(&error.to_string()),
        AgainstError::BrokenTrace { .. } => Failure::untrusted(error.to_string()).broken(),
    }
}

#[derive(Serialize)]
struct Compared {
    /// Whether nothing contradicts.
    agrees: bool,
    /// Whether anything could.
    was_compared: bool,
    #[serde(flatten)]
    comparison: Comparison,
}

impl Report for Compared {
    fn print(&self, out: &mut Out) {
        let comparison = &self.comparison;
        let files = [&comparison.one, &comparison.other];
        out.heading(Tone::Plain, "two files of one log");
        out.fields(&files.map(|file| (file.kind.as_str(), describe(file))));
        out.fields(&[
            ("in both", format!("{} records", comparison.records)),
            (
                "checkpoints",
                format!("{} held against the other", comparison.checkpoints),
            ),
        ]);
        out.gap();
        let count = comparison.contradictions.len() as u64 + comparison.contradictions_left_out;
        match (count, comparison.was_compared()) {
            (0, true) => out.heading(Tone::Good, "they agree in what both hold"),
            (0, false) => out.heading(
                Tone::Waiting,
                "they cannot be compared: they have no record and no checkpoint's size in common",
            ),
            (1, _) => out.heading(Tone::Bad, "THEY CONTRADICT EACH OTHER"),
            (count, _) => out.heading(
                Tone::Bad,
                format_args!("THEY CONTRADICT EACH OTHER: {count} times"),
            ),
        }
        for found in comparison.contradictions.iter().take(SHOWN) {
            out.line(format_args!("  {}", found.sentence));
        }
        let more = count.saturating_sub(SHOWN as u64);
        if more > 0 {
            out.line(format_args!("  and {more} more"));
        }
        out.gap();
        for note in notes(comparison) {
            out.line(note);
        }
    }
}

fn describe(file: &PaperReport) -> String {
    let signed = match file.signed_records {
        Some(size) => format!("checkpoint over {size}"),
        None => "no checkpoint".to_owned(),
    };
    format!("{}: {} records, {signed}", file.name, file.records)
}

/// What the outcome does not say.
fn notes(comparison: &Comparison) -> Vec<String> {
    let mut notes = vec![
        "only the two were compared: what is wrong in one of them alone its own audit says"
            .to_owned(),
    ];
    let beyond = comparison.checkpoints_beyond;
    if beyond > 0 {
        notes.push(format!(
            "{beyond} checkpoints cover more records than the other file has: it is older, or was cut \
             off"
        ));
    }
    for file in [&comparison.one, &comparison.other] {
        if file.passed_over > 0 {
            notes.push(format!(
                "{} things in {} could not be read, or are not under its own checkpoint, and were \
                 passed over",
                file.passed_over, file.name
            ));
        }
    }
    notes
}

#[cfg(test)]
mod tests;
