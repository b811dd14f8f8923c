//! What an audit says of checkpoints, and of a bundle.

use x811_audit::{Cause, Report, Unchecked};

use super::summary::Check;

/// Checkpoints, paths and ends, and what takes the rest of the log.
pub(super) fn checks(report: &Report) -> Vec<Check> {
    let found = |causes: &[Cause]| -> u64 {
        let causes = causes.iter();
        causes
            .filter_map(|cause| report.findings_by_cause.get(cause))
            .sum()
    };
    let broken = found(&[Cause::CheckpointInvalid, Cause::CheckpointDiffers]);
    let proven = report.checkpoints.len() as u64;
    let mut checks = Vec::new();
    if proven + broken > 0 {
        checks.push(Check {
            about: "checkpoints",
            how: "Signed by the ledger's checkpoint key, over the tree of these very records.",
            proven,
            asserted: 0,
            broken,
            not_checked: 0,
        });
    }
    let Some(extract) = &report.extract else {
        return checks;
    };
    let broken = found(&[Cause::NotIncluded]);
    checks.push(Check {
        about: "inclusion",
        how: "Each record is in the tree under the checkpoint, by its path.",
        proven: report.records.saturating_sub(broken),
        asserted: 0,
        broken,
        not_checked: 0,
    });
    let broken = found(&[Cause::StreamEndDiffers]);
    let closed = extract.streams.iter().filter(|stream| stream.is_closed);
    checks.push(Check {
        about: "stream ends",
        how: "The ledger signed where each stream ends: nothing was cut off there.",
        proven: (closed.count() as u64).saturating_sub(broken),
        asserted: 0,
        broken,
        not_checked: extract.open_ended,
    });
    let elsewhere = extract.not_checked.iter();
    let elsewhere = elsewhere.filter(|(what, _)| **what != Unchecked::OtherRecords);
    checks.push(Check {
        about: "rest of the log",
        how: "What it alone cannot show; listed below.",
        proven: 0,
        asserted: 0,
        broken: 0,
        not_checked: elsewhere.map(|(_, count)| count).sum(),
    });
    checks
}

/// What is not checked, one by one.
pub(super) fn notes(report: &Report) -> Vec<String> {
    let Some(extract) = &report.extract else {
        return Vec::new();
    };
    let of = extract.subject().map_or_else(
        || "something that the file does not say".to_owned(),
        |subject| format!("the {} {}", subject.kind(), subject.public_id()),
    );
    let mut notes = vec![format!(
        "this is a bundle of {of}: {} records in {} streams, under a checkpoint \
         over {}",
        report.records,
        extract.streams.len(),
        extract.tree_size.unwrap_or_default()
    )];
    let not_checked = extract.not_checked.iter();
    notes.extend(
        not_checked.map(|(what, count)| format!("not checked: {} ({count})", what.as_str())),
    );
    notes
}

/// What is known of the end of a bundle.
pub(super) const END: &str = "what is not checked takes the whole log, and whether the checkpoint is \
                              the one that others saw takes another copy of it";
