//! `bundle/`: logs and interactions as files, and what an audit finds in them. The good ones are
//! written by the tests of `x811-ledger`, from fixed keys, times and chance.

mod interaction;
mod lines;
mod whole_log;

use std::fs;

use serde_json::{Value, json};
use x811_tests::anvil::checkout;
use x811_tests::binary::run;
use x811_tests::verifiers::{Job, Verifier};

use super::generate::Files;
use super::{Case, folder, hold_to, table};

pub(crate) fn files() -> Files {
    let changed = whole_log::files().into_iter().chain(interaction::files());
    changed
        .map(|(name, bytes)| (format!("bundle/{name}.x811"), bytes))
        .collect()
}

/// | file | what it is | verdict | taken by |
fn cases() -> Vec<(String, Case)> {
    let rows = table::rows("bundle", 4).into_iter();
    rows.map(|row| {
        let [name, what, verdict, taken_by] = row.try_into().unwrap();
        let file = folder().join("bundle").join(&name).with_extension("x811");
        let case = Case::new(Job::export(&file), &name, &what, verdict, &taken_by);
        (name, case)
    })
    .collect()
}

/// Position, field and cause of all that `x811 audit` finds, and its verdict.
fn findings(name: &str) -> (Value, String) {
    let file = folder().join("bundle").join(name).with_extension("x811");
    let audited = run(&["audit", file.to_str().unwrap(), "--json"]);
    let report = audited.json();
    let found = report["findings"].as_array().unwrap().iter().map(|found| {
        json!({
            "position": found["position"],
            "field": found["field"],
            "cause": found["cause"],
        })
    });
    let found: Vec<Value> = found.collect();
    assert_eq!(audited.code == Some(20), !found.is_empty(), "{audited:?}");
    let verdict = report["verdict"].as_str().unwrap();
    (Value::from(found), verdict.to_owned())
}

/// The findings, one a line.
fn to_text(findings: &Value) -> String {
    let lines: Vec<String> = findings
        .as_array()
        .unwrap()
        .iter()
        .map(Value::to_string)
        .collect();
    format!("[{}]\n", lines.join(",\n "))
}

#[test]
fn rec_1_the_audit_finds_in_every_bundle_what_is_expected() {
    let cases = cases();
    let mut faults = Vec::new();
    for (name, case) in &cases {
        let (found, outcome) = findings(name);
        let causes = found.as_array().unwrap().iter();
        let mut causes: Vec<&str> = causes
            .map(|found| found["cause"].as_str().unwrap())
            .collect();
        causes.dedup();
        let verdict = match &*outcome {
            "clean" => "good".to_owned(),
            "broken" => causes.join(", "),
            _ => outcome,
        };
        if verdict != case.verdict {
            faults.push(format!("{}: {verdict}", case.what));
        }
        let expected = folder().join("bundle").join(name).with_extension("json");
        if super::generate::is_to_be_written() {
            fs::write(expected, to_text(&found)).unwrap();
        } else if fs::read_to_string(expected).unwrap() != to_text(&found) {
            faults.push(format!("{}: {found}", case.what));
        }
    }
    let names = cases.iter().map(|(name, _)| name);
    table::assert_complete(
        "bundle",
        names.flat_map(|name| [format!("{name}.x811"), format!("{name}.json")]),
    );
    assert!(faults.is_empty(), "{faults:#?}");
}

#[test]
fn rec_1_a_second_reader_says_of_every_bundle_what_the_table_says() {
    let cases: Vec<Case> = cases().into_iter().map(|(_, case)| case).collect();
    hold_to(&[Verifier::Reader], &cases);
}

/// The roots of all states that STATES.md gives, which our own replay is held to as well.
#[test]
fn rec_4_a_second_reader_computes_the_golden_roots() {
    let text = fs::read_to_string(checkout().join("crates/eventlog/STATES.md")).unwrap();
    let (_, table) = text.split_once("\n## Golden roots\n").unwrap();
    let rows = table.lines().filter(|line| line.starts_with("| `"));
    let rows: Vec<Vec<&str>> = rows.map(|row| row.split('`').collect()).collect();
    assert!(rows.len() >= 3, "{rows:?}");
    for row in rows {
        let file = folder().join("bundle").join(row[1]).with_extension("x811");
        let said = Verifier::Reader.judge(Job::export(&file)).unwrap();
        let root = said.split_once("root of all states ").unwrap().1;
        assert_eq!(root, row[3], "{}", row[1]);
    }
}
