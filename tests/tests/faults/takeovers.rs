//! Two ledger processes over three PostgreSQL servers: one writes, the other one waits and takes over
//! when the first one dies, or sleeps past its lease; and a standby that dies takes nothing along.
//!
//! A longer run: `X811_TAKEOVERS=20 cargo nextest run -p x811-tests --test faults take_over`.

use crate::client::{Agent, ledger_did};
use crate::dealing::Pair;
use crate::dice::{Dice, number};
use crate::ledger::{Ended, Ledger, Place};
use crate::talking::{Client, Heard, PAUSE, talk};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};
use tokio::sync::watch;
use tokio::task::{JoinHandle, JoinSet, spawn_blocking};
use x811_tests::postgres::Node;

/// Rounds of each fault in a usual run.
const ROUNDS: u64 = 2;

/// The longest that clients are served between two faults, in milliseconds.
const LIFE_MS: u64 = 500;

/// What a take-over may take. The lease is 3 s; a machine that runs other tests meanwhile is slow.
const TAKE_OVER: Duration = Duration::from_secs(15);

/// A primary that waits for one of two standbys.
struct Servers {
    /// Lives as long as the standbys.
    _primary: Node,
    standbys: [Node; 2],
    url: String,
}

async fn servers() -> Servers {
    let primary = Node::start(&["wal_level=replica", "max_wal_senders=6"]).await;
    let standbys = [primary.standby("s2").await, primary.standby("s3").await];
    let url = primary.url().await;
    let names = "ALTER SYSTEM SET synchronous_standby_names = 'ANY 1 (s2, s3)'";
    primary.run_sql(names).await;
    primary.run_sql("SELECT pg_reload_conf()").await;
    tokio::time::sleep(Duration::from_secs(1)).await;
    Servers {
        _primary: primary,
        standbys,
        url,
    }
}

/// A host with a ledger of its own directory, over the same database.
fn host(url: &str) -> Place {
    let words = [
        "--store-url",
        url,
        "--store-quorum",
        "1",
        "--store-standby",
        "s2,s3",
        "--store-wait",
    ];
    Place {
        options: words.map(str::to_owned).to_vec(),
        ..Place::new()
    }
}

/// The operator gives the second host the keys of the first one.
fn give_keys(from: &Place, to: &Place) {
    let [from, to] = [from, to].map(|place| place.data_dir.to_str().unwrap());
    let copied = format!("mkdir -m 700 {to} && cp -a {from}/keys {to}/");
    assert!(
        Command::new("sh")
            .args(["-c", &copied])
            .status()
            .unwrap()
            .success()
    );
}

fn signal(name: &str, ledger: &Ledger) {
    let id = ledger.id().to_string();
    let sent = Command::new("kill").args(["-s", name, &id]).status();
    assert!(sent.unwrap().success());
}

/// Both processes.
struct Hosts {
    /// Who writes.
    writing: (Arc<Place>, Ledger),
    /// Who waits: it says where it listens once it writes.
    waiting: (Arc<Place>, JoinHandle<Result<Ledger, Ended>>),
    whereabouts: watch::Sender<Option<String>>,
    counted: Arc<AtomicU64>,
}

fn wait_on(place: &Arc<Place>) -> JoinHandle<Result<Ledger, Ended>> {
    let place = place.clone();
    spawn_blocking(move || place.try_start())
}

impl Hosts {
    /// Until clients were acknowledged some more.
    async fn serve(&mut self, more: u64) {
        let due = self.counted.load(Ordering::Relaxed) + more;
        while self.counted.load(Ordering::Relaxed) < due {
            let writer = &mut self.writing.1;
            assert!(writer.is_running(), "{}", writer.said());
            tokio::time::sleep(PAUSE).await;
        }
    }

    /// The writer does not write any more, by `fault`; gives what it took until the other one did: to
    /// its next acknowledgement after a kill, to its start where the first one sleeps.
    async fn take_over(mut self, fault: &str) -> (Hosts, Duration) {
        let (old_place, mut old) = self.writing;
        let (new_place, waiting) = self.waiting;
        let begun = Instant::now();
        signal(fault, &old);
        if fault == "KILL" {
            old.ended();
        }
        self.whereabouts.send_replace(None);
        let new = waiting.await.unwrap();
        let mut new = new.unwrap_or_else(|ended| panic!("it takes over: {ended:?}"));
        let before = self.counted.load(Ordering::Relaxed);
        self.whereabouts.send_replace(Some(new.url.clone()));
        // Whoever asked the one that sleeps waits for that one, not for the take-over.
        let mut took = begun.elapsed();
        if fault == "STOP" {
            // It slept past its lease: it writes nothing any more, says so and ends.
            signal("CONT", &old);
            let ended = spawn_blocking(move || old.ended()).await.unwrap();
            assert!(!ended.status.success(), "{}", ended.said);
            assert!(ended.said.contains("another"), "{}", ended.said);
        }
        while self.counted.load(Ordering::Relaxed) == before {
            assert!(new.is_running(), "{}", new.said());
            tokio::time::sleep(PAUSE).await;
        }
        if fault == "KILL" {
            took = begun.elapsed();
        }
        self.writing = (new_place, new);
        self.waiting = (old_place.clone(), wait_on(&old_place));
        (self, took)
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn reliability_a_take_over_loses_nothing_that_was_acknowledged_and_forks_nothing() {
    let rounds = number("X811_TAKEOVERS").unwrap_or(ROUNDS);
    let mut dice = Dice::roll("take-over");
    let mut servers = servers().await;
    let [first, second] = [host(&servers.url), host(&servers.url)].map(Arc::new);
    let writing = first.start();
    give_keys(&first, &second);
    let ledger = ledger_did(&writing.url).await.unwrap();
    let (whereabouts, at) = watch::channel(Some(writing.url.clone()));
    let (ending, end) = watch::channel(false);
    let counted = Arc::new(AtomicU64::new(0));
    let mut clients = JoinSet::new();
    let talker = Client::Talker {
        agent: Box::new(Agent::new("client")),
        is_registered: false,
    };
    for client in [talker, Client::Dealer(Box::new(Pair::new("pair")))] {
        let (counted, at, end) = (counted.clone(), at.clone(), end.clone());
        clients.spawn(talk(counted, client, ledger, at, end));
    }
    let waiting = (second.clone(), wait_on(&second));
    let mut hosts = Hosts {
        writing: (first.clone(), writing),
        waiting,
        whereabouts,
        counted,
    };
    let mut slowest = Duration::ZERO;
    for round in 0..rounds {
        for fault in ["KILL", "STOP"] {
            hosts.serve(5).await;
            tokio::time::sleep(Duration::from_millis(dice.below(LIFE_MS))).await;
            let took;
            (hosts, took) = hosts.take_over(fault).await;
            println!("round {round}, {fault}: {} ms", took.as_millis());
            assert!(took < TAKE_OVER, "{fault}: {took:?}");
            slowest = slowest.max(took);
        }
        // One standby is enough, whichever it is.
        let standby = &mut servers.standbys[usize::try_from(round % 2).unwrap()];
        standby.kill();
        hosts.serve(5).await;
        standby.run(&[]).await;
        hosts.serve(5).await;
    }
    ending.send_replace(true);
    let mut all = Heard::default();
    while let Some(done) = clients.join_next().await {
        let heard = done.unwrap();
        all.acknowledged.extend(heard.acknowledged);
    }
    let (last, writer) = hosts.writing;
    let found = all.acknowledged.assert_found(&writer.url, || true).await;
    // An orderly stop lets go of the lease, and the other one goes on.
    assert!(writer.stop().status.success());
    let next = hosts.waiting.1.await.unwrap().unwrap();
    assert!(next.stop().status.success());
    last.clean(all.acknowledged.head());
    for place in [&first, &second] {
        let (code, report, told) = place.doctor();
        assert_eq!(code, Some(0), "{report} {told}");
    }
    println!(
        "{} take-overs, {found} acknowledged, 0 lost, slowest {} ms",
        rounds * 2,
        slowest.as_millis()
    );
}
