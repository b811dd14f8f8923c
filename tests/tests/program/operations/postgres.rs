//! A ledger whose log is in PostgreSQL, by the real binary: served, killed, examined, exported and
//! audited; and what stops whoever forgets the database.

use super::place::{Place, SERVE};
use serde_json::json;
use x811_tests::binary::Server;
use x811_tests::postgres::Node;

#[tokio::test]
async fn a_ledger_in_postgresql_survives_a_kill_and_is_examined_by_its_directory() {
    let node = Node::start(&[]).await;
    let url = node.url().await;
    let place = Place::new();
    let server = place.serve_from(&url).unwrap();
    let interaction = place.fill(&server);
    assert!(!place.path("ledger/ledger.db").exists());
    server.kill();

    // The lease of the one that was killed runs out first.
    let server = place.serve_from(&url).unwrap();
    let history = ["--agent", "ada", "history", &interaction];
    let history = place.x811(&server, &history);
    assert_eq!(
        history["records"].as_array().map(Vec::len),
        Some(1),
        "{history}"
    );
    place.request(&server);
    let doctor = place.over(&["doctor"], &["ledger"]).ok().json();
    assert_eq!(doctor["findings"], json!([]), "{doctor}");
    server.stop();

    let log = place.path("log.jsonl");
    let export = ["export", "--output", log.to_str().unwrap()];
    let _ = place.over(&export, &["ledger"]).ok();
    let audit = place.over(&["audit"], &["log.jsonl"]).unverified().json();
    assert_eq!(audit["findings"], json!([]), "{audit}");
    let audit = place.over(&["audit"], &["ledger"]).unverified().json();
    assert_eq!(audit["findings"], json!([]), "{audit}");
    let backup = place.over(&["backup"], &["ledger", "backup"]);
    assert_eq!(backup.code, Some(4), "{backup:?}");
    assert!(backup.stdout.contains("pg_basebackup"), "{backup:?}");
}

/// Who gains: nobody, and a second log under the same keys would be a fork.
#[tokio::test]
async fn a_start_that_forgets_the_database_is_refused() {
    let node = Node::start(&[]).await;
    let url = node.url().await;
    let place = Place::new();
    place.serve_from(&url).unwrap().stop();
    let refused = Server::start(&place.data_dir(), &SERVE).unwrap_err();
    assert!(refused.stderr.contains("--store-url"), "{refused:?}");
    let other = Place::new();
    other.serve().stop();
    let refused = other.serve_from(&node.url().await).unwrap_err();
    assert!(refused.stderr.contains("ledger.db"), "{refused:?}");
}

/// After the database was restored from an older copy the file on this host still refuses to go back.
#[tokio::test]
async fn a_database_restored_from_an_hour_ago_is_refused() {
    let node = Node::start(&[]).await;
    let url = node.url().await;
    let place = Place::new();
    let server = place.serve_from(&url).unwrap();
    place.fill(&server);
    server.stop();
    let copy = node.copy();
    let server = place.serve_from(&url).unwrap();
    place.request(&server);
    server.stop();
    let old = Node::restored(copy).await;
    let refused = place.serve_from(&old.address_of("ledger0")).unwrap_err();
    assert!(
        refused.stderr.contains("acknowledged and signed"),
        "{refused:?}"
    );
}

/// A URL with a password is shown by nothing.
#[test]
fn the_address_of_the_database_is_never_printed() {
    let place = Place::new();
    let url = "postgres://x811:SECRET@127.0.0.1:1/x811";
    let refused = place.serve_from(url).unwrap_err();
    let said = format!("{}{}", refused.stdout, refused.stderr);
    assert!(said.contains("could not be reached"), "{said}");
    assert!(!said.contains("SECRET"), "{said}");
    let check = [&["serve", "--check", "--store-url", url], &SERVE[..]].concat();
    let checked = x811_tests::binary::run(&check).ok();
    assert!(checked.stdout.contains("(hidden)"), "{checked:?}");
    assert!(!checked.stdout.contains("SECRET"), "{checked:?}");
}
