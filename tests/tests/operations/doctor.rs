//! `x811 doctor` finds what is not as the log says, says what to do, and that helps.

use crate::place::Place;
use serde_json::Value;

#[test]
fn a_ledger_in_use_is_well() {
    let place = Place::new();
    let server = place.serve();
    place.fill(&server);
    let report = place.over(&["doctor"], &["ledger"]).ok().json();
    assert_eq!(report["findings"], Value::Array(Vec::new()), "{report}");
    // Opened, parameters, two registrations, a REQUEST; the blindness of a ledger without an
    // endpoint may follow.
    assert!(report["records"].as_u64().unwrap() >= 5, "{report}");
}

#[tokio::test]
async fn wrong_rows_are_found_and_repaired() {
    let place = Place::new();
    let server = place.serve();
    let interaction = place.fill(&server);
    server.stop();
    place
        .sql(
            "read.db",
            &[
                "UPDATE interactions SET state = 'completed'",
                "DELETE FROM deliveries",
                "INSERT INTO stream_records VALUES ('mail:nobody', 0, 3)",
            ],
        )
        .await;
    let found = place.over(&["doctor"], &["ledger"]);
    assert_eq!(found.code, Some(20), "{found:?}");
    let sentences = found.json()["findings"].to_string();
    for table in ["interactions", "deliveries", "stream_records"] {
        assert!(sentences.contains(table), "{table}: {sentences}");
    }

    let running = place.serve();
    let refused = place.over(&["doctor", "--repair"], &["ledger"]);
    assert_eq!(
        refused.code,
        Some(4),
        "a running ledger keeps its rows: {refused:?}"
    );
    running.stop();
    let repaired = place.over(&["doctor", "--repair"], &["ledger"]).ok().json();
    assert_eq!(repaired["rows_repaired"], true, "{repaired}");
    let _ = place.over(&["doctor"], &["ledger"]).ok();
    let server = place.serve();
    let history = place.x811(&server, &["--agent", "ada", "history", &interaction]);
    assert!(!history.to_string().contains("completed"), "{history}");
}

#[tokio::test]
async fn indexes_that_differ_from_the_log_are_named() {
    let table: [(&str, &[&str]); 8] = [
        (
            "envelope_ids",
            &[
                "DROP TRIGGER envelope_ids_never_updated",
                "UPDATE envelope_ids SET position = position + 1",
            ],
        ),
        (
            "idempotency",
            &[
                "DROP TRIGGER new_idempotency_never_deleted",
                "DELETE FROM new_idempotency",
            ],
        ),
        (
            "idempotency",
            &[
                "INSERT INTO idempotency SELECT tag, position FROM new_idempotency",
                "UPDATE filing SET filed_to = 1000000",
                "DELETE FROM new_idempotency",
                "DROP TRIGGER idempotency_never_deleted",
                "DELETE FROM idempotency WHERE tag = (SELECT max(tag) FROM idempotency)",
            ],
        ),
        (
            "claims",
            &["INSERT INTO claims VALUES (31337, randomblob(32), 0, 2)"],
        ),
        (
            "bodies",
            &[
                "DROP TRIGGER bodies_never_deleted",
                "DELETE FROM bodies WHERE position = (SELECT max(position) FROM bodies)",
            ],
        ),
        (
            "bodies",
            &[
                "DROP TRIGGER bodies_never_updated",
                "UPDATE bodies SET bytes = CAST(replace(bytes, 'echo', 'ecio') AS BLOB)",
            ],
        ),
        ("tree", &["UPDATE tree SET frontier = x'00'"]),
        (
            "log",
            &[
                "DROP TRIGGER records_never_updated",
                "UPDATE records SET leaf = CAST(replace(leaf, 'echo', 'ecno') AS BLOB)",
            ],
        ),
    ];
    for (part, statements) in table {
        let place = Place::new();
        let server = place.serve();
        place.fill(&server);
        server.stop();
        let statements: Vec<&'static str> = statements.to_vec();
        place.sql("ledger.db", &statements).await;
        let found = place.over(&["doctor"], &["ledger"]);
        assert_eq!(found.code, Some(20), "{part}: {found:?}");
        let findings = found.json()["findings"].clone();
        let named = findings
            .as_array()
            .unwrap()
            .iter()
            .any(|one| one["part"] == part);
        assert!(named, "{part}: {findings}");
    }
}

#[test]
fn a_damaged_snapshot_is_named_and_does_no_harm() {
    let place = Place::new();
    let server = place.serve();
    place.fill(&server);
    server.stop();
    let report = place.over(&["doctor"], &["ledger"]).ok().json();
    assert_eq!(report["snapshots_checked"], 1, "{report}");
    let folder = place.data_dir().join("snapshots");
    let file = std::fs::read_dir(folder)
        .unwrap()
        .next()
        .unwrap()
        .unwrap()
        .path();
    let mut bytes = std::fs::read(&file).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    std::fs::write(&file, bytes).unwrap();
    let found = place.over(&["doctor"], &["ledger"]);
    assert_eq!(found.code, Some(20), "{found:?}");
    assert_eq!(
        found.json()["findings"][0]["part"],
        "snapshots",
        "{found:?}"
    );
    place.serve().stop();
    std::fs::remove_file(file).unwrap();
    let _ = place.over(&["doctor"], &["ledger"]).ok();
}
