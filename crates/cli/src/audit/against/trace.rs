//! A trace against a log or a bundle.

use std::path::Path;

use serde::Serialize;
use x811_audit::{TraceComparison, compare_trace};
use x811_client::http::Trace;

use super::{Opened, SHOWN, uncompared};
use crate::bounded;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::{Out, Report, Tone};
use crate::trace::MAX_TRACE_BYTES;

/// Compares; [`Exit::Findings`] when they contradict, [`Exit::Incomplete`] when the file has no record of the
/// trace.
pub(super) fn run(
    (trace_path, trace): (&Path, Opened),
    (path, file): (&Path, Opened),
    out: &mut Out,
) -> Result<Exit, Failure> {
    let unread = |why: String| {
        let message = format!("{} is no trace: {why}", trace_path.display());
        Failure::local("file", message).hint("name a file that `x811 trace show -o` wrote")
    };
    let text = bounded::text_of(trace.input, MAX_TRACE_BYTES);
    let text = text.map_err(|error| unread(error.to_string()))?;
    let trace: Trace = serde_json::from_str(&text).map_err(|error| unread(error.to_string()))?;
    let names = (path.to_string_lossy(), trace_path.to_string_lossy());
    let compared = compare_trace((&names.0, file.input), (&names.1, &trace));
    let comparison = compared.map_err(|error| uncompared(&error))?;
    let exit = match (comparison.agrees(), comparison.was_compared()) {
        (false, _) => Exit::Findings,
        (true, true) => Exit::Ok,
        (true, false) => Exit::Incomplete,
    };
    out.report(&TraceAgainst {
        agrees: comparison.agrees(),
        was_compared: comparison.was_compared(),
        comparison,
    });
    Ok(exit)
}

#[derive(Serialize)]
struct TraceAgainst {
    /// True if nothing contradicts.
    agrees: bool,
    /// True if anything could.
    was_compared: bool,
    #[serde(flatten)]
    comparison: TraceComparison,
}

impl Report for TraceAgainst {
    fn print(&self, out: &mut Out) {
        let comparison = &self.comparison;
        out.heading(Tone::Plain, "a trace against its log");
        out.fields(&[
            ("trace", comparison.trace.clone()),
            (comparison.kind.as_str(), comparison.file.clone()),
            (
                "nodes",
                format!(
                    "{} of {} held against records",
                    comparison.compared, comparison.nodes
                ),
            ),
            ("trace by", comparison.trace_signed_by.clone()),
        ]);
        out.gap();
        let count = comparison.differences.len() as u64 + comparison.differences_left_out;
        match (self.agrees, self.was_compared) {
            (true, true) => out.heading(Tone::Good, "the trace is what follows from the records"),
            (true, false) => out.heading(
                Tone::Waiting,
                "they cannot be compared: the file has no record of the trace",
            ),
            (false, _) => out.heading(
                Tone::Bad,
                format_args!("THE TRACE CONTRADICTS THE LOG: {count} differences"),
            ),
        }
        if let Some(fault) = &comparison.fault {
            out.line(format_args!("  the trace contradicts itself: {fault}"));
        }
        for found in comparison.differences.iter().take(SHOWN) {
            out.line(format_args!("  {}", found.sentence));
        }
        let more = count.saturating_sub(SHOWN as u64);
        if more > 0 {
            out.line(format_args!("  and {more} more"));
        }
        if comparison.is_evidence {
            out.line(
                "the ledger signed both, the trace by its receipt key and a checkpoint over the records: these two \
                 files prove it",
            );
        }
        out.gap();
        for (gap, count) in &comparison.not_checked {
            out.line(format_args!("not checked: {gap} ({count})"));
        }
        out.line("the file was not audited: what is wrong in it alone its own audit says");
    }
}
