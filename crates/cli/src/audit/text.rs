//! An audit for a person at a terminal.

use x811_audit::{Finding, Outcome};

use super::Audited;
use super::network::Hearing;
use super::summary::{
    Check, checks, finding_count, interactions, notes, ranges, reservations, verdict,
};
use super::{attested, listing, noted, terms, trust};
use crate::output::{Out, Report, Tone};

/// Most findings that are shown; `--json` and `--html` list them all.
const SHOWN_FINDINGS: usize = 20;

impl Report for Audited {
    fn print(&self, out: &mut Out) {
        let source = self.source.display();
        out.heading(Tone::Plain, format_args!("audit of {source}"));
        out.fields(&self.figures());
        listing::print(self, out);
        out.gap();
        table(&checks(&self.report), out);
        out.gap();
        let tone = match self.report.verdict {
            Outcome::Clean => Tone::Good,
            Outcome::Incomplete => Tone::Waiting,
            Outcome::Broken => Tone::Bad,
        };
        out.heading(tone, verdict(&self.report));
        out.line(format_args!("  {}", reservations(&self.report)));
        self.findings(out);
        for undecided in &self.report.undecided {
            out.line(format_args!("  not decided: {}", undecided.sentence));
        }
        for late in terms::late_lapses(&self.report) {
            out.line(format_args!("  late lapse: {late}"));
        }
        for remark in terms::remarks(&self.report) {
            out.line(format_args!("  remark: {remark}"));
        }
        out.gap();
        let asked = self.network.iter().flat_map(Hearing::notes);
        let noted = noted::sentence(&self.report);
        for note in asked.chain(notes(&self.report)).chain(noted) {
            out.line(note);
        }
        if let Some(proofs) = &self.proofs {
            out.line(proofs.sentence());
        }
        if let Some(page) = &self.html {
            out.line(format_args!("the report as a page: {}", page.display()));
        }
    }
}

impl Audited {
    /// What the log is, and what is in it.
    fn figures(&self) -> Vec<(&'static str, String)> {
        let report = &self.report;
        let mut figures = Vec::new();
        figures.extend(report.ledger.clone().map(|did| ("ledger", did)));
        figures.extend(trust::key(&report.trust).map(|key| ("key", key)));
        figures.extend(terms::rules(report).map(|text| ("rules", text)));
        figures.push(("records", report.records.to_string()));
        figures.push(("interactions", interactions(report)));
        for (network, paid) in &report.paid {
            figures.push(("paid", terms::paid(network, paid)));
        }
        let networks = terms::networks(report).into_iter();
        figures.extend(networks.map(|text| ("network", text)));
        let changes = terms::changes(report).into_iter();
        figures.extend(changes.map(|text| ("changed", text)));
        for erasure in &report.absent_bodies.erasures {
            let text = format!(
                "the bodies of {}, by the record at {} ({}, {}), {}: asserted only",
                ranges(&erasure.positions),
                erasure.position,
                erasure.operator,
                erasure.reason_code,
                attested::order(erasure)
            );
            figures.push(("erased", text));
        }
        figures.push(("head", report.head.to_string()));
        figures.push(("root", report.root.to_string()));
        figures
    }

    fn findings(&self, out: &mut Out) {
        let report = &self.report;
        if finding_count(report) > SHOWN_FINDINGS as u64 {
            let causes = report.findings_by_cause.iter();
            let causes: Vec<String> = causes
                .map(|(cause, count)| format!("{count} {cause}"))
                .collect();
            out.line(format_args!("  {}", causes.join(", ")));
        }
        for finding in report.findings.iter().take(SHOWN_FINDINGS) {
            found(finding, out);
        }
        let more = finding_count(report).saturating_sub(SHOWN_FINDINGS as u64);
        if more > 0 {
            out.line(format_args!(
                "  and {more} more; --json and --html list them"
            ));
        }
    }
}

/// What was checked, and how far it holds.
pub(super) fn table(checks: &[Check], out: &mut Out) {
    let header = ["", "   proven", "asserted", "  broken", "not checked"];
    let row = |check: &Check| {
        let cells = check.counts().into_iter().zip(&header[1..]);
        let cells = cells.map(|(count, name)| format!("{count:>width$}", width = name.len()));
        std::iter::once(format!("  {}", check.about))
            .chain(cells)
            .collect()
    };
    let rows: Vec<Vec<String>> = checks.iter().map(row).collect();
    out.table(&header, &rows);
}

/// One thing that is wrong.
pub(super) fn found(finding: &Finding, out: &mut Out) {
    out.line(format_args!("  {}", headline(finding)));
    out.line(format_args!("      {}", finding.sentence));
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
