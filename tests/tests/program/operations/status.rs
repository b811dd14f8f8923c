//! `x811 status` as a health check asks it: by its exit code, and by one JSON value.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use super::place::Place;
use serde_json::json;
use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{Ipv4Addr, TcpListener};
use x811_tests::binary::{Finished, run};

fn status(url: &str, json: bool) -> Finished {
    let mut arguments = vec!["--ledger", url, "status"];
    if json {
        arguments.push("--json");
    }
    run(&arguments)
}

#[test]
fn a_ledger_that_takes_messages_is_0_however_blind_its_network() {
    let place = Place::new();
    let server = place.serve();
    place.fill(&server);
    let said = status(server.url(), true).ok().json();
    assert_eq!(said["ready"], true);
    assert_eq!(said["why"], json!([]));
    assert!(said["size"].as_u64().unwrap() >= 4, "{said}");
    assert!(said["free_bytes"].as_u64().unwrap() > 0, "{said}");
    assert!(said["checkpoint_size"].as_u64().unwrap() >= 1, "{said}");
    assert!(said["checkpoint_age_ms"].is_u64(), "{said}");
    assert_eq!(said.get("records_per_s"), None, "not asked for");
    assert_eq!(said["version"], env!("CARGO_PKG_VERSION"));
    assert_eq!(said["networks"][0]["name"], "local");
    assert_ne!(said["networks"][0]["sight"], "fresh");
    let shown = status(server.url(), false).ok().stdout;
    for word in [
        "ready: http://",
        "did:x811:",
        "signed",
        " s ago",
        "version",
        "free",
        "local",
    ] {
        assert!(shown.contains(word), "{word} is not in\n{shown}");
    }
}

#[test]
fn the_rate_is_told_when_it_is_asked_for() {
    let place = Place::new();
    let server = place.serve();
    place.fill(&server);
    let asked = ["--ledger", server.url(), "status", "--rate"];
    let said = run(&[&asked[..], &["--json"]].concat()).ok().json();
    assert!(said["records_per_s"].is_u64(), "{said}");
    let shown = run(&asked).ok().stdout;
    assert!(shown.contains("records a second"), "{shown}");
}

#[test]
fn a_ledger_that_takes_none_is_12_and_says_why() {
    let url = unready();
    let said = status(&url, true);
    assert_eq!(said.code, Some(12), "{said:?}");
    let said = said.json();
    assert_eq!(said["ready"], false);
    assert_eq!(said["why"], json!(["the last commit failed"]));
    assert_eq!(said["free_bytes"], 0);
    let shown = status(&url, false);
    assert_eq!(shown.code, Some(12), "{shown:?}");
    assert!(shown.stdout.contains("not ready: http://"), "{shown:?}");
    assert!(shown.stdout.contains("the last commit failed"), "{shown:?}");
    assert!(shown.stdout.contains("0 bytes"), "{shown:?}");
}

#[test]
fn nobody_there_is_3() {
    for json in [false, true] {
        let said = status("http://127.0.0.1:1", json);
        assert_eq!(said.code, Some(3), "{said:?}");
    }
    let said = status("http://127.0.0.1:1", true).json();
    assert_eq!(said["error"]["exit"], 3, "{said}");
}

/// Answers as a ledger with a full disk does, for as long as the test lives.
fn unready() -> String {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let ready = json!({
        "ready": false, "why": ["the last commit failed"], "size": 7, "clock": "settled",
        "rows_lag": 0, "free_bytes": 0, "version": "0.1.0", "networks": [],
    });
    let who = json!({
        "did": "did:x811:0197c3a0-0000-7000-8000-000000000001", "log_id": "log",
        "origin": "log", "protocol_versions": ["0"], "networks": [],
        "windows": {
            "offer_ms": 60_000, "accept_ms": 300_000, "result_ms": 3_600_000,
            "verify_ms": 30_000, "payment_ms": 60_000, "confirmation_ms": 30_000,
        },
        "looks_ms": [5_000, 15_000, 60_000, 300_000], "payer_binding": "wallet",
    });
    std::thread::spawn(move || {
        for connection in listener.incoming().map_while(Result::ok) {
            let mut lines = BufReader::new(&connection).lines().map_while(Result::ok);
            let asked = lines.next().unwrap_or_default();
            // The rest of the head; a GET has no body.
            let _ = lines.find(String::is_empty);
            let (status, body) = if asked.contains("/ready") {
                ("503 Service Unavailable", &ready)
            } else {
                ("200 OK", &who)
            };
            let body = body.to_string();
            let length = body.len();
            let _ = write!(
                &connection,
                "HTTP/1.1 {status}\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n\
                 connection: close\r\n\r\n{body}"
            );
        }
    });
    url
}
