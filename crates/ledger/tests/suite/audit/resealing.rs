//! A forger who has the ledger's keys: changes what records say, writes every hash anew, and puts the
//! new hashes wherever a record names an old one.

use std::collections::BTreeMap;

use serde_json::Value;
use x811_audit::{Cause, Report};
use x811_eventlog::{Hash, Record};

use super::scene::{Kept, Parts, audit, found, names};

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

/// A log of which one record is changed.
pub(crate) struct Changed {
    parts: Parts,
    at: usize,
}

/// The log, to be changed in the first record of `event`.
pub(crate) fn first(bytes: &[u8], event: &str) -> Changed {
    let parts = Parts::of(bytes);
    let at = parts.find_event(event);
    Changed { parts, at }
}

/// The audit of the log with these changes in the record at `at`.
pub(crate) fn with(bytes: &[u8], at: usize, changes: &[(&str, Value)]) -> Report {
    let parts = Parts::of(bytes);
    let set = |log: Changed, (member, to): &(&str, Value)| log.set(member, to.clone());
    changes.iter().fold(Changed { parts, at }, set).report()
}

impl Changed {
    /// The member says this; `null` takes it out.
    pub(crate) fn set(mut self, member: &str, to: Value) -> Changed {
        let (object, name) = member.rsplit_once('/').unwrap();
        let object = self.parts.records[self.at].member(object);
        if let Value::Array(values) = object {
            values[name.parse::<usize>().unwrap()] = to;
        } else if to.is_null() {
            drop(object.as_object_mut().unwrap().remove(name));
        } else {
            object[name] = to;
        }
        self
    }

    pub(crate) fn report(self) -> Report {
        audit(&resealed(self.parts))
    }

    /// It is found there, and nothing else is.
    #[track_caller]
    pub(crate) fn finds(self, field: &str, cause: Cause) {
        let at = self.at as u64;
        let report = self.report();
        assert_eq!(found(&report), [(at, field, cause)], "{report:#?}");
    }

    /// The same, where other things are found too.
    #[track_caller]
    pub(crate) fn finds_also(self, field: &str, cause: Cause) {
        let at = self.at;
        names(&self.report(), at, field, cause);
    }
}

/// Sentences of the remarks on the log.
pub(crate) fn remarks(report: &Report) -> Vec<&str> {
    let remarks = report.remarks.iter();
    remarks.map(|remark| remark.sentence.as_str()).collect()
}
