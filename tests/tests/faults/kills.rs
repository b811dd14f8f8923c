//! `kill -9` again and again while clients send.
//!
//! A longer run: `X811_KILLS=300 cargo nextest run -p x811-tests --test faults kill_9`.

use crate::client::{Acknowledged, Agent, Told, ledger_did, post};
use crate::dice::{Dice, number};
use crate::ledger::Place;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};
use tokio::sync::watch;
use tokio::task::JoinSet;
use x811_protocol::did::Did;

/// Kills in a usual run.
const KILLS: u64 = 50;
const CLIENTS: usize = 4;

/// The longest a ledger lives, in milliseconds.
const LIFE_MS: u64 = 250;

/// A pause of a client between two messages, so that audits stay short.
const PAUSE: Duration = Duration::from_millis(5);

/// Where the ledger is; `None` while it is down.
type Whereabouts = watch::Receiver<Option<String>>;

/// Sends message after message, each until it is acknowledged, whoever answers and however often
/// the ledger dies on the way.
async fn talk(
    counted: Arc<AtomicU64>,
    mut agent: Agent,
    ledger: Did,
    mut at: Whereabouts,
    end: watch::Receiver<bool>,
) -> Acknowledged {
    let mut acknowledged = Acknowledged::default();
    let mut due = agent.registration(ledger);
    while !*end.borrow() {
        let Ok(url) = at.wait_for(Option::is_some).await.map(|url| url.clone()) else {
            break;
        };
        match post(&url.unwrap_or_default(), &due).await {
            Told::Accepted(answer) => {
                acknowledged.note(&answer);
                counted.fetch_add(1, Ordering::Relaxed);
                due = agent.message(ledger, 100);
            }
            Told::Nothing => {}
            Told::Refused(status, body) => {
                let is_busy = matches!(status.as_u16(), 429 | 500 | 503);
                assert!(is_busy, "{status} {body}");
            }
        }
        tokio::time::sleep(PAUSE).await;
    }
    acknowledged
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn reliability_kill_9_under_load_loses_nothing_that_was_acknowledged() {
    let kills = number("X811_KILLS").unwrap_or(KILLS);
    let mut dice = Dice::roll("kill -9");
    let place = Place::new();
    let first = place.start();
    let ledger = ledger_did(&first.url).await.unwrap();
    let (whereabouts, at) = watch::channel(Some(first.url.clone()));
    let (ending, end) = watch::channel(false);
    let mut running = first;
    let mut all = Acknowledged::default();
    let mut slowest_start_ms = 0;
    let counted = Arc::new(AtomicU64::new(0));
    let mut clients = JoinSet::new();
    for client in 0..CLIENTS {
        let agent = Agent::new(&format!("client-{client}"));
        clients.spawn(talk(
            counted.clone(),
            agent,
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
        all.extend(done.unwrap());
    }
    let found = all.assert_found(&running.url, || true).await;
    assert!(running.stop().status.success());
    place.clean(all.head());
    println!("{kills} kills, {found} acknowledged, 0 lost, slowest start {slowest_start_ms} ms");
    assert!(found as u64 >= kills, "the ledger was hardly used: {found}");
}
