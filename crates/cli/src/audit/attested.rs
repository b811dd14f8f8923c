//! The part of an audit report about statements that the ledger alone attests.

use x811_audit::{Erasure, Report};

/// A note for each kind, with its count.
pub(super) fn notes(report: &Report) -> impl Iterator<Item = String> {
    report.attested.iter().map(|(what, counted)| {
        format!(
            "attested by the ledger only: {what}: {}, the first at position {}",
            counted.count, counted.first
        )
    })
}

/// Words for whether the record of an erasure keeps the operator's order.
pub(super) fn order(erasure: &Erasure) -> &'static str {
    match erasure.is_ordered {
        true => "by a signed order",
        false => "without a signed order",
    }
}
