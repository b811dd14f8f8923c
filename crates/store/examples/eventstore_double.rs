//! `eventstore_double [NODES] [--delay MS] [--tls] [--user NAME:PASSWORD]…`: the double of the store's
//! tests as a program of its own, for tests and benchmarks of the real binary. It is no server of
//! EventStoreDB or KurrentDB: its nodes speak their protocol over one state in memory, replicate
//! nothing, and forget everything when it ends.
//!
//! It prints its address, without a user, and lives until its standard input ends. A line there is a
//! command, and is printed again once it was carried out:
//!
//! | command | what it does |
//! |---|---|
//! | `kill leader` | ends the node that leads; another one leads |
//! | `elect` | lets another node lead |
//! | `delay MS` | answers reads and appends after this time |
//! | `metadata JSON` | writes the metadata of every log, as an administrator does |
//! | `soft-delete`, `tombstone` | deletes every log |
//! | `scavenge` | removes hidden events for good |
//!
//! A log is a stream whose name does not begin with `$$`. After `soft-delete`, the first `metadata`
//! ends the delete and keeps the events hidden, as on the real server: it takes two to show them.

#![expect(
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a double stops at once where it is asked for what it has not"
)]
#![expect(dead_code, reason = "tests in the same process do more")]

use std::io::BufRead as _;
use std::time::Duration;

use double::{Cluster, State};
use x811_store::LogUrl;

#[path = "../src/kurrent/tests/batch.rs"]
mod batch;
#[path = "../src/kurrent/tests/double.rs"]
mod double;
#[path = "../src/kurrent/tests/proto.rs"]
mod proto;
#[path = "../src/kurrent/tests/rights.rs"]
mod rights;
#[path = "../src/kurrent/tests/serve.rs"]
mod serve;
#[path = "../src/kurrent/tests/streams.rs"]
mod streams;
#[path = "../src/kurrent/tests/tls.rs"]
mod tls;

#[tokio::main]
async fn main() {
    let mut cluster = start(std::env::args().skip(1)).await;
    println!("{}", cluster.address());
    let (say, mut said) = tokio::sync::mpsc::channel(1);
    // A thread that nothing waits for at the end: it may be reading.
    std::thread::spawn(move || {
        for line in std::io::stdin().lock().lines().map_while(Result::ok) {
            if say.blocking_send(line).is_err() {
                return;
            }
        }
    });
    while let Some(line) = said.recv().await {
        obey(&mut cluster, &line).await;
        println!("{line}");
    }
}

async fn start(mut words: impl Iterator<Item = String>) -> Cluster {
    let (mut nodes, mut is_secure) = (1, false);
    let (mut delay, mut users) = (Duration::ZERO, Vec::new());
    while let Some(word) = words.next() {
        match &*word {
            "--delay" => delay = milliseconds(&words.next().unwrap()),
            "--tls" => is_secure = true,
            "--user" => users.push(words.next().unwrap()),
            number => nodes = number.parse().unwrap(),
        }
    }
    let cluster = match is_secure {
        true => Cluster::start_secure(nodes).await,
        false => Cluster::start(nodes).await,
    };
    cluster.state().delay = delay;
    for user in users {
        let (name, password) = user.split_once(':').unwrap();
        cluster.state().users.add(name, password);
    }
    cluster
}

async fn obey(cluster: &mut Cluster, line: &str) {
    match line.split_once(' ').unwrap_or((line, "")) {
        ("kill", "leader") => cluster.kill_leader().await,
        ("elect", "") => cluster.elect(),
        ("delay", time) => cluster.state().delay = milliseconds(time),
        ("metadata", metadata) => {
            change_logs(cluster, |state, name| state.set_metadata(name, metadata));
        }
        ("soft-delete", "") => change_logs(cluster, State::soft_delete),
        ("tombstone", "") => change_logs(cluster, State::tombstone),
        ("scavenge", "") => cluster.state().scavenge(),
        _ => panic!("no command: {line}"),
    }
}

fn change_logs(cluster: &Cluster, change: impl Fn(&mut State, &str)) {
    let mut state = cluster.state();
    let names: Vec<String> = state.streams.keys().cloned().collect();
    for name in names.iter().filter(|name| !name.starts_with("$$")) {
        change(&mut state, name);
    }
}

fn milliseconds(text: &str) -> Duration {
    Duration::from_millis(text.parse().unwrap())
}
