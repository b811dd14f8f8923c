//! `x811 ledger reopen`: what goes on behind a lost tail, and what does not (stores.md section 2).

use super::place::{Place, SERVE};
use serde_json::json;
use std::fs;
use std::process::Command;
use x811_tests::binary::Server;

/// The data directory of an hour ago is put back; the checkpoint is not.
#[expect(
    clippy::unwrap_used,
    reason = "a harness stops the test at once where something is missing"
)]
fn with_a_lost_tail() -> Place {
    let (place, _) = Place::filled();
    let (now, older) = (place.path("ledger"), place.path("older"));
    let copied = Command::new("cp").arg("-a").args([&now, &older]).status();
    assert!(copied.unwrap().success());
    let server = place.serve();
    place.request(&server);
    server.stop();
    fs::remove_dir_all(&now).unwrap();
    fs::rename(&older, &now).unwrap();
    place
}

/// Who gains: an operator who restored too much, and would go on as if nothing had been lost.
#[test]
fn behind_a_lost_tail_only_a_new_origin_goes_on() {
    let place = with_a_lost_tail();
    let refused = Server::start(&place.data_dir(), &SERVE).unwrap_err();
    assert!(
        refused.stderr.contains("acknowledged and signed"),
        "{refused:?}"
    );
    let made = place.over(&["ledger", "reopen"], &["ledger", "new"]);
    let made = made.ok().json();
    assert_eq!(made["not_closed"], json!(null), "{made}");
    let note = fs::read_to_string(place.path("ledger-checkpoint/checkpoint")).unwrap();
    let signed: Vec<&str> = note.lines().take(2).collect();
    let continues = &made["continues"];
    assert_eq!(continues["origin"], signed[0], "{made}");
    assert_eq!(continues["size"].to_string(), signed[1], "{made}");
    assert_ne!(made["origin"], continues["origin"], "{made}");

    // The old one is closed in its store: moving its checkpoint away does not open it either.
    fs::rename(
        place.path("ledger-checkpoint/checkpoint"),
        place.path("away"),
    )
    .unwrap();
    let refused = Server::start(&place.data_dir(), &SERVE).unwrap_err();
    assert!(refused.stderr.contains("MOVED"), "{refused:?}");

    let server = Server::start(&place.path("new"), &SERVE).unwrap();
    for name in ["ada", "bert"] {
        let register = ["--agent", name, "agent", "register", "--capability", "echo"];
        place.x811(&server, &register);
    }
    place.request(&server);
    server.stop();
    let log = place.path("new.jsonl");
    let export = ["export", "--output", log.to_str().unwrap()];
    let _ = place.over(&export, &["new"]).ok();
    let audit = place.over(&["audit"], &["new.jsonl"]).unverified().json();
    assert_eq!(audit["findings"], json!([]), "{audit}");
    let first = fs::read_to_string(log).unwrap();
    let origin = format!("\"continues\":{{\"origin\":{}", continues["origin"]);
    assert!(first.contains(&origin), "{first:.2000}");
}

#[test]
fn without_a_checkpoint_there_is_nothing_to_go_on_from() {
    let place = Place::new();
    place.serve().stop();
    fs::remove_dir_all(place.path("ledger-checkpoint")).unwrap();
    let refused = place.over(&["ledger", "reopen"], &["ledger", "new"]);
    assert_eq!(refused.code, Some(4), "{refused:?}");
    assert!(!place.path("new").exists());
    let message = refused.stdout;
    assert!(message.contains("--lost-checkpoint"), "{message}");

    let verb = ["ledger", "reopen", "--lost-checkpoint"];
    let made = place.over(&verb, &["ledger", "new"]).ok().json();
    assert!(made["continues"]["size"].as_u64() > Some(0), "{made}");
    let refused = Server::start(&place.data_dir(), &SERVE).unwrap_err();
    assert!(refused.stderr.contains("MOVED"), "{refused:?}");
    Server::start(&place.path("new"), &SERVE).unwrap().stop();
}
