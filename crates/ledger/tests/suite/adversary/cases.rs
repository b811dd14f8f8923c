//! Cases in which a member is the ledger's word that is recomputed in all others. `tests/AUDIT.md` has
//! a row for each.

use serde_json::Value;

use super::changes::{Lie, RECORD};
use super::log::Log;

/// Event and member, the name of the case in the table, and whether a lie is one.
type Case = (
    &'static str,
    &'static str,
    &'static str,
    fn(&Log, &Lie) -> bool,
);

const CASES: [Case; 5] = [
    (
        "looked",
        "finding[].depth",
        "(finding[].depth of what is refuted)",
        finds_it_refuted,
    ),
    (
        "looked",
        "finding",
        "(finding[].depth of what is refuted)",
        finds_it_refuted_at_another_depth,
    ),
    (
        "late",
        "evidence[].block",
        "(evidence[].block of what was refuted)",
        was_refuted,
    ),
    (
        "late",
        "evidence[].block.hash",
        "(evidence[].block of what was refuted)",
        was_refuted,
    ),
    (
        "refuted",
        RECORD,
        "(record beside another refutation)",
        is_swapped_with_another,
    ),
];

/// The name of the case that `lie` is about.
pub(crate) fn case_of(log: &Log, lie: &Lie) -> Option<&'static str> {
    let mut cases = CASES.iter();
    let case = cases.find(|(event, member, _, holds)| {
        (*event, *member) == (&*lie.event, &*lie.member) && holds(log, lie)
    })?;
    Some(case.2)
}

/// Event and name of each.
pub(crate) fn all() -> impl Iterator<Item = (&'static str, &'static str)> {
    CASES.iter().map(|(event, _, case, _)| (*event, *case))
}

/// Elements of that array that the lie changes, as the honest log has them.
fn changed<'a>(log: &'a Log, lie: &Lie, array: &str) -> Vec<&'a Value> {
    let (told, _) = lie.told(log);
    let elements = |event: &'a Value| event[array].as_array().into_iter().flatten();
    let mut changed = Vec::new();
    for (honest, told) in log.records.iter().zip(&told) {
        let told = told.event[array].as_array().into_iter().flatten();
        let both = elements(&honest.event).zip(told);
        changed.extend(both.filter(|(was, is)| was != is).map(|(was, _)| was));
    }
    changed
}

fn finds_it_refuted(log: &Log, lie: &Lie) -> bool {
    let changed = changed(log, lie, "finding");
    changed.iter().all(|finding| finding["status"] == "refuted")
}

fn finds_it_refuted_at_another_depth(log: &Log, lie: &Lie) -> bool {
    let without_depths = |event: &Value| {
        let mut findings = event["finding"].clone();
        for finding in findings.as_array_mut().into_iter().flatten() {
            finding.as_object_mut().unwrap().remove("depth");
        }
        findings
    };
    let (told, _) = lie.told(log);
    let (honest, told) = (&log.records[lie.record], &told[lie.record]);
    without_depths(&honest.event) == without_depths(&told.event) && finds_it_refuted(log, lie)
}

fn was_refuted(log: &Log, lie: &Lie) -> bool {
    let is_refuted = |evidence: &&Value| {
        let mut before = log.records[..lie.record].iter();
        before.any(|record| {
            record.event_type() == "refuted" && record.event["tx_hash"] == evidence["tx_hash"]
        })
    };
    changed(log, lie, "evidence").iter().all(is_refuted)
}

fn is_swapped_with_another(log: &Log, lie: &Lie) -> bool {
    let (here, next) = (&log.records[lie.record], log.records.get(lie.record + 1));
    next.is_some_and(|next| {
        lie.swaps() && (next.event_type(), next.at_ms) == (here.event_type(), here.at_ms)
    })
}
