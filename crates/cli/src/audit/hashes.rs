//! `x811 audit --hash-only`: what hashes alone show, and that nothing else was looked at.

use std::path::PathBuf;

use serde::Serialize;
use x811_audit::export::Scope;
use x811_audit::{HashReport, Options, hash_export};
use x811_ledger::store_audit::hash_store;

use super::bar::Bar;
use super::summary::Check;
use super::text::{found, table};
use super::{Args, input, trust};
use crate::data_dir::{open_store, unreadable};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::{Out, Report, Tone};

/// Audits the hashes; [`Exit::Findings`] when they do not hold.
pub(super) async fn run(
    args: Args,
    options: Options,
    bar: &Bar,
    out: &mut Out,
) -> Result<Exit, Failure> {
    let report = if args.source.is_dir() {
        let store = open_store(&args.source).await?;
        let report = hash_store(&store, bar.over_records(options)).await;
        report.map_err(|error| Failure::local("log", error.to_string()))?
    } else {
        let report = hash_export(input(&args.source, bar)?, options);
        report.map_err(|error| unreadable(&args.source, &error))?
    };
    bar.clear();
    let exit = match (report.hashes_hold, report.trust.given) {
        (false, _) => Exit::Findings,
        (true, Some(_)) if report.checkpoints.is_empty() => Exit::Incomplete,
        (true, Some(_)) => Exit::Ok,
        (true, None) => Exit::Unverified,
    };
    out.report(&Hashed {
        source: args.source,
        report,
    });
    Ok(exit)
}

#[derive(Serialize)]
struct Hashed {
    source: PathBuf,
    #[serde(flatten)]
    report: HashReport,
}

impl Report for Hashed {
    fn print(&self, out: &mut Out) {
        let report = &self.report;
        let source = self.source.display();
        out.heading(Tone::Plain, format_args!("hashes of {source}"));
        let mut figures = Vec::new();
        figures.extend(report.ledger.clone().map(|did| ("ledger", did)));
        figures.extend(trust::key(&report.trust).map(|key| ("key", key)));
        let subject = report.scope.and_then(Scope::subject);
        figures.extend(subject.map(|subject| (subject.kind(), subject.public_id())));
        figures.extend([
            ("records", report.records.to_string()),
            ("head", report.head.to_string()),
            ("root", report.root.to_string()),
        ]);
        out.fields(&figures);
        out.gap();
        table(&checks(report), out);
        out.gap();
        match report.findings.len() {
            0 => out.heading(Tone::Plain, "the hashes hold; NOTHING ELSE WAS CHECKED"),
            1 => out.heading(Tone::Bad, "THE HASHES DO NOT HOLD: 1 thing is wrong"),
            count => out.heading(
                Tone::Bad,
                format_args!("THE HASHES DO NOT HOLD: {count} things are wrong"),
            ),
        }
        out.line("  this says nothing of signatures, messages, rules or payments: leave --hash-only out for those");
        for finding in &report.findings {
            found(finding, out);
        }
        out.gap();
        if report.is_bundle {
            out.line("this is a bundle: which records of its streams are left out was not checked");
        }
        let behind = report.records - report.records_hold;
        if behind > 0 {
            out.line(format_args!(
                "nothing behind the first record that does not follow was checked: {behind} records; \
                 the whole audit goes on there"
            ));
        }
        out.line(trust::note(&report.trust, report.records));
    }
}

/// What was checked, and what was not, each in records.
fn checks(report: &HashReport) -> Vec<Check> {
    let is_broken = u64::from(report.records > report.records_hold);
    let mut checks = vec![Check {
        about: "records",
        how: "Hashed again, and bound to one another.",
        proven: report.records_hold,
        asserted: 0,
        broken: is_broken,
        not_checked: report.records - report.records_hold - is_broken,
    }];
    let signed = report.checkpoints.len() as u64;
    let is_checkpoint = |field: &str| field.starts_with("checkpoint");
    let findings = report.findings.iter();
    let broken = findings.filter(|finding| is_checkpoint(&finding.field));
    checks.push(Check {
        about: "checkpoints",
        how: "Signed by the ledger's checkpoint key, over the tree of these very records.",
        proven: signed,
        asserted: 0,
        broken: broken.count() as u64,
        not_checked: 0,
    });
    checks.push(trust::check(&report.trust));
    checks.extend(report.not_checked.iter().map(|about| Check {
        about,
        how: "Not looked for in any record.",
        proven: 0,
        asserted: 0,
        broken: 0,
        not_checked: report.records,
    }));
    checks
}
