//! `x811 log copy`, by the real binary: a log goes on in another place, and never in two.

use super::place::{Place, SERVE};
use serde_json::{Value, json};
use std::fs;
use x811_tests::binary::{Finished, Server};
use x811_tests::postgres::Node;

fn serve_at(place: &Place, directory: &str, more: &[&str]) -> Result<Server, Finished> {
    Server::start(&place.path(directory), &[&SERVE[..], more].concat())
}

#[expect(
    clippy::unwrap_used,
    reason = "a harness stops the test at once where something is missing"
)]
fn exported(place: &Place, directory: &str) -> String {
    let file = format!("{directory}.jsonl");
    let target = place.path(&file);
    let export = ["export", "--tail", "--output", target.to_str().unwrap()];
    let _ = place.over(&export, &[directory]).ok();
    let text = fs::read_to_string(target).unwrap();
    // The header says when it was made.
    text.lines().skip(1).collect()
}

fn moved(place: &Place, from: &str, to: &str, more: &[&str]) -> Value {
    let copy = [&["log", "copy"], more].concat();
    place.over(&copy, &[from, to]).ok().json()
}

/// SQLite to PostgreSQL, from one database to another, and back: the log is the same, byte for byte,
/// goes on in the new place, and no ledger opens an old one.
#[tokio::test]
async fn a_log_moves_between_all_backends_and_goes_on_in_the_last_place_alone() {
    let node = Node::start(&[]).await;
    let (first, second) = (node.url().await, node.url().await);
    let (place, _) = Place::filled();
    let before = exported(&place, "ledger");
    moved(&place, "ledger", "b", &["--store-url", &first]);
    moved(&place, "b", "c", &["--store-url", &second]);
    moved(&place, "c", "d", &[]);
    let done = moved(&place, "d", "e", &[]);
    assert_eq!(done["found"], 0, "{done}");
    assert_eq!(exported(&place, "e"), before);
    for (old, more) in [
        ("ledger", vec![]),
        ("b", vec!["--store-url", &*first]),
        ("c", vec!["--store-url", &*second]),
        ("d", vec![]),
    ] {
        let refused = serve_at(&place, old, &more).unwrap_err();
        assert!(refused.stderr.contains("was moved"), "{old}: {refused:?}");
        assert!(place.path(old).join("MOVED").exists(), "{old}");
    }
    let server = serve_at(&place, "e", &[]).unwrap();
    place.request(&server);
    server.stop();
    let doctor = place.over(&["doctor"], &["e"]).ok().json();
    assert_eq!(doctor["findings"], json!([]), "{doctor}");
}

/// Who gains: whoever holds the keys and a database address, and would have one log go on twice.
#[tokio::test]
async fn half_a_copy_starts_no_ledger_and_is_gone_on_with() {
    let node = Node::start(&[]).await;
    let url = node.url().await;
    let (place, _) = Place::filled();
    // Nobody reads the checkpoint of a directory: the copy ends when all records are there.
    fs::rename(place.path("ledger-checkpoint"), place.path("kept")).unwrap();
    fs::create_dir_all(place.path("ledger-checkpoint/checkpoint")).unwrap();
    let stopped = place.over(&["log", "copy", "--store-url", &url], &["ledger", "b"]);
    assert_eq!(stopped.code, Some(4), "{stopped:?}");
    fs::remove_dir_all(place.path("ledger-checkpoint")).unwrap();
    fs::rename(place.path("kept"), place.path("ledger-checkpoint")).unwrap();
    let other = Place::new();
    let refused = other.serve_from(&url).unwrap_err();
    assert!(refused.stderr.contains("interrupted"), "{refused:?}");
    // The old place goes on meanwhile: what follows is copied too.
    let server = place.serve();
    place.request(&server);
    server.stop();
    moved(&place, "ledger", "b", &["--store-url", &url]);
    let again = place.over(&["log", "copy"], &["ledger", "c"]);
    assert!(again.stdout.contains("was moved"), "{again:?}");
    serve_at(&place, "b", &["--store-url", &url])
        .unwrap()
        .stop();
}

/// A kill behind the tombstone: the same command ends what it began, and no other one does.
#[test]
fn a_copy_that_ended_behind_the_tombstone_ends_in_its_own_place_alone() {
    let (place, _) = Place::filled();
    // The keys cannot be copied: the old place is closed by then, the new one not open.
    fs::rename(place.path("ledger/keys"), place.path("keys")).unwrap();
    let stopped = place.over(&["log", "copy"], &["ledger", "b"]);
    assert_eq!(stopped.code, Some(4), "{stopped:?}");
    fs::rename(place.path("keys"), place.path("ledger/keys")).unwrap();
    for directory in ["ledger", "b"] {
        let refused = serve_at(&place, directory, &[]).unwrap_err();
        let said = &refused.stderr;
        assert!(
            said.contains("was moved") || said.contains("interrupted"),
            "{refused:?}"
        );
    }
    let elsewhere = place.over(&["log", "copy"], &["ledger", "c"]);
    assert!(elsewhere.stdout.contains("was moved"), "{elsewhere:?}");
    let done = moved(&place, "ledger", "b", &[]);
    assert_eq!(done["found"], done["size"], "{done}");
    serve_at(&place, "b", &[]).unwrap().stop();
}

/// While a ledger runs nothing is moved; a copy for reading is made beside it and never starts.
#[test]
fn a_running_ledger_is_copied_for_reading_alone() {
    let place = Place::new();
    let server = place.serve();
    place.fill(&server);
    let refused = place.over(&["log", "copy"], &["ledger", "b"]);
    assert!(
        refused.stdout.contains("another process owns"),
        "{refused:?}"
    );
    moved(&place, "ledger", "c", &["--read-only-copy"]);
    assert!(!place.path("c/keys").exists());
    place.request(&server);
    server.stop();
    let refused = serve_at(&place, "c", &[]).unwrap_err();
    assert!(refused.stderr.contains("copy for reading"), "{refused:?}");
    let full = place.over(&["log", "copy"], &["ledger", "c"]);
    let said = full.stdout.clone();
    assert!(said.contains("is there already"), "{full:?}");
}

/// Records behind which a checkpoint was signed are missing: nothing is moved.
#[tokio::test]
async fn a_log_that_is_not_under_its_checkpoint_is_not_moved() {
    let (place, _) = Place::filled();
    let older = ["backup"];
    let _ = place.over(&older, &["ledger", "backup"]).ok();
    let server = place.serve();
    place.request(&server);
    server.stop();
    let _ = place.over(&["restore"], &["backup", "old"]).ok();
    let kept = place.path("ledger-checkpoint");
    let copy = ["log", "copy", "--checkpoint-dir", kept.to_str().unwrap()];
    let refused = place.over(&copy, &["old", "b"]);
    assert!(
        refused.stdout.contains("Nothing may be moved"),
        "{refused:?}"
    );
}
