//! No fork can be signed: whatever lies where the last checkpoint should, the ledger signs only what
//! extends it, and `x811 doctor` says what is wrong before anybody starts it.

use super::client::{Agent, Told, ledger_did, post};
use super::ledger::Place;
use super::restored::{fork, restore, run};
use std::fs;
use std::path::PathBuf;
use x811_eventlog::{Checkpoint, Hash};
use x811_protocol::key::SecretKey;

impl Place {
    fn note(&self) -> PathBuf {
        self.checkpoint_dir.join("checkpoint")
    }

    /// The doctor finds nothing but this of the checkpoint, and tells a person so.
    #[track_caller]
    fn doctor_finds(&self, words: &[&str]) {
        let (code, report, told) = self.doctor();
        assert_eq!(code, Some(20), "{report}");
        let findings = report["findings"].as_array().unwrap();
        assert_eq!(findings.len(), 1, "{report}");
        assert_eq!(findings[0]["part"], "checkpoint", "{report}");
        let sentence = findings[0]["sentence"].as_str().unwrap();
        for word in words {
            assert!(sentence.contains(word), "no {word:?} in: {sentence}");
            assert!(told.contains(word), "no {word:?} in: {told}");
        }
        assert!(told.contains("the ledger does not start"), "{told}");
    }

    /// The doctor finds nothing; gives how many records the checkpoint covers, and how many there
    /// are.
    #[track_caller]
    fn doctor_is_content(&self) -> (u64, u64) {
        let (code, report, _) = self.doctor();
        assert_eq!(code, Some(0), "{report}");
        let covered = report["checkpoint"]["size"].as_u64().unwrap();
        (covered, report["records"].as_u64().unwrap())
    }
}

fn size_of(note: &str) -> u64 {
    Checkpoint::claimed(note).unwrap().size
}

#[tokio::test]
async fn reliability_a_rolled_back_database_is_explained() {
    let place = Place::new();
    let copy = place.folder.path().join("copy");
    run(&place).await;
    place.copy_data(&copy);
    let (covered, there) = place.doctor_is_content();
    assert_eq!(covered, there, "the end is signed");
    run(&place).await;
    let (signed, _) = place.doctor_is_content();
    restore(&place, &copy);
    let sizes = format!("ends after {there} records, but {signed} were acknowledged and signed");
    let explained = [&*sizes, "restored from an older copy", "Restore a copy"];
    place.doctor_finds(&explained);
    place.refused(&explained);
}

#[tokio::test]
async fn reliability_another_history_is_explained() {
    let place = Place::new();
    let copy = fork(&place).await;
    restore(&place, &copy.data_dir);
    let explained = [
        "are not those that a checkpoint was signed for",
        "the log was forked",
    ];
    place.doctor_finds(&explained);
    place.refused(&explained);
}

/// A log that is ahead of what was signed extends it, and that is all it does.
#[tokio::test]
async fn reliability_a_log_that_is_ahead_is_signed_on() {
    let place = Place::new();
    run(&place).await;
    let older = fs::read_to_string(place.note()).unwrap();
    run(&place).await;
    fs::write(place.note(), &older).unwrap();
    let (covered, there) = place.doctor_is_content();
    assert_eq!(covered, size_of(&older));
    assert!(there > covered, "{there} records");
    run(&place).await;
    let (covered, there) = place.doctor_is_content();
    assert_eq!(covered, there);
}

/// Two ledgers on two copies of one directory, whose checkpoints are to lie in one place.
#[tokio::test]
async fn reliability_of_two_that_sign_in_one_place_the_second_is_stopped() {
    let first = Place::new();
    run(&first).await;
    let mut second = Place::new();
    first.copy_data(&second.data_dir);
    let private = second.checkpoint_dir.clone();
    fs::create_dir(&private).unwrap();
    fs::copy(first.note(), private.join("checkpoint")).unwrap();
    let (one, mut two) = (first.start(), second.start());

    // From here on both sign in the place of the first.
    fs::rename(&private, second.folder.path().join("away")).unwrap();
    std::os::unix::fs::symlink(&first.checkpoint_dir, &private).unwrap();
    // It may be stopped by what it signs of its start, before anybody says a word.
    if let Some(did) = ledger_did(&two.url).await {
        let _ = post(&two.url, &Agent::new("bert").registration(did)).await;
    }
    let ended = two.ended();
    assert_eq!(ended.status.code(), Some(4), "{}", ended.said);
    assert!(
        ended
            .said
            .contains("another process signs for the same log"),
        "{}",
        ended.said
    );

    // The first goes on, and the second finds no way back.
    let did = ledger_did(&one.url).await.unwrap();
    let Told::Accepted(_) = post(&one.url, &Agent::new("anna").registration(did)).await else {
        panic!("the first is unharmed");
    };
    assert!(one.stop().status.success());
    first.doctor_is_content();
    first.clean(None);
    second.checkpoint_dir = first.checkpoint_dir.clone();
    // Which of the two histories is longer depends on when the second was stopped: either it lacks
    // what was signed, or it has something else there.
    let explained = ["signed"];
    second.doctor_finds(&explained);
    second.refused(&explained);
}

#[tokio::test]
async fn reliability_a_forged_checkpoint_is_explained() {
    let place = Place::new();
    run(&place).await;
    let good = fs::read_to_string(place.note()).unwrap();
    let claimed = Checkpoint::claimed(&good).unwrap();
    let stranger = SecretKey::from_seed([9; 32]);
    let sign = |message: &[u8]| *stranger.sign(message).as_bytes();
    let by_stranger = |checkpoint: Checkpoint| {
        checkpoint
            .sign(*stranger.public().as_bytes(), sign)
            .unwrap()
    };
    let table = [
        // True, but not by the ledger: whoever wrote it might have written anything.
        (
            by_stranger(claimed.clone()),
            "is not signed by the key that signs there",
        ),
        (
            by_stranger(Checkpoint {
                size: claimed.size + 1_000,
                ..claimed.clone()
            }),
            "is not signed by the key that signs there",
        ),
        (
            by_stranger(Checkpoint {
                size: 1,
                root: Hash::ZERO,
                ..claimed.clone()
            }),
            "is not signed by the key that signs there",
        ),
        // The ledger's own signature under other words.
        (
            good.replacen(&format!("\n{}\n", claimed.size), "\n1\n", 1),
            "is not signed by the key that signs there",
        ),
        (
            by_stranger(Checkpoint {
                origin: "ledger.example/other".to_owned(),
                ..claimed
            }),
            "is of the log ledger.example/other",
        ),
        ("anything".to_owned(), "it is no checkpoint"),
        (String::new(), "it is no checkpoint"),
    ];
    for (forged, words) in table {
        fs::write(place.note(), &forged).unwrap();
        place.doctor_finds(&[words]);
        place.refused(&["is no checkpoint by the keys"]);
        assert_eq!(
            fs::read_to_string(place.note()).unwrap(),
            forged,
            "kept as it was"
        );
    }
    fs::write(place.note(), good).unwrap();
    place.doctor_is_content();
    run(&place).await;
}

/// No checkpoint at all, or none that can be read.
#[tokio::test]
async fn reliability_a_checkpoint_that_is_not_there_is_explained() {
    let place = Place::new();
    run(&place).await;
    let good = fs::read(place.note()).unwrap();
    fs::remove_file(place.note()).unwrap();
    let (_, report, _) = place.doctor();
    let records = report["records"].as_u64().unwrap();
    place.doctor_finds(&[
        "there is none",
        &format!("though the log has {records} records"),
        "the ledger does not start",
    ]);

    fs::create_dir(place.note()).unwrap();
    place.doctor_finds(&["the checkpoint could not be read", "Is its disk mounted"]);
    place.refused(&["the checkpoint could not be read or stored"]);
    fs::remove_dir(place.note()).unwrap();
    fs::write(place.note(), good).unwrap();
    place.doctor_is_content();

    // Where nobody says where it is kept.
    let elsewhere = Place::new();
    place.copy_data(&elsewhere.data_dir);
    let data_dir = elsewhere.data_dir.to_str().unwrap();
    let report = x811_tests::binary::run(&["doctor", data_dir]);
    assert_eq!(report.code, Some(20), "{report:?}");
    assert!(report.stdout.contains("--checkpoint-dir"), "{report:?}");
}
