//! `kill -9` again and again while clients send: messages, and whole interactions.
//!
//! A longer run: `X811_KILLS=300 cargo nextest run --profile full -p x811-tests --test program kill_9`.

use super::client::{Agent, get, ledger_did};
use super::dealing::Pair;
use super::dice::Dice;
use super::ledger::Place;
use super::talking::{Client, Heard, PAUSE, talk};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};
use tokio::sync::watch;
use tokio::task::JoinSet;
use x811_protocol::id::InteractionId;
use x811_tests::size::from_environment;

/// Kills in a usual run.
const KILLS: u64 = 15;

/// Clients that send messages.
const TALKERS: usize = 2;

/// Clients that carry interactions to their end.
const DEALERS: usize = 2;

/// The longest a ledger lives, in milliseconds.
const LIFE_MS: u64 = 250;

/// How often it is asked whether an interaction is completed.
const LOOKS: u64 = 200;

/// Every interaction that was paid for is completed, or about to be.
async fn assert_completed(url: &str, paid: &[InteractionId]) {
    for interaction in paid {
        let path = format!("/api/v1/interactions/{interaction}");
        let mut state = String::new();
        for _ in 0..LOOKS {
            let (status, shown) = get(url, &path).await.unwrap();
            assert_eq!(status, 200, "{interaction} is lost: {shown}");
            state = shown["state"].as_str().unwrap().to_owned();
            if state == "completed" {
                break;
            }
            tokio::time::sleep(PAUSE).await;
        }
        assert_eq!(state, "completed", "{interaction}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn reliability_kill_9_under_load_loses_nothing_that_was_acknowledged() {
    let kills = from_environment("X811_KILLS").unwrap_or(KILLS);
    let mut dice = Dice::roll("kill -9");
    let place = Place::new();
    let first = place.start();
    let ledger = ledger_did(&first.url).await.unwrap();
    let (whereabouts, at) = watch::channel(Some(first.url.clone()));
    let (ending, end) = watch::channel(false);
    let mut running = first;
    let mut all = Heard::default();
    let mut slowest_start_ms = 0;
    let counted = Arc::new(AtomicU64::new(0));
    let mut clients = JoinSet::new();
    let talkers = (0..TALKERS).map(|number| Client::Talker {
        agent: Box::new(Agent::new(&format!("client-{number}"))),
        is_registered: false,
    });
    let dealers =
        (0..DEALERS).map(|number| Client::Dealer(Box::new(Pair::new(&format!("pair-{number}")))));
    for client in talkers.chain(dealers) {
        clients.spawn(talk(
            counted.clone(),
            client,
            ledger,
            at.clone(),
            end.clone(),
        ));
    }
    let mut last_head = None;
    for kill in 0..kills {
        // Every second life has begun to answer; the others may end before.
        let before = counted.load(Ordering::Relaxed);
        while kill % 2 == 0 && counted.load(Ordering::Relaxed) < before + 5 {
            tokio::time::sleep(PAUSE).await;
        }
        tokio::time::sleep(Duration::from_millis(dice.below(LIFE_MS))).await;
        whereabouts.send_replace(None);
        running.kill();
        // The log must hold the head of the audit before.
        let report = place.clean(last_head.as_deref());
        last_head = report["head"].as_str().map(str::to_owned);
        let started = Instant::now();
        running = place.start();
        slowest_start_ms = started.elapsed().as_millis().max(slowest_start_ms);
        whereabouts.send_replace(Some(running.url.clone()));
    }
    ending.send_replace(true);
    while let Some(done) = clients.join_next().await {
        let heard = done.unwrap();
        all.acknowledged.extend(heard.acknowledged);
        all.paid.extend(heard.paid);
    }
    let found = all.acknowledged.assert_found(&running.url, || true).await;
    assert_completed(&running.url, &all.paid).await;
    assert!(running.stop().status.success());
    place.clean(all.acknowledged.head());
    println!(
        "{kills} kills, {found} acknowledged, {} interactions completed, 0 lost, slowest start \
         {slowest_start_ms} ms",
        all.paid.len()
    );
    assert!(found as u64 >= kills, "the ledger was hardly used: {found}");
    assert!(!all.paid.is_empty(), "no interaction came to its end");
}
