//! The cell of the kill matrix in which the database is restored from an hour ago (docs/scale.md): neither
//! of the two processes goes on, together or alone, and behind it there is only a ledger of a new origin.
//!
//! Who gains: an operator who would rather go on than tell anybody what was lost. They hold all keys.

use super::client::{Acknowledged, Agent, Told, ledger_did, post};
use super::cluster::Servers;
use super::hosts::{Host, both, hosts};
use super::ledger::Place;
use super::takeovers::Scene;
use serde_json::Value;
use std::path::Path;
use x811_tests::binary::run;

/// The database as it was, by its own name, and two hosts that have acknowledged more than is in it.
async fn an_hour_ago() -> (Servers, [Host; 2]) {
    let mut scene = Scene::set([&[], &[]]).await;
    scene.serve(10).await;
    let copy = scene.servers.primary.copy();
    scene.serve(20).await;
    let (_, mut hosts, mut servers) = scene.look_back().await;
    servers.restore(copy).await;
    for number in 0..2 {
        let (url, peer) = (&servers.url, hosts[1 - number].url());
        let words = ["--store-url", url, "--store-wait", "--store-peer", &peer];
        hosts[number].place.options = words.map(ToOwned::to_owned).to_vec();
    }
    (servers, hosts)
}

/// It listens at once, and ends once it would have to go on from what is there.
fn ends(host: &Host, words: &str) {
    let ended = match host.place.try_start() {
        Ok(mut ledger) => ledger.ended(),
        Err(ended) => ended,
    };
    assert_eq!(ended.status.code(), Some(4), "{}", ended.said);
    assert!(ended.said.contains(words), "{}", ended.said);
}

/// `x811 ledger reopen`, which closes the old log in its database, too.
fn reopened(old: &Place, new: &Path) -> Value {
    let [from, to, checkpoint] =
        [&old.data_dir, new, &old.checkpoint_dir].map(|path| path.to_str().unwrap());
    let words = ["--json", "ledger", "reopen", from, to];
    let made = run(&[&words[..], &["--checkpoint-dir", checkpoint]].concat());
    made.ok().json()
}

/// Some messages by way of the process that stands by.
async fn serves(hosts: &[Host; 2]) -> Acknowledged {
    let url = hosts[1].url();
    let did = ledger_did(&url).await.unwrap();
    let mut agent = Agent::new("anna");
    let mut acknowledged = Acknowledged::default();
    let mut due = agent.registration(did);
    for _ in 0..5 {
        let told = post(&url, &due).await;
        let Told::Accepted(answer) = told else {
            panic!("{told:?}");
        };
        acknowledged.note(&answer);
        due = agent.message(did, 100);
    }
    acknowledged
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn reliability_behind_a_restored_database_both_hosts_stop_and_a_new_origin_is_clean() {
    let (servers, hosts_before) = an_hour_ago().await;
    let lost = "acknowledged and signed";
    std::thread::scope(|both| {
        for host in &hosts_before {
            both.spawn(move || ends(host, lost));
        }
    });
    for host in &hosts_before {
        ends(host, lost);
    }

    let [first, second] = &hosts_before;
    let new_dir = first.place.folder.path().join("new");
    let made = reopened(&first.place, &new_dir);
    assert_eq!(made["not_closed"], Value::Null, "{made}");
    // The other host knows nothing of it: the database is closed.
    ends(second, "moved");

    servers.primary.run_sql("CREATE SCHEMA reopened").await;
    let mut hosts = hosts(&servers.url.replace("ledger0", "reopened"), &[]);
    hosts[0].place.checkpoint_dir = new_dir.with_file_name("new-checkpoint");
    hosts[0].place.data_dir = new_dir;
    both(&mut hosts).await;
    let acknowledged = serves(&hosts).await;
    let export = hosts[0].place.folder.path().join("log.jsonl");
    // Each of them writes once.
    for host in &mut hosts {
        host.becomes("writer").await;
        let ledger = host.ledger.take().unwrap();
        assert!(ledger.stop().status.success());
    }
    for host in &hosts {
        host.place.clean(acknowledged.head());
    }
    let place = &hosts[0].place;
    let [data_dir, checkpoint, to] =
        [&place.data_dir, &place.checkpoint_dir, &export].map(|path| path.to_str().unwrap());
    let words = [
        "export",
        data_dir,
        "--checkpoint-dir",
        checkpoint,
        "--output",
        to,
    ];
    let _ = run(&words).ok();
    let said = std::fs::read_to_string(export).unwrap();
    let (continues, origin) = (&made["continues"], &made["origin"]);
    assert_ne!(&continues["origin"], origin, "{made}");
    let begins = format!("\"continues\":{{\"origin\":{}", continues["origin"]);
    assert!(said.contains(&begins), "{said:.2000}");
    assert!(said.contains(origin.as_str().unwrap()), "{said:.2000}");
}
