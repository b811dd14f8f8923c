//! A forger who has the ledger's keys: changes what records say, writes every hash anew, and puts the
//! new hashes wherever a record names an old one.

use std::collections::BTreeMap;

use serde_json::Value;
use x811_eventlog::{Hash, Record};
use x811_ledger::audit::{Cause, Report};

use crate::scene::{Kept, Parts, audit, found};

/// Hash of the record as it was.
fn hash_of(kept: &Kept) -> String {
    Record::parse(kept.leaf.clone()).unwrap().hash().to_string()
}

fn rename(value: &mut Value, names: &BTreeMap<String, String>) {
    match value {
        Value::String(text) => {
            if let Some(name) = names.get(text) {
                text.clone_from(name);
            }
        }
        Value::Array(values) => values.iter_mut().for_each(|value| rename(value, names)),
        Value::Object(members) => members.values_mut().for_each(|value| rename(value, names)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// The file with every hash written anew, those inside of records too.
pub(crate) fn resealed(mut parts: Parts) -> Vec<u8> {
    let (mut prev, mut names) = (Hash::ZERO, BTreeMap::new());
    for (kept, position) in parts.records.iter_mut().zip(0..) {
        let old = hash_of(kept);
        rename(&mut kept.draft.event, &names);
        let record = Record::seal(position, prev, kept.draft.clone()).unwrap();
        prev = record.hash();
        names.insert(old, prev.to_string());
    }
    parts.rehashed()
}

/// The `n`th record of that event, from 0.
pub(crate) fn nth(parts: &Parts, event: &str, n: usize) -> usize {
    let places = (0..parts.records.len()).filter(|at| parts.records[*at].event_type() == event);
    places.clone().nth(n).expect("there is one")
}

/// The audit of the log with `member` of the record at `at` changed.
pub(crate) fn with(bytes: &[u8], at: usize, changes: &[(&str, Value)]) -> Report {
    let mut parts = Parts::of(bytes);
    for (member, to) in changes {
        let (object, name) = member.rsplit_once('/').unwrap();
        let object = parts.records[at].member(object);
        if let Value::Array(values) = object {
            values[name.parse::<usize>().unwrap()] = to.clone();
        } else if to.is_null() {
            drop(object.as_object_mut().unwrap().remove(name));
        } else {
            object[name] = to.clone();
        }
    }
    audit(&resealed(parts))
}

/// What is found when the changes are made to the first record of `event`: this, there, alone.
pub(crate) fn finds(
    bytes: &[u8],
    event: &str,
    changes: &[(&str, Value)],
    field: &str,
    cause: Cause,
) {
    let at = Parts::of(bytes).find_event(event);
    let report = with(bytes, at, changes);
    assert_eq!(found(&report), [(at as u64, field, cause)], "{report:#?}");
}

/// The same, where other things are found too.
pub(crate) fn finds_also(
    bytes: &[u8],
    event: &str,
    changes: &[(&str, Value)],
    field: &str,
    cause: Cause,
) {
    let at = Parts::of(bytes).find_event(event);
    let report = with(bytes, at, changes);
    let expected = (at as u64, field, cause);
    assert!(found(&report).contains(&expected), "{:?}", found(&report));
}

/// Sentences of the remarks on the log.
pub(crate) fn remarks(report: &Report) -> Vec<&str> {
    let remarks = report.remarks.iter();
    remarks.map(|remark| remark.sentence.as_str()).collect()
}
