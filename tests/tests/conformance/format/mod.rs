//! FORMAT.md, EVENTS.md and STATES.md of `x811-eventlog` are what a second implementation is written
//! from: whatever occurs in golden logs, bundles, receipts and states stands in their tables, and
//! whatever stands there exists.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a harness stops the test at once where something is missing"
)]

mod audit;
mod golden;
mod schema;
mod tables;
mod walk;

use super::forgeries::table;
use serde_json::Value;
use x811_protocol::event::Event;

use golden::{documents, files, states};
use tables::Tables;
use walk::Walk;

/// What no golden file can have or none has, and why.
const NOT_IN_GOLDEN_FILES: [(&str, &str, &str); 39] = [
    (
        "erasure_order",
        "session",
        "the golden logs are older than erasures of sessions",
    ),
    ("erasure_order", "agreement", "likewise"),
    (
        "ledger_opened",
        "continues",
        "needs a log that lost its tail",
    ),
    (
        "agent_registered",
        "reference_sdk",
        "a leniency that the golden logs do not have",
    ),
    ("reference_sdk", "payment_address", "likewise"),
    ("agent", "reference_sdk", "likewise"),
    ("continues", "origin", "as above"),
    ("continues", "root", "likewise"),
    ("continues", "size", "likewise"),
    ("network", "endpoint_quorum", "the golden logs do not say"),
    ("network", "final_by", "likewise"),
    (
        "evidence",
        "forked_at",
        "needs a reorganisation at an ACCEPT",
    ),
    ("evidence", "fork_unknown", "likewise"),
    ("fork_point", "hash", "likewise"),
    ("fork_point", "number", "likewise"),
    (
        "transfer",
        "authorization_nonce",
        "needs a payer without a wallet",
    ),
    (
        "bodies_erased",
        "order",
        "the golden logs are older than it",
    ),
    ("erasure_order", "interaction", "likewise"),
    ("erasure_order", "contract", "likewise"),
    ("erasure_order", "authority", "likewise"),
    ("erasure_order", "parameters", "likewise"),
    ("erasure_order", "signature", "likewise"),
    (
        "rules_changed",
        "rules_version",
        "a golden log is under one set of rules from its beginning",
    ),
    ("rules_changed", "reader", "likewise"),
    ("refuted", "reason", "by the word of a real node"),
    (
        "payment_facts",
        "authorization_nonce",
        "needs a payer who signs authorizations",
    ),
    (
        "payment_facts",
        "fee_tx_hash",
        "needs a treasury that is paid apart",
    ),
    (
        "request_facts",
        "threshold_amount",
        "nothing is decided by it",
    ),
    ("result_facts", "result_size", "nothing is decided by it"),
    (
        "state of the ledger",
        "parameters",
        "private; the golden roots hold it",
    ),
    ("state of the ledger", "rules_version", "likewise"),
    (
        "refresh",
        "checkpoint",
        "is served, and in no file of a log",
    ),
    ("refresh", "hashes", "likewise"),
    ("refresh", "keys", "likewise"),
    ("refresh", "size", "likewise"),
    ("refresh", "x811_refresh", "likewise"),
    ("agent_registered", "expires_at_ms", "an update has it"),
    ("enclosed", "profile", "needs a party that signs bodies"),
    ("state of a network", "blind_since_ms", "likewise"),
];

#[test]
fn rec_4_whatever_is_in_golden_files_is_in_the_tables_and_the_other_way_round() {
    let tables = Tables::read();
    let mut walk = Walk::new(&tables);
    for (name, value, ty) in documents() {
        walk.look(&name, &value, ty);
    }
    for (name, state, ty) in states() {
        walk.look(&name, &state, ty);
    }
    assert!(walk.faults.is_empty(), "{:#?}", walk.faults);
    let left_out = NOT_IN_GOLDEN_FILES.map(|(table, member, _)| (table, member));
    let mut missing = walk.unseen();
    let is_missing = |(table, member): &(&str, &str)| {
        let is_it = |(of, name): &(String, String)| of == table && name == member;
        missing.iter().any(is_it)
    };
    let there: Vec<_> = left_out.iter().filter(|it| !is_missing(it)).collect();
    assert!(there.is_empty(), "in a golden file after all: {there:?}");
    missing.retain(|(table, member)| !left_out.contains(&(table, member)));
    assert!(missing.is_empty(), "in no golden file: {missing:#?}");
}

#[test]
fn rec_4_the_tables_are_what_the_code_reads() {
    let tables = Tables::read();
    let mut faults = Vec::new();
    for (name, members) in schema::members() {
        let table = tables.members(name);
        let documented: Vec<&str> = table.iter().map(|row| &*row.member).collect();
        if sorted(documented.clone()) != sorted(members.clone()) {
            faults.push(format!(
                "{name}: {documented:?}, and the code has {members:?}"
            ));
        }
    }
    let words = schema::words().into_iter();
    let words = words.map(|(name, due)| (name, tables.words(name), due));
    let tags = schema::tags().into_iter();
    let tags = tags.map(|(name, due)| (name, tables.tags(name), due));
    for (name, documented, due) in words.chain(tags) {
        if documented != due {
            faults.push(format!("{name}: {documented:?}, and the code has {due:?}"));
        }
    }
    assert!(faults.is_empty(), "{faults:#?}");
}

fn sorted(mut names: Vec<&str>) -> Vec<&str> {
    names.sort_unstable();
    names
}

/// A reader refuses an event without a member that is *always* there, and takes it without any
/// other, unless the rest then says otherwise.
#[test]
fn rec_4_always_means_always() {
    let tables = Tables::read();
    let mut faults = Vec::new();
    let mut tried = std::collections::BTreeSet::new();
    for (name, event, ty) in documents() {
        if !tables.is_event(ty) {
            continue;
        }
        for place in walk::places(&tables, &event, ty) {
            if !tried.insert((place.table.clone(), place.member.clone())) {
                continue;
            }
            let said = Event::from_value(&without(&event, &place)).err();
            let said = said.map(|error| error.to_string()).unwrap_or_default();
            let is_missed = said.contains(&format!("missing field `{}`", place.member));
            if is_missed != place.is_always {
                faults.push(format!("{name}: {place:?}: {said}"));
            }
        }
    }
    assert!(tried.len() > 150, "{}", tried.len());
    assert!(faults.is_empty(), "{faults:#?}");
}

fn without(event: &Value, place: &walk::Place) -> Value {
    let mut event = event.clone();
    let object = event.pointer_mut(&place.pointer).unwrap();
    object.as_object_mut().unwrap().remove(&place.member);
    event
}

/// Every golden file that is a log or a bundle is looked at.
#[test]
fn rec_4_the_golden_files_have_every_event() {
    let names = files();
    assert!(
        names.iter().any(|name| name.starts_with("log-every")),
        "{names:?}"
    );
    let kinds: std::collections::BTreeSet<&str> = documents()
        .iter()
        .map(|(.., ty)| *ty)
        .filter(|ty| Tables::read().is_event(ty))
        .collect();
    assert_eq!(kinds.len(), 39, "all but rules_changed: {kinds:?}");
}
