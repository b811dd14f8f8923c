//! A second process over a copy of a log, and a ledger whose last checkpoint is lost (stores.md section 2).
//!
//! Who gains: nobody; a tired operator does it. They hold all keys, so nothing but the place of the
//! checkpoint tells the copy from the original.

use super::client::{Agent, Told, ledger_did, post};
use super::dice::Dice;
use super::ledger::{Ledger, Place};
use super::restored;
use super::takeovers::Scene;
use std::time::Duration;
use x811_tests::binary::run;
use x811_tests::size::from_environment;

/// First starts that are killed in a usual run.
const KILLS: u64 = 10;

/// Milliseconds within which a first start is killed.
const FIRST_MS: u64 = 300;

/// What a start without its checkpoint says.
const LOST: [&str; 3] = [
    "the last signed checkpoint is not in",
    "x811 ledger adopt-checkpoint",
    "--lost-checkpoint",
];

/// The same place with another checkpoint directory, which is not there.
fn with_checkpoint_dir(place: Place, name: &str) -> Place {
    let checkpoint_dir = place.folder.path().join(name);
    Place {
        checkpoint_dir,
        ..place
    }
}

/// A process that would stand by listens before it is refused.
fn refused(place: &Place) {
    let ended = match place.try_start() {
        Ok(mut ledger) => ledger.ended(),
        Err(ended) => ended,
    };
    assert!(ended.said.contains(LOST[0]), "{}", ended.said);
}

fn adopt(place: &Place) -> x811_tests::binary::Finished {
    let [data, checkpoint] =
        [&place.data_dir, &place.checkpoint_dir].map(|it| it.to_str().unwrap());
    let words = ["--json", "ledger", "adopt-checkpoint", data];
    run(&[&words[..], &["--checkpoint-dir", checkpoint]].concat())
}

/// One more message, acknowledged.
async fn sends(ledger: &Ledger, name: &str) {
    let did = ledger_did(&ledger.url).await.unwrap();
    let told = post(&ledger.url, &Agent::new(name).registration(did)).await;
    assert!(matches!(told, Told::Accepted(_)), "{told:?}");
}

#[tokio::test]
async fn reliability_a_copy_beside_the_running_ledger_is_no_second_writer() {
    let place = Place::new();
    restored::run(&place).await;
    let ledger = place.start();
    sends(&ledger, "bert").await;
    // `cp -r` of the data directory, as a ledger that idles leaves it.
    with_checkpoint_dir(place.copied(), "none").refused(&LOST);
    let same = Place {
        checkpoint_dir: place.checkpoint_dir.clone(),
        ..place.copied()
    };
    same.refused(&["another process keeps its checkpoint"]);
    sends(&ledger, "carl").await;
    assert!(ledger.stop().status.success());
}

/// The disk is lost with the checkpoint, or the log with everything but the keys.
#[tokio::test]
async fn reliability_a_backup_without_its_checkpoint_does_not_start() {
    let place = Place::new();
    restored::run(&place).await;
    let copy = with_checkpoint_dir(place.copied(), "lost");
    copy.refused(&LOST);
    let (code, _, told) = copy.doctor();
    assert_eq!(code, Some(20), "{told}");
    assert!(told.contains("the ledger does not start"), "{told}");
    for file in ["ledger.db", "ledger.db-wal", "ledger.db-shm", "read.db"] {
        let _ = std::fs::remove_file(copy.data_dir.join(file));
    }
    copy.refused(&["has the keys of a ledger and no log"]);
    assert!(!copy.data_dir.join("ledger.db").exists());
}

#[tokio::test]
async fn reliability_a_first_start_that_is_killed_at_any_moment_is_followed_by_another() {
    let mut dice = Dice::roll("first starts");
    for _ in 0..from_environment("X811_KILLS").unwrap_or(KILLS) {
        let place = Place::new();
        let mut process = place.spawn();
        tokio::time::sleep(Duration::from_millis(dice.below(FIRST_MS))).await;
        process.kill().unwrap();
        process.wait().unwrap();
        let ledger = place.start();
        sends(&ledger, "anna").await;
        assert!(ledger.stop().status.success());
    }
}

#[tokio::test]
async fn reliability_an_adopted_checkpoint_is_recorded_once_and_audits_say_so() {
    let place = Place::new();
    restored::run(&place).await;
    let there = adopt(&place);
    assert_eq!(there.code, Some(4), "{there:?}");
    std::fs::remove_dir_all(&place.checkpoint_dir).unwrap();
    place.refused(&LOST);

    let adopted = adopt(&place).ok().json();
    for _ in 0..2 {
        let ledger = place.start();
        let running = adopt(&place);
        assert_eq!(running.code, Some(4), "{running:?}");
        assert!(ledger.stop().status.success());
    }
    let [data, checkpoint] =
        [&place.data_dir, &place.checkpoint_dir].map(|it| it.to_str().unwrap());
    let audit = run(&["--json", "audit", data, "--checkpoint-dir", checkpoint]);
    assert_eq!(audit.code, Some(21), "{audit:?}");
    let report = audit.json();
    let remarks = report["remarks"].to_string();
    let said = remarks.matches("the operator went on without it").count();
    assert_eq!(said, 1, "{report}");
    assert!(remarks.contains(&adopted["size"].to_string()), "{remarks}");
}

/// A host of the cluster without its file: alone it is refused, beside the one that writes it follows,
/// takes its checkpoint from there, and can take over.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn reliability_a_host_without_its_checkpoint_takes_one_from_a_living_writer() {
    let mut scene = Scene::set([&[], &[]]).await;
    scene.serve(5).await;
    let (_, mut hosts, _servers) = scene.look_back().await;
    let checkpoint_dir = hosts[0].place.checkpoint_dir.clone();
    let away = checkpoint_dir.with_file_name("away");
    std::fs::rename(&hosts[1].place.checkpoint_dir, &away).unwrap();
    std::fs::remove_dir_all(&checkpoint_dir).unwrap();
    // A supervisor starts both again and again: neither takes the other for a writer.
    std::thread::scope(|both| {
        for host in &hosts {
            both.spawn(move || (0..2).for_each(|_| refused(&host.place)));
        }
    });
    std::fs::remove_dir_all(&hosts[1].place.checkpoint_dir).unwrap();
    std::fs::rename(&away, &hosts[1].place.checkpoint_dir).unwrap();
    hosts[1].start();
    hosts[1].becomes("writer").await;
    hosts[0].start();
    hosts[0].becomes("standby").await;
    let file = checkpoint_dir.join("checkpoint");
    while !file.exists() {
        hosts[0].runs();
        tokio::task::yield_now().await;
    }
    hosts[1].kill();
    hosts[0].becomes("writer").await;
}
