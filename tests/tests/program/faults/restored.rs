//! A data directory restored from an older copy: it looks whole, and only the checkpoint, which
//! lies elsewhere, tells that records are missing.

use super::client::{Acknowledged, Agent, Told, ledger_did, post};
use super::ledger::Place;

/// A run with a few messages, ended in order: its last record is signed.
pub(crate) async fn run(place: &Place) -> Acknowledged {
    let ledger = place.start();
    let did = ledger_did(&ledger.url).await.unwrap();
    let mut agent = Agent::new("anna");
    let mut acknowledged = Acknowledged::default();
    let mut due = agent.registration(did);
    for _ in 0..3 {
        let told = post(&ledger.url, &due).await;
        let Told::Accepted(answer) = told else {
            panic!("{told:?}");
        };
        acknowledged.note(&answer);
        due = agent.message(did, 100);
    }
    assert!(ledger.stop().status.success());
    acknowledged
}

/// Puts a copy of the data directory in its place.
pub(crate) fn restore(place: &Place, copy: &std::path::Path) {
    std::fs::remove_dir_all(&place.data_dir).unwrap();
    let copied = std::process::Command::new("cp")
        .arg("-a")
        .args([copy, place.data_dir.as_path()])
        .status()
        .unwrap();
    assert!(copied.success());
}

/// A copy of the data directory and its checkpoint that goes on elsewhere, further than the original: that
/// it is one cannot be detected.
pub(crate) async fn fork(place: &Place) -> Place {
    run(place).await;
    let copy = place.copied();
    run(place).await;
    for _ in 0..2 {
        run(&copy).await;
    }
    copy
}

#[tokio::test]
async fn incident_restored_backup_is_refused_until_a_newer_one_is_there_trustasia() {
    let place = Place::new();
    let copies = ["old", "new"].map(|name| place.folder.path().join(name));
    run(&place).await;
    place.copy_data(&copies[0]);
    let acknowledged = run(&place).await;
    place.copy_data(&copies[1]);

    restore(&place, &copies[0]);
    for _ in 0..2 {
        place.refused(&[
            "the log ends after",
            "were acknowledged and signed",
            "Restore a copy",
        ]);
    }
    // By itself the old copy is clean: nothing in it could tell.
    place.clean(None);

    restore(&place, &copies[1]);
    let ledger = place.start();
    acknowledged.assert_found(&ledger.url, || true).await;
    assert!(ledger.stop().status.success());
    place.clean(acknowledged.head());
}

#[tokio::test]
async fn incident_restored_backup_signs_a_fork_venafi() {
    let place = Place::new();
    let copy = fork(&place).await;
    restore(&place, &copy.data_dir);
    place.refused(&["forked", "are not those that a checkpoint was signed for"]);
}

#[tokio::test]
async fn a_mistyped_directory_says_that_it_opened_a_new_ledger() {
    let mut place = Place::new();
    let said = place.start().stop().said;
    assert!(said.contains("no ledger was here: a NEW one"), "{said}");
    assert!(said.contains("this is a NEW ledger"), "{said}");
    let said = place.start().stop().said;
    assert!(!said.contains("NEW"), "the second start: {said}");

    place.data_dir = place.folder.path().join("dtaa");
    place.checkpoint_dir = place.folder.path().join("dtaa-checkpoint");
    let said = place.start().stop().said;
    assert!(said.contains("this is a NEW ledger"), "{said}");
}

#[tokio::test]
async fn incident_a_ledger_without_its_disk_is_refused() {
    let place = Place::new();
    run(&place).await;
    // The disk is not mounted: an empty directory is there.
    let away = place.folder.path().join("away");
    std::fs::rename(&place.data_dir, &away).unwrap();
    place.refused(&["is the checkpoint of a ledger", "is its disk mounted?"]);
    std::fs::remove_dir_all(&place.data_dir).unwrap();
    std::fs::rename(&away, &place.data_dir).unwrap();
    run(&place).await;
}

#[tokio::test]
async fn reliability_a_checkpoint_that_is_lost_or_was_changed_is_refused() {
    let place = Place::new();
    run(&place).await;
    let file = place.checkpoint_dir.join("checkpoint");
    let note = std::fs::read_to_string(&file).unwrap();
    assert!(note.starts_with("x811/"), "{note}");

    std::fs::remove_file(&file).unwrap();
    place.refused(&["the last signed checkpoint is not in"]);

    for changed in [
        note.replacen("\n\n", "0\n\n", 1),
        String::new(),
        note[..40].to_owned(),
    ] {
        std::fs::write(&file, changed).unwrap();
        place.refused(&["is no checkpoint by the keys", "move the file away"]);
    }
    std::fs::write(&file, note).unwrap();
    run(&place).await;
}
