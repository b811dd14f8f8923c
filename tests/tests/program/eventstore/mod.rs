//! A ledger whose log is a stream of EventStoreDB, by the real binary. The cluster is a double of the
//! protocol that runs as a program of its own; docs/scale.md says what was run on a real one.

#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot go on has failed, and says where"
)]

mod repaired;
mod suspended;

use super::operations::place::{Place, SERVE};
use serde_json::{Value, json};
use std::fs;
use x811_tests::binary::{Finished, Server, run_bench, x811};
use x811_tests::eventstore::Double;
use x811_tests::postgres::Node;

/// A cluster of three nodes and the database beside it.
struct Stores {
    double: Double,
    node: Node,
    /// What names both.
    words: [String; 4],
}

impl Stores {
    async fn start() -> Stores {
        let profile = x811().parent().unwrap().to_owned();
        let (double, node) = (Double::start(&profile, 3), Node::start(&[]).await);
        let words = [
            "--store-url".to_owned(),
            node.url().await,
            "--store-log-url".to_owned(),
            double.url().to_owned(),
        ];
        Stores {
            double,
            node,
            words,
        }
    }

    fn words(&self) -> Vec<&str> {
        self.words.iter().map(String::as_str).collect()
    }
}

fn serve(place: &Place, directory: &str, more: &[&str]) -> Result<Server, Finished> {
    Server::start(&place.path(directory), &[&SERVE[..], more].concat())
}

/// The log of a directory, record by record, with bodies.
fn exported(place: &Place, directory: &str) -> String {
    let target = place.path(&format!("{directory}.jsonl"));
    let export = ["export", "--tail", "--output", target.to_str().unwrap()];
    let _ = place.over(&export, &[directory]).ok();
    let text = fs::read_to_string(target).unwrap();
    // The header says when it was made.
    text.lines().skip(1).collect::<Vec<_>>().join("\n")
}

fn moved(place: &Place, from: &str, to: &str, more: &[&str]) -> Value {
    let copy = [&["log", "copy"], more].concat();
    place.over(&copy, &[from, to]).ok().json()
}

/// Nothing is wrong with it, for its operator and for an auditor.
fn is_clean(place: &Place, directory: &str) {
    let doctor = place.over(&["doctor"], &[directory]).ok().json();
    assert_eq!(doctor["findings"], json!([]), "{doctor}");
    let audit = place.over(&["audit"], &[directory]).unverified().json();
    assert_eq!(audit["findings"], json!([]), "{audit}");
}

fn is_closed(place: &Place, directory: &str, more: &[&str]) {
    let refused = serve(place, directory, more).unwrap_err();
    assert!(
        refused.stderr.contains("was moved"),
        "{directory}: {refused:?}"
    );
    assert!(place.path(directory).join("MOVED").exists(), "{directory}");
}

/// From SQLite to the stream, on from there while a leader dies, and back: byte for byte the same log,
/// and no ledger opens a place that it has left.
#[tokio::test]
async fn a_log_moves_to_a_stream_goes_on_there_and_moves_back() {
    let mut stores = Stores::start().await;
    let place = Place::new();
    let server = place.serve();
    place.fill(&server);
    server.stop();
    let before = exported(&place, "ledger");
    moved(&place, "ledger", "b", &stores.words());
    assert!(!place.path("b/ledger.db").exists());
    assert_eq!(exported(&place, "b"), before);
    is_clean(&place, "b");
    is_closed(&place, "ledger", &[]);

    let server = serve(&place, "b", &stores.words()).unwrap();
    let interaction = place.request(&server);
    stores.double.kill_leader();
    place.request(&server);
    let history = place.x811(&server, &["--agent", "ada", "history", &interaction]);
    let records = history["records"].as_array().map(Vec::len);
    assert_eq!(records, Some(1), "{history}");
    server.kill();
    // The lease of the one that was killed runs out first.
    serve(&place, "b", &stores.words()).unwrap().stop();
    is_clean(&place, "b");
    let before = exported(&place, "b");

    moved(&place, "b", "c", &[]);
    assert_eq!(exported(&place, "c"), before);
    is_closed(&place, "b", &stores.words());
    let server = serve(&place, "c", &[]).unwrap();
    place.request(&server);
    server.stop();
    is_clean(&place, "c");
}

/// Who gains: whoever holds the addresses and would have one log go on twice, or begin anew.
#[tokio::test]
async fn a_stream_that_a_log_has_left_is_opened_under_no_other_directory() {
    let stores = Stores::start().await;
    let place = Place::new();
    let server = place.serve();
    place.fill(&server);
    server.stop();
    moved(&place, "ledger", "b", &stores.words());
    let forgotten = serve(&place, "b", &[]).unwrap_err();
    assert!(forgotten.stderr.contains("--store-url"), "{forgotten:?}");
    moved(&place, "b", "c", &[]);
    let refused = serve(&Place::new(), "ledger", &stores.words()).unwrap_err();
    assert!(refused.stderr.contains("was moved"), "{refused:?}");
}

/// What is measured means nothing here; it ends, and says what it was run on.
#[tokio::test]
async fn a_benchmark_on_the_double_names_it_as_one() {
    let place = Place::new();
    let folder = place.folder.path().to_str().unwrap();
    for line in [
        "ingest --messages 200 --at-once 8",
        "append --records 512 --at-once 512",
    ] {
        let stores = Stores::start().await;
        let [_, beside, _, log] = &stores.words;
        let bench = ["--json"].into_iter().chain(line.split(' '));
        let places = ["--dir", folder, "--backend", "sqlite,eventstore-double"];
        let named = ["--double-url", log, "--beside-url", beside, "--agents", "4"];
        let words: Vec<&str> = bench.chain(places).chain(named).collect();
        let report = run_bench(&words).ok().json();
        let second = &report["backends"][1];
        assert_eq!(second["backend"], "eventstore-double", "{report}");
        assert!(second["ratio"].as_f64() > Some(0.0), "{report}");
    }
}

/// The passwords of both are shown by nothing.
#[test]
fn the_address_of_the_cluster_is_never_printed() {
    let place = Place::new();
    let words = [
        "--store-url",
        "postgres://x811:SECRET@127.0.0.1:1/x811",
        "--store-log-url",
        "kurrentdb://x811:SECRET@127.0.0.1:1?tls=false",
    ];
    let refused = serve(&place, "ledger", &words).unwrap_err();
    let said = format!("{}{}", refused.stdout, refused.stderr);
    assert!(said.contains("could not be reached"), "{said}");
    assert!(!said.contains("SECRET"), "{said}");
}
