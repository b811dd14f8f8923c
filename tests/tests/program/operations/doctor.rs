//! `x811 doctor` finds what is not as the log says, says what to do, and that helps.

use super::place::{Place, SERVE};
use serde_json::Value;
use x811_tests::binary::{Server, is_in_database};

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
    let (place, interaction) = Place::filled();
    place
        .sql(
            "read.db",
            &[
                "UPDATE subjects SET state = 'completed'",
                "DELETE FROM deliveries",
                "INSERT INTO stream_records VALUES ('mail:nobody', 0, 3)",
            ],
        )
        .await;
    let found = place.over(&["doctor"], &["ledger"]);
    assert_eq!(found.code, Some(20), "{found:?}");
    let sentences = found.json()["findings"].to_string();
    for table in ["subjects", "deliveries", "stream_records"] {
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
        let (place, _) = Place::filled();
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

/// The ledger notes every second that it runs: here it ran on for 20 s without storing a checkpoint.
#[tokio::test]
async fn lc_1_5_records_that_waited_for_a_checkpoint_are_found() {
    if is_in_database() {
        return;
    }
    let (place, _) = Place::filled();
    let checkpoint = place.path("ledger-checkpoint").join("checkpoint");
    let older = std::fs::read(&checkpoint).unwrap();
    let server = place.serve();
    place.request(&server);
    server.stop();
    std::fs::write(&checkpoint, older).unwrap();
    let _ = place.over(&["doctor"], &["ledger"]).ok();
    place
        .sql("ledger.db", &["UPDATE tick SET at_ms = at_ms + 20000"])
        .await;
    let found = place.over(&["doctor"], &["ledger"]);
    assert_eq!(found.code, Some(20), "{found:?}");
    let findings = found.json()["findings"].clone();
    assert_eq!(findings[0]["part"], "unsigned", "{findings}");
    let sentence = findings[0]["sentence"].to_string();
    assert!(sentence.contains("under no checkpoint"), "{sentence}");
}

/// A directory without a log: of a host that never wrote, say.
#[test]
fn reliability_a_directory_without_a_log_is_described_with_the_next_step() {
    let place = Place::new();
    let directory = place.data_dir();
    for (made, words) in [
        (None, ["the directory is empty", "x811 serve --data-dir"]),
        (
            Some("notes.txt"),
            ["other files only", "name the data directory"],
        ),
        (
            Some("keys"),
            ["it has keys of one, and no log", "--store-url"],
        ),
        (Some("read.db"), ["keys and a read model", "x811 restore"]),
    ] {
        std::fs::create_dir_all(&directory).unwrap();
        if let Some(name) = made {
            std::fs::write(directory.join(name), "").unwrap();
        }
        let export = place.path("log.x811l");
        let export = ["export", "--output", export.to_str().unwrap()];
        for verb in [&["doctor"][..], &export, &["audit"]] {
            let said = place.over(verb, &["ledger"]);
            assert_eq!(said.code, Some(4), "{verb:?}: {said:?}");
            let error = said.json()["error"].clone();
            assert_eq!(error["code"], "no_ledger", "{verb:?}: {error}");
            for word in words {
                assert!(error.to_string().contains(word), "{verb:?} {word}: {error}");
            }
        }
    }
}

/// Overwrites a part of a database, as a disk does.
#[expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]
fn overwrite(place: &Place, file: &str, from: usize, length: usize) {
    let file = place.data_dir().join(file);
    let mut bytes = std::fs::read(&file).unwrap();
    bytes[from..from + length].fill(0x5a);
    std::fs::write(&file, bytes).unwrap();
}

/// Places in `read.db`: its head, the list of its tables, and a page of rows.
const SPOTS: [(usize, usize); 3] = [(0, 40), (100, 4_000), (3 * 8_192, 8_192)];

#[test]
fn rest_7_damaged_rows_are_repaired() {
    for (from, length) in SPOTS {
        let (place, interaction) = Place::filled();
        overwrite(&place, "read.db", from, length);
        let found = place.over(&["doctor"], &["ledger"]);
        assert_eq!(found.code, Some(20), "{from}: {found:?}");
        let findings = found.json()["findings"].to_string();
        assert!(
            findings.contains("read.db is damaged"),
            "{from}: {findings}"
        );
        let repaired = place.over(&["doctor", "--repair"], &["ledger"]).ok().json();
        assert_eq!(repaired["rows_repaired"], true, "{from}: {repaired}");
        let _ = place.over(&["doctor"], &["ledger"]).ok();
        let server = place.serve();
        place.x811(&server, &["--agent", "ada", "history", &interaction]);
    }
}

#[test]
fn rest_8_damaged_rows_are_written_again_at_a_start_with_a_warning() {
    for (from, length) in SPOTS {
        let (place, interaction) = Place::filled();
        overwrite(&place, "read.db", from, length);
        let log = place.path("log");
        let server = Server::start_logged(&place.data_dir(), &SERVE, &log).unwrap();
        let said = std::fs::read_to_string(&log).unwrap();
        // A page of rows that a start does not touch is found when somebody asks for it.
        if from < 8_192 {
            assert!(said.contains("read.db is damaged"), "{from}: {said}");
            place.x811(&server, &["--agent", "ada", "history", &interaction]);
        }
        server.stop();
    }
}

#[tokio::test]
async fn rest_9_of_a_damaged_log_is_said_how_far_it_can_be_read_and_that_is_written_out() {
    let (place, _) = Place::filled();
    let statements = [
        "DROP TRIGGER records_never_updated",
        "UPDATE records SET leaf = substr(leaf, 1, length(leaf) / 2) WHERE position = 3",
    ];
    place.sql("ledger.db", &statements).await;
    let file = place.path("readable.x811l");
    let verb = ["doctor", "--write-readable", file.to_str().unwrap()];
    let found = place.over(&verb, &["ledger"]);
    assert_eq!(found.code, Some(20), "{found:?}");
    let readable = found.json()["readable"].clone();
    assert_eq!(readable["records"], 3, "{found:?}");
    assert!(
        readable["why"].to_string().contains("position 3"),
        "{readable}"
    );
    let audit = place.over(&["audit"], &["readable.x811l"]);
    assert_eq!(audit.code, Some(22), "nobody signed it: {audit:?}");
    let audit = audit.json();
    assert_eq!(audit["findings"], serde_json::json!([]), "{audit}");
    assert_eq!(audit["head"], readable["head"], "{audit}");
}

#[test]
fn a_damaged_snapshot_is_named_and_does_no_harm() {
    let (place, _) = Place::filled();
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
