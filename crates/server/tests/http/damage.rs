//! What is stored is compared with its hash before it is given out: damage is refused and counted.

use crate::world::World;
use serde_json::{Value, json};
use std::path::Path;
use x811_server::ServerConfig;

/// Flips a bit in `ledger.db` so many bytes behind `text`, at that place of those where it stands; they
/// count from the end, as SQLite fills its pages.
fn flip(data_dir: &Path, text: &str, place: usize, behind: usize) {
    let file = data_dir.join("ledger.db");
    let mut bytes = std::fs::read(&file).unwrap();
    let places = bytes.windows(text.len()).enumerate();
    let places: Vec<usize> = places
        .filter(|(_, window)| *window == text.as_bytes())
        .map(|(at, _)| at + text.len() + behind)
        .collect();
    let at = places.iter().rev().nth(place);
    bytes[*at.unwrap_or_else(|| panic!("{text} is nowhere"))] ^= 1;
    std::fs::write(&file, bytes).unwrap();
}

/// A ledger with a message from one agent to another, changed while it was down; then the ways to
/// read the message.
async fn changed(change: impl FnOnce(&Path)) -> (World, [String; 2]) {
    let with_metrics = |config: &mut ServerConfig| {
        config.metrics_listen = Some("127.0.0.1:0".parse().unwrap());
    };
    let world = World::start_with(with_metrics).await;
    let (ada, bert) = (world.agent().await, world.agent().await);
    let payload = json!({ "text": "echo" });
    let sent = ada.say(&world, bert.did, "x811.test/ping", payload);
    world.accept(&sent).await;
    // A start reads the last record, and the snapshot that ends with it.
    for _ in 0..2 {
        let later = ada.say(&world, bert.did, "x811.test/ping", json!({}));
        world.accept(&later).await;
    }
    let envelope: Value = serde_json::from_slice(&sent.json).unwrap();
    let by_id = format!(
        "/api/v1/messages/by-id/{}",
        envelope["id"].as_str().unwrap()
    );
    let inbox = format!("/api/v1/messages/{}", bert.uuid());
    for path in [&by_id, &inbox] {
        world.get(path).await.expect(200);
    }
    let change = async |data_dir: &Path| change(data_dir);
    let world = world.restart_with(0, change, with_metrics).await;
    (world, [by_id, inbox])
}

async fn damaged_reads(world: &World) -> String {
    let address = world.running.metrics_addr.unwrap();
    let metrics = world.http.get(format!("http://{address}/metrics"));
    let text = metrics.send().await.unwrap().text().await.unwrap();
    let line = text
        .lines()
        .find(|line| line.starts_with("x811_damaged_reads_total"));
    line.unwrap_or_else(|| panic!("not counted: {text}"))
        .to_owned()
}

/// Waits until the check of the log is over.
async fn checked(world: &World) -> Value {
    loop {
        let ready = world.get("/ready").await.json();
        if ready["log_check"]["state"] != "running" {
            return ready;
        }
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn rest_5_the_log_is_checked_after_a_start_and_ready_says_how_far() {
    let (world, _) = changed(|_| {}).await;
    let ready = checked(&world).await;
    assert_eq!(ready["log_check"]["state"], "sound", "{ready}");
    let checked = ready["log_check"]["checked"].as_u64().unwrap();
    assert!(
        checked >= ready["log_check"]["of"].as_u64().unwrap(),
        "{ready}"
    );
    assert!(checked >= 4, "{ready}");
}

#[tokio::test]
async fn rest_6_damage_that_nobody_asked_for_is_found_after_a_start() {
    let (world, _) = changed(|data_dir| flip(data_dir, "\"text\":\"ech", 0, 0)).await;
    let ready = checked(&world).await;
    assert_eq!(ready["log_check"]["state"], "damaged", "{ready}");
    let attention = ready["attention"].to_string();
    assert!(attention.contains("the body at position"), "{attention}");
    assert!(attention.contains("x811 doctor"), "{attention}");
}

async fn refuses_all(change: impl FnOnce(&Path)) {
    let (world, paths) = changed(change).await;
    for path in &paths {
        world.get(path).await.refused(500, "X811-9002");
    }
    assert_eq!(damaged_reads(&world).await, "x811_damaged_reads_total 2");
}

#[tokio::test]
async fn rest_1_a_body_that_changed_is_never_served() {
    refuses_all(|data_dir| flip(data_dir, "\"text\":\"ech", 0, 0)).await;
}

#[tokio::test]
async fn rest_2_a_record_that_changed_is_never_served() {
    // Two registrations come before it. The second digit is one before and after.
    refuses_all(|data_dir| flip(data_dir, "\"size\":", 2, 1)).await;
}
