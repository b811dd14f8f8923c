//! `tests/AUDIT.md` says of every member of every event how an audit knows it.

use std::collections::BTreeSet;
use std::fs;

use x811_tests::anvil::checkout;

use super::schema;
use super::table::Known;
use super::tables::Tables;

/// How a member may be known.
const KINDS: [&str; 3] = ["recomputed", "signed", "word"];

/// Rows of the report that `x811 audit` prints.
const ROWS: [&str; 12] = [
    "records",
    "signatures",
    "messages",
    "wallets",
    "agent keys",
    "decisions",
    "observations",
    "downtimes",
    "state roots",
    "transfers",
    "erasures",
    "whose log",
];

fn known() -> Known {
    let path = checkout().join("tests/AUDIT.md");
    Known::read(&fs::read_to_string(path).unwrap())
}

/// Every member of an object of that type, and of what it holds, as `evidence[].block.number`.
fn members(tables: &Tables, ty: &str, before: &str, found: &mut BTreeSet<String>) {
    for row in tables.members(ty) {
        let path = format!("{before}{}", row.member);
        let (held, mark) = match row.ty.strip_prefix("array of ") {
            Some(held) => (held, "[]"),
            None => (row.ty.as_str(), ""),
        };
        for held in tables.types(held) {
            members(tables, held, &format!("{path}{mark}."), found);
        }
        found.insert(path);
    }
}

#[test]
fn lc_9_every_member_of_every_event_is_in_the_tables_of_the_audit() {
    let (tables, known) = (Tables::read(), known());
    let mut due = BTreeSet::new();
    for (event, names) in schema::of_events() {
        let mut found = BTreeSet::new();
        members(&tables, event, "", &mut found);
        for name in names {
            assert!(found.contains(name), "{event} {name}");
        }
        due.extend(found.into_iter().map(|member| (event.to_owned(), member)));
    }
    assert!(due.len() > 300, "{}", due.len());
    let listed = known
        .rows()
        .filter(|(_, member, _)| !member.starts_with('('));
    let listed: BTreeSet<_> = listed
        .map(|(event, member, _)| (event.to_owned(), member.to_owned()))
        .collect();
    let missing: Vec<_> = due.difference(&listed).collect();
    assert!(missing.is_empty(), "not in tests/AUDIT.md: {missing:#?}");
    let strange: Vec<_> = listed.difference(&due).collect();
    assert!(strange.is_empty(), "no event has these: {strange:#?}");
}

#[test]
fn lc_9_every_record_of_every_event_is_in_the_tables_of_the_audit() {
    let known = known();
    for (event, _) in schema::of_events() {
        for member in [
            "(record)",
            "(stream)",
            "(body)",
            "(recorded_at_ms)",
            "(order)",
        ] {
            assert!(known.of(event, member).is_some(), "{event} {member}");
        }
    }
}

#[test]
fn lc_9_each_has_a_kind_a_reason_and_a_row_of_the_report() {
    for (event, member, row) in known().rows() {
        assert!(KINDS.contains(&&*row.kind), "{event} {member}: {row:?}");
        assert!(!row.why.is_empty(), "{event} {member}: {row:?}");
        assert!(ROWS.contains(&&*row.row), "{event} {member}: {row:?}");
    }
}

/// The rows that are named are those of the program.
#[test]
fn lc_9_the_report_has_these_rows() {
    let folder = checkout().join("crates/cli/src/audit");
    let text: String = ["summary.rs", "trust.rs", "agent_keys.rs"]
        .map(|file| fs::read_to_string(folder.join(file)).unwrap())
        .concat();
    for row in ROWS {
        assert!(text.contains(&format!("\"{row}\"")), "{row}");
    }
}
