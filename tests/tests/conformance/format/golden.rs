//! What the golden files hold: lines of logs and bundles, receipts, the records of the text itself,
//! and the states that a log adds up to.

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;

use serde_json::Value;
use x811_eventlog::Record;
use x811_protocol::event::Event;
use x811_protocol::json::{Limits, parse_strict};
use x811_protocol::stream::Stream;
use x811_tests::anvil::checkout;
use x811_world::{HeldMachine as _, World, with_machine};

/// Where it stands, the value, and its type.
pub(crate) type Document = (String, Value, &'static str);

fn folder(name: &str) -> PathBuf {
    checkout().join("tests/vectors").join(name)
}

/// The files in which an audit finds nothing.
pub(crate) fn files() -> Vec<String> {
    let entries = fs::read_dir(folder("bundle")).unwrap();
    let paths = entries.map(|entry| entry.unwrap().path());
    let is_good = |path: &PathBuf| {
        let findings = fs::read_to_string(path.with_extension("json")).unwrap();
        path.extension().unwrap() == "x811" && findings.trim() == "[]"
    };
    let good = paths.filter(is_good);
    let names = good.map(|path| path.file_stem().unwrap().to_str().unwrap().to_owned());
    names.collect()
}

fn lines(name: &str) -> Vec<String> {
    let path = folder("bundle").join(name).with_extension("x811");
    let text = fs::read_to_string(path).unwrap();
    text.lines().map(str::to_owned).collect()
}

/// Receipts are nested deeper than others read.
fn json(text: &str) -> Value {
    let limits = Limits {
        max_depth: 2 * Limits::DEFAULT_DEPTH,
        ..Limits::bytes(usize::MAX)
    };
    parse_strict(text.trim_end().as_bytes(), &limits).unwrap()
}

/// The receipts in JSON that the table calls good.
fn receipts() -> BTreeSet<String> {
    let table = fs::read_to_string(folder("README.md")).unwrap();
    let good = table.lines().filter(|line| line.contains("| good |"));
    let names = good.filter_map(|line| line.split('`').nth(1));
    let receipts = names.filter(|name| name.ends_with(".json"));
    receipts.map(str::to_owned).collect()
}

/// The name in our own memory, which lives as long as the program.
fn event_type(event: &Value) -> &'static str {
    let event = Event::from_value(event).unwrap();
    event.type_name()
}

pub(crate) fn documents() -> Vec<Document> {
    let mut documents = Vec::new();
    for name in files() {
        for line in lines(&name) {
            documents.extend(document(&name, &line));
        }
    }
    for name in receipts() {
        let receipt = json(&fs::read_to_string(folder("receipt").join(&name)).unwrap());
        documents.push((name, receipt, "receipt"));
    }
    let text = fs::read_to_string(checkout().join("crates/eventlog/FORMAT.md")).unwrap();
    let leaves = text.lines().filter(|line| line.starts_with("{\"event\":"));
    for leaf in leaves {
        documents.extend(document("FORMAT.md", &format!("r {leaf}")));
    }
    documents
}

fn document(name: &str, line: &str) -> Option<Document> {
    let at = |what: &str| format!("{name}, {what}");
    match line.split_at(2) {
        ("r ", leaf) => {
            let mut leaf = json(leaf);
            let event = leaf["event"].take();
            let ty = event_type(&event);
            Some((at(&leaf["position"].to_string()), event, ty))
        }
        ("k ", keys) => Some((at("keys"), json(keys), "keys_statement")),
        ("e ", end) => Some((at("an end"), json(end), "end")),
        _ if line.contains("\"x811_export\"") => Some((at("header"), json(line), "header")),
        _ if line.contains("\"x811_trailer\"") => Some((at("trailer"), json(line), "trailer")),
        _ => None,
    }
}

/// The states of agents and interactions after every record of the whole logs.
pub(crate) fn states() -> Vec<Document> {
    let mut states = Vec::new();
    for name in files().iter().filter(|name| name.starts_with("log")) {
        let mut world = World::empty();
        let lines = lines(name);
        for leaf in lines.iter().filter_map(|line| line.strip_prefix("r ")) {
            let record = Record::parse(leaf.as_bytes().to_vec()).unwrap();
            let event = Event::from_json(record.event_json()).unwrap();
            world.apply(&record, &event).unwrap();
            states.extend(state(&world, &record));
        }
    }
    states
}

fn state(world: &World, record: &Record) -> Option<Document> {
    let name = format!("state of {}", record.stream());
    match record.stream().parse().unwrap() {
        Stream::Agent(did) | Stream::Mail(did) => {
            let mut agent = serde_json::to_value(&**world.agent(did)?).unwrap();
            agent["trust"] = serde_json::to_value(world.trust(did)).unwrap();
            Some((name, agent, "agent"))
        }
        Stream::Of(subject) => {
            let state = with_machine!(subject, M(id) => {
                serde_json::to_value(M::latest(world, id)?).unwrap()
            });
            Some((name, state, subject.kind()))
        }
        Stream::Ledger | Stream::Network(_) | Stream::Roots => None,
    }
}
