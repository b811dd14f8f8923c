//! The kill matrix of several processes (docs/scale.md): two ledger processes over three PostgreSQL
//! servers, under load by clients that remember what they were told. One writes, the other one stands
//! by; one fault after the other hits either of them, or one of the servers.
//!
//! After all of it: what was acknowledged is in the log, which is one chain, no two checkpoints
//! contradict each other, and the audit is clean. A cancelled wait, names emptied and put back, and the
//! standby that lagged are in `crates/store`; a database restored from an older copy is in
//! `lost_tail.rs`.
//!
//! A longer run: `X811_TAKEOVERS=20 cargo nextest run --profile full -p x811-tests --test program take_over`.

use super::client::{Agent, ledger_did};
use super::cluster::Servers;
use super::dealing::Pair;
use super::dice::Dice;
use super::hosts::{Host, both, hosts};
use super::talking::{Client, Heard, PAUSE, talk};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};
use tokio::sync::watch;
use tokio::task::JoinSet;
use x811_tests::size::from_environment;

/// Rounds of each fault in a usual run.
const ROUNDS: u64 = 1;

/// The longest that clients are served between two faults, in milliseconds.
const LIFE_MS: u64 = 500;

/// What a take-over may take. The lease is 3 s; a machine that runs other tests meanwhile is slow.
const TAKE_OVER: Duration = Duration::from_secs(30);

/// Longer than a lease, and than what was published last counts.
const SLEEP: Duration = Duration::from_millis(4_500);

/// How long servers are cut off from each other: shorter than a commit waits.
const CUT: Duration = Duration::from_secs(3);

const QUORUM: [&str; 4] = ["--store-quorum", "1", "--store-standby", "s2,s3"];

/// What can happen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fault {
    /// The process that writes is killed.
    WriterKilled,
    /// It sleeps past its lease, and wakes.
    WriterSleeps,
    /// The process that stands by sleeps, and wakes.
    StandbySleeps,
    /// It is killed.
    StandbyKilled,
    /// The database's primary dies, and the right one of its standbys is promoted.
    PrimaryKilled,
    /// One of the database's standbys dies.
    DatabaseStandbyKilled,
    /// The primary is cut off from both.
    Cut,
}

const FAULTS: [Fault; 7] = [
    Fault::WriterKilled,
    Fault::WriterSleeps,
    Fault::StandbySleeps,
    Fault::StandbyKilled,
    Fault::PrimaryKilled,
    Fault::DatabaseStandbyKilled,
    Fault::Cut,
];

/// Both processes, their servers, and who talks to them.
pub(crate) struct Scene {
    pub(crate) servers: Servers,
    hosts: [Host; 2],
    counted: Arc<AtomicU64>,
    clients: JoinSet<Heard>,
    ending: watch::Sender<bool>,
    /// Kept, for the clients.
    _whereabouts: Vec<watch::Sender<Option<String>>>,
}

impl Scene {
    pub(crate) async fn set(under: [&[String]; 2]) -> Scene {
        let servers = Servers::start().await;
        let mut hosts = hosts(&servers.url, &QUORUM);
        for (host, words) in hosts.iter_mut().zip(under) {
            host.place.under = words.to_vec();
        }
        both(&mut hosts).await;
        let ledger = ledger_did(&hosts[0].url()).await.unwrap();
        let (ending, end) = watch::channel(false);
        let counted = Arc::new(AtomicU64::new(0));
        let mut clients = JoinSet::new();
        let mut whereabouts = Vec::new();
        let talker = |name| Client::Talker {
            agent: Box::new(Agent::new(name)),
            is_registered: false,
        };
        let dealer = |name| Client::Dealer(Box::new(Pair::new(name)));
        // Each client knows one of the two processes, whatever that is to the ledger.
        let all = [
            talker("one"),
            talker("two"),
            dealer("three"),
            dealer("four"),
        ];
        for (number, client) in all.into_iter().enumerate() {
            let (told, at) = watch::channel(Some(hosts[number % 2].url()));
            let (counted, end) = (counted.clone(), end.clone());
            clients.spawn(talk(counted, client, ledger, at, end));
            whereabouts.push(told);
        }
        Scene {
            servers,
            hosts,
            counted,
            clients,
            ending,
            _whereabouts: whereabouts,
        }
    }

    /// Until clients were acknowledged some more; gives how long that took.
    pub(crate) async fn serve(&mut self, more: u64) -> Duration {
        let begun = Instant::now();
        let due = self.counted.load(Ordering::Relaxed) + more;
        while self.counted.load(Ordering::Relaxed) < due {
            let said = || self.hosts.iter().filter_map(|host| host.ledger.as_ref());
            let said = || said().map(|ledger| ledger.said()).collect::<String>();
            assert!(
                begun.elapsed() < TAKE_OVER,
                "nobody is acknowledged: {}",
                said()
            );
            tokio::time::sleep(PAUSE).await;
        }
        begun.elapsed()
    }

    /// Which of the two writes.
    async fn writer(&self) -> usize {
        let begun = Instant::now();
        loop {
            for number in 0..2 {
                if self.hosts[number].ready().await["role"] == "writer" {
                    return number;
                }
            }
            assert!(begun.elapsed() < TAKE_OVER, "nobody writes");
            tokio::time::sleep(PAUSE).await;
        }
    }

    /// Has it happen; gives how long it took until somebody was acknowledged again.
    async fn befall(&mut self, fault: Fault, round: u64) -> Duration {
        let writer = self.writer().await;
        let standby = 1 - writer;
        let begun = Instant::now();
        match fault {
            Fault::WriterKilled => {
                self.hosts[writer].kill();
                self.serve(1).await;
                let took = begun.elapsed();
                self.hosts[writer].start();
                return took;
            }
            Fault::WriterSleeps => {
                self.hosts[writer].signal("STOP");
                // Also whoever asked the one that sleeps: the other one must take over meanwhile.
                self.hosts[standby].becomes("writer").await;
                let took = begun.elapsed();
                self.hosts[writer].signal("CONT");
                self.hosts[writer].becomes("standby").await;
                return took;
            }
            Fault::StandbySleeps => {
                self.hosts[standby].signal("STOP");
                tokio::time::sleep(SLEEP).await;
                self.hosts[standby].signal("CONT");
            }
            Fault::StandbyKilled => {
                self.hosts[standby].kill();
                self.serve(2).await;
                self.hosts[standby].start();
            }
            Fault::PrimaryKilled => self.servers.fail_over().await,
            Fault::DatabaseStandbyKilled => {
                let one = &mut self.servers.standbys[usize::try_from(round % 2).unwrap()];
                one.kill();
                self.serve(5).await;
                let one = &mut self.servers.standbys[usize::try_from(round % 2).unwrap()];
                one.run(&[]).await;
            }
            Fault::Cut => {
                self.servers.cut();
                // What was under way when it was cut is told.
                tokio::time::sleep(Duration::from_millis(500)).await;
                let before = self.counted.load(Ordering::Relaxed);
                tokio::time::sleep(CUT).await;
                let meanwhile = self.counted.load(Ordering::Relaxed) - before;
                assert_eq!(meanwhile, 0, "acknowledged with what the primary alone has");
                self.servers.mend();
            }
        }
        let healed = Instant::now();
        self.serve(1).await;
        healed.elapsed()
    }

    /// Everybody goes home, and everything is looked at; gives how many messages were acknowledged, and
    /// what is left: hosts on which nothing runs any more, and their servers.
    pub(crate) async fn look_back(mut self) -> (usize, [Host; 2], Servers) {
        self.ending.send_replace(true);
        let mut all = Heard::default();
        while let Some(done) = self.clients.join_next().await {
            all.acknowledged.extend(done.unwrap().acknowledged);
        }
        let writer = self.writer().await;
        // Asked where one stands by, the one that writes answers.
        self.hosts[1 - writer].becomes("standby").await;
        let url = self.hosts[1 - writer].url();
        let found = all.acknowledged.assert_found(&url, || true).await;
        // An orderly stop lets go of the lease, and the other one goes on.
        assert!(
            self.hosts[writer]
                .ledger
                .take()
                .unwrap()
                .stop()
                .status
                .success()
        );
        self.hosts[1 - writer].becomes("writer").await;
        let last = self.hosts[1 - writer].ledger.take().unwrap();
        assert!(last.stop().status.success());
        for host in &self.hosts {
            host.place.clean(all.acknowledged.head());
            let (code, report, told) = host.place.doctor();
            assert_eq!(code, Some(0), "{report} {told}");
        }
        (found, self.hosts, self.servers)
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn reliability_a_take_over_loses_nothing_that_was_acknowledged_and_forks_nothing() {
    let rounds = from_environment("X811_TAKEOVERS").unwrap_or(ROUNDS);
    let mut dice = Dice::roll("take-over");
    let mut scene = Scene::set([&[], &[]]).await;
    for round in 0..rounds {
        for fault in FAULTS {
            scene.serve(5).await;
            tokio::time::sleep(Duration::from_millis(dice.below(LIFE_MS))).await;
            let took = scene.befall(fault, round).await;
            println!("round {round}, {fault:?}: {} ms", took.as_millis());
            assert!(took < TAKE_OVER, "{fault:?}: {took:?}");
            scene.serve(5).await;
        }
    }
    let (found, ..) = scene.look_back().await;
    println!(
        "{} faults, {found} acknowledged, 0 lost",
        rounds * FAULTS.len() as u64
    );
}

/// Time as it passes is not told otherwise: only what day and hour it is.
const MONOTONIC: &str = "FAKETIME_DONT_FAKE_MONOTONIC=1";

/// What makes a clock wrong; the command of that name stays in between, and would be killed instead.
fn libfaketime() -> String {
    let places = std::fs::read_dir("/usr/lib").unwrap();
    let places = places.map(|place| place.unwrap().path().join("faketime/libfaketime.so.1"));
    let found = places.into_iter().find(|library| library.exists());
    // scripts/test.sh installs it.
    format!("LD_PRELOAD={}", found.unwrap().display())
}

/// Removes the shared memory of processes that were killed: the library ends a process that is given the
/// number of one of them.
fn remove_left_memory() {
    for left in std::fs::read_dir("/dev/shm").unwrap() {
        let path = left.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let names = ["faketime_shm_", "sem.faketime_sem_"];
        let id = names.iter().find_map(|prefix| name.strip_prefix(prefix));
        if id.is_some_and(|id| !std::path::Path::new("/proc").join(id).exists()) {
            // Another test may do the same.
            let _ = std::fs::remove_file(path);
        }
    }
}

/// What a process is run under so that its clock is off by `offset`, such as `+3s`.
pub(crate) fn wrong_clock(offset: &str) -> Vec<String> {
    remove_left_memory();
    let offset = format!("FAKETIME={offset}");
    vec![
        "env".to_owned(),
        libfaketime(),
        offset,
        MONOTONIC.to_owned(),
    ]
}

/// Hosts whose clocks differ: recorded time never goes back, so that is part of a take-over's time.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn reliability_a_take_over_between_clocks_that_differ_waits_and_loses_nothing() {
    let rounds = from_environment("X811_TAKEOVERS").unwrap_or(ROUNDS);
    let [ahead, behind] = ["+3s", "-3s"].map(wrong_clock);
    let mut scene = Scene::set([&ahead, &behind]).await;
    for round in 0..rounds {
        scene.serve(5).await;
        let writer = scene.writer().await;
        let took = scene.befall(Fault::WriterKilled, round).await;
        println!(
            "round {round}, clocks 6 s apart, host {writer} killed: {} ms",
            took.as_millis()
        );
        assert!(took < TAKE_OVER, "{took:?}");
        scene.hosts[writer].becomes("standby").await;
    }
    let (found, ..) = scene.look_back().await;
    println!("{rounds} take-overs between clocks 6 s apart, {found} acknowledged, 0 lost");
}
