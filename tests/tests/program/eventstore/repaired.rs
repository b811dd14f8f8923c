//! A log whose stream was damaged, made whole from the database beside it (docs/decisions/0300).

use super::{Stores, exported, is_clean, is_closed, moved, serve};
use crate::operations::place::Place;
use serde_json::Value;
use std::fs;
use x811_tests::binary::Finished;
use x811_tests::postgres::Node;

/// Runs `x811 log copy` of the ledger, which must be refused.
fn refused(place: &Place, to: &str, more: &[&str]) -> Finished {
    let copy = [&["log", "copy"], more].concat();
    let refused = place.over(&copy, &["ledger", to]);
    assert_eq!(refused.code, Some(4), "{refused:?}");
    assert!(!place.path("ledger/MOVED").exists(), "{refused:?}");
    refused
}

/// Starts a ledger over the stream, fills it and stops it.
fn filled(place: &Place, stores: &Stores) {
    let server = serve(place, "ledger", &stores.words()).unwrap();
    place.fill(&server);
    server.stop();
}

impl Stores {
    /// Removes all but the last `kept` records of the stream for good, as the cluster's administrator can.
    fn scavenge(&mut self, kept: u64) {
        let hide = format!("metadata {{\"$maxCount\":{kept}}}");
        for line in [&*hide, "scavenge", "metadata {}"] {
            self.double.say(line);
        }
    }
}

/// A scavenge removed the first records for good. The start and an ordinary copy are refused and name the
/// command; what it makes is the same log, byte for byte, and nothing starts on the stream again.
#[tokio::test]
async fn a_log_is_made_whole_from_the_database_after_a_scavenge() {
    let mut stores = Stores::start().await;
    let place = Place::new();
    filled(&place, &stores);
    let before = exported(&place, "ledger");
    // Hidden for now: a copy for reading does not need the stream.
    stores.double.say("soft-delete");
    let reading = ["--from-database", "--read-only-copy"];
    let done = moved(&place, "ledger", "hidden", &reading);
    assert_eq!(done["stream"]["state"], "unread", "{done}");
    assert_eq!(exported(&place, "hidden"), before);
    // The server answers the first removal with a `$tb` of its own.
    stores.double.say("metadata {}");
    stores.double.say("metadata {}");
    assert_eq!(exported(&place, "ledger"), before);

    stores.scavenge(2);
    let start = serve(&place, "ledger", &stores.words()).unwrap_err();
    let ordinary = refused(&place, "b", &[]);
    for said in [&start.stderr, &ordinary.stdout] {
        assert!(said.contains("begins with record"), "{said}");
        assert!(
            said.contains("x811 log copy FROM TO --from-database"),
            "{said}"
        );
    }
    let done = moved(&place, "ledger", "whole", &["--from-database"]);
    assert_eq!(done["signed"], done["size"], "{done}");
    assert_eq!(done["stream"]["state"], "same", "{done}");
    assert_eq!(done["stream"]["size"], done["size"], "{done}");
    assert_eq!(exported(&place, "whole"), before);
    is_clean(&place, "whole");
    is_closed(&place, "ledger", &stores.words());
    let server = serve(&place, "whole", &[]).unwrap();
    place.request(&server);
    server.stop();
    is_clean(&place, "whole");
}

/// A database that was restored from an older copy, beside a stream that lost its beginning: together they
/// have the whole log.
#[tokio::test]
async fn what_only_the_stream_has_is_taken_over() {
    let mut stores = Stores::start().await;
    let place = Place::new();
    filled(&place, &stores);
    let copy = stores.node.copy();
    // A start is recorded.
    serve(&place, "ledger", &stores.words()).unwrap().stop();
    let before = exported(&place, "ledger");
    stores.scavenge(4);
    let older = Node::restored(copy).await;
    let url = older.address_of("ledger0");
    let noted = format!("{url}\n{}\n", stores.double.url());
    fs::write(place.path("ledger/store-url"), noted).unwrap();
    let done = moved(&place, "ledger", "whole", &["--from-database"]);
    assert_eq!(done["stream"]["state"], "taken_over", "{done}");
    assert!(done["stream"]["records"].as_u64() > Some(0), "{done}");
    assert_eq!(done["signed"], done["size"], "{done}");
    assert_eq!(exported(&place, "whole"), before);
    is_clean(&place, "whole");
}

/// A stream that was deleted for ever, on a host that lost its checkpoint as well: the row in the database,
/// which is restored with the leaves, makes the new place no writer.
#[tokio::test]
async fn after_a_tombstone_the_log_goes_on_and_a_lost_checkpoint_stays_lost() {
    let mut stores = Stores::start().await;
    let place = Place::new();
    filled(&place, &stores);
    let before = exported(&place, "ledger");
    stores.double.say("tombstone");
    let start = serve(&place, "ledger", &stores.words()).unwrap_err();
    assert!(start.stderr.contains("deleted for ever"), "{start:?}");
    fs::remove_dir_all(place.path("ledger-checkpoint")).unwrap();
    let done = moved(&place, "ledger", "whole", &["--from-database"]);
    let why = done["stream"]["why"].as_str().unwrap_or_default();
    assert!(why.contains("deleted for ever"), "{done}");
    assert_eq!(done["has_checkpoint"], false, "{done}");
    // All but the checkpoint, which an export has where its directory is found.
    let records = |export: &str| -> Vec<String> {
        let lines = export.lines().filter(|line| !line.starts_with("c "));
        lines.map(str::to_owned).collect()
    };
    assert_eq!(records(&exported(&place, "whole")), records(&before));
    let start = serve(&place, "whole", &[]).unwrap_err();
    assert!(start.stderr.contains("adopt-checkpoint"), "{start:?}");
    let adopt = ["ledger", "adopt-checkpoint"];
    let adopted: Value = place.over(&adopt, &["whole"]).ok().json();
    assert_eq!(adopted["size"], done["size"], "{adopted}");
    let server = serve(&place, "whole", &[]).unwrap();
    place.request(&server);
    server.stop();
}

/// Changes the last leaf of the database.
const LAST: &str = r#"
    SET search_path = ledger0;
    ALTER TABLE records DISABLE TRIGGER ALL;
    UPDATE records SET leaf = convert_to(regexp_replace(convert_from(leaf, 'UTF8'),
        '"recorded_at_ms":[0-9]+', '"recorded_at_ms":'
            || ((convert_from(leaf, 'UTF8')::jsonb ->> 'recorded_at_ms')::bigint + 1)), 'UTF8')
    WHERE position = (SELECT max(position) FROM records)"#;

/// Who gains: an administrator of the database who would have other records go on as the log, and damages
/// the stream so that somebody types the command.
#[tokio::test]
async fn changed_leaves_and_a_checkpoint_of_their_own_are_refused() {
    let mut stores = Stores::start().await;
    let place = Place::new();
    filled(&place, &stores);
    stores.scavenge(2);
    let from_database = ["--from-database"];

    // A signature that is none, where no file on the host is newer than the row.
    fs::rename(place.path("ledger-checkpoint"), place.path("kept")).unwrap();
    let kept = fs::read_to_string(place.path("kept/checkpoint")).unwrap();
    let forge = "SET search_path = ledger0;
        UPDATE checkpoint SET note = overlay(note PLACING 'AAAA' FROM length(note) - 8)";
    stores.node.run_sql(forge).await;
    let forged = refused(&place, "forged", &from_database);
    assert!(
        forged.stdout.contains("not signed by the key"),
        "{forged:?}"
    );
    let restore = format!("SET search_path = ledger0; UPDATE checkpoint SET note = '{kept}'");
    stores.node.run_sql(&restore).await;
    fs::rename(place.path("kept"), place.path("ledger-checkpoint")).unwrap();

    // Another last record, below the checkpoint.
    stores.node.run_sql(LAST).await;
    let changed = refused(&place, "changed", &from_database);
    assert!(
        changed.stdout.contains("Nothing may be moved"),
        "{changed:?}"
    );

    // The same without any checkpoint: the stream still has the true one.
    fs::remove_dir_all(place.path("ledger-checkpoint")).unwrap();
    let remove = "SET search_path = ledger0; DELETE FROM checkpoint";
    stores.node.run_sql(remove).await;
    let differs = refused(&place, "changed", &from_database);
    assert!(
        differs.stdout.contains("have different records"),
        "{differs:?}"
    );
}

/// A changed leaf of the database, beside a stream that is whole: the start is refused, doctor names it, and an
/// ordinary copy reads the stream, which the signed checkpoint fits.
#[tokio::test]
async fn a_stream_that_is_whole_is_copied_though_the_database_was_changed() {
    let stores = Stores::start().await;
    let place = Place::new();
    filled(&place, &stores);
    let before = exported(&place, "ledger");
    stores.node.run_sql(LAST).await;
    let start = serve(&place, "ledger", &stores.words()).unwrap_err();
    assert!(
        start
            .stderr
            .contains("`x811 log copy FROM TO` reads the stream"),
        "{start:?}"
    );
    let doctor = place.over(&["doctor"], &["ledger"]).json();
    let said = doctor["findings"].to_string();
    assert!(said.contains("is not the one of the stream"), "{doctor}");
    moved(&place, "ledger", "whole", &[]);
    assert_eq!(exported(&place, "whole"), before);
    is_clean(&place, "whole");
    is_closed(&place, "ledger", &stores.words());
}

/// A log that is in no stream has no database beside one.
#[test]
fn a_log_in_sqlite_is_not_read_from_a_database() {
    let (place, _) = Place::filled();
    let refused = refused(&place, "b", &["--from-database"]);
    assert!(
        refused.stdout.contains("leave --from-database out"),
        "{refused:?}"
    );
    assert!(!place.path("b").exists());
}
