//! A backup of a running ledger is whole, private, and becomes a ledger again.

use super::place::{Place, SERVE};
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use x811_tests::binary::Server;

#[test]
fn a_running_ledger_is_backed_up_and_restored() {
    let place = Place::new();
    let server = place.serve();
    let interaction = place.fill(&server);
    let made = place.over(&["backup"], &["ledger", "backup"]).ok().json();
    assert_eq!(made["keys"], true, "{made}");
    let mut modes: Vec<(String, u32)> = Vec::new();
    for folder in ["backup", "backup/keys"] {
        for entry in fs::read_dir(place.path(folder)).unwrap() {
            let entry = entry.unwrap();
            let mode = entry.metadata().unwrap().permissions().mode() & 0o777;
            modes.push((entry.file_name().into_string().unwrap(), mode));
        }
    }
    assert!(modes.iter().all(|(_, mode)| mode & 0o077 == 0), "{modes:?}");
    server.kill();

    let restored = place
        .over(&["restore"], &["backup", "restored"])
        .ok()
        .json();
    assert_eq!(restored["head_hash"], made["head_hash"]);
    // Nothing is missing: the checkpoint of the first goes with it.
    let lost = Server::start(&place.path("restored"), &SERVE).unwrap_err();
    assert!(lost.stderr.contains("adopt-checkpoint"), "{lost:?}");
    let kept = ["ledger-checkpoint", "restored-checkpoint"].map(|name| place.path(name));
    std::fs::rename(&kept[0], &kept[1]).unwrap();
    let _ = place.over(&["doctor"], &["restored"]).ok();
    let again = Server::start(&place.path("restored"), &SERVE).unwrap();
    let history = place.x811(&again, &["--agent", "ada", "history", &interaction]);
    assert_eq!(
        history["records"].as_array().map(Vec::len),
        Some(1),
        "{history}"
    );
    again.stop();
    let audit = place.over(&["audit"], &["restored"]);
    // The ledger that was restored signed its end; nobody said whose key that is.
    assert_eq!(audit.code, Some(21), "{audit:?}");
    let audit = audit.json();
    assert_eq!(audit["findings"], serde_json::json!([]), "{audit}");
}

/// One bit of a body changes in a way that leaves its form, its length and its index as they were.
const CHANGED_BODY: [&str; 2] = [
    "DROP TRIGGER bodies_never_updated",
    "UPDATE bodies SET bytes = CAST(replace(bytes, 'echo', 'ecio') AS BLOB)",
];

#[tokio::test]
async fn a_body_that_changed_where_it_lies_is_neither_backed_up_nor_restored() {
    let (place, _) = Place::filled();
    let _ = place.over(&["backup"], &["ledger", "before"]).ok();
    place.sql("ledger.db", &CHANGED_BODY).await;
    let refused = place.over(&["backup"], &["ledger", "after"]);
    assert_eq!(refused.code, Some(4), "{refused:?}");
    let error = refused.json()["error"].to_string();
    assert!(error.contains("the body at position"), "{error}");
    assert!(!place.path("after/backup.json").exists());

    place.sql("../before/ledger.db", &CHANGED_BODY).await;
    let refused = place.over(&["restore"], &["before", "restored"]);
    assert_eq!(refused.code, Some(4), "{refused:?}");
    let error = refused.json()["error"].to_string();
    assert!(error.contains("the body at position"), "{error}");
    assert!(
        !place.path("restored").exists(),
        "nobody shall start what was refused"
    );
}

#[test]
fn nothing_is_ever_overwritten() {
    let place = Place::new();
    let server = place.serve();
    place.fill(&server);
    let _ = place.over(&["backup"], &["ledger", "backup"]).ok();
    let twice = place.over(&["backup"], &["ledger", "backup"]);
    assert_eq!(twice.code, Some(4), "{twice:?}");
    let onto = place.over(&["restore"], &["backup", "ledger"]);
    assert_eq!(onto.code, Some(4), "{onto:?}");
}

#[test]
fn a_backup_that_was_changed_is_refused() {
    let place = Place::new();
    let server = place.serve();
    place.fill(&server);
    let without = ["backup", "--without-keys"];
    let _ = place.over(&without, &["ledger", "one"]).ok();
    assert!(!place.path("one/keys").exists());
    place.request(&server);
    let _ = place.over(&without, &["ledger", "two"]).ok();
    fs::copy(place.path("one/ledger.db"), place.path("two/ledger.db")).unwrap();
    let refused = place.over(&["restore"], &["two", "restored"]);
    assert_eq!(refused.code, Some(4), "{refused:?}");
    assert_eq!(refused.json()["error"]["code"], "manifest", "{refused:?}");

    fs::remove_file(place.path("one/backup.json")).unwrap();
    let unfinished = place.over(&["restore"], &["one", "elsewhere"]);
    assert_eq!(unfinished.code, Some(4), "{unfinished:?}");
    assert!(!place.path("elsewhere").exists());
}
