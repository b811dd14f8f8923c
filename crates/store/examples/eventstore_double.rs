//! `eventstore_double [NODES]`: the double of the store's tests as a program of its own, for tests and
//! benchmarks of the real binary. It is no server of EventStoreDB or KurrentDB: its nodes speak their
//! protocol over one state in memory, replicate nothing, and forget everything when it ends.
//!
//! It prints its address and lives until its standard input ends. The line `kill leader` there ends the
//! node that leads, `elect` lets another one lead; each is answered with the same line.

#![expect(
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a double stops at once where it is asked for what it has not"
)]

use std::io::BufRead as _;

use x811_store::LogUrl;

#[expect(
    clippy::result_large_err,
    dead_code,
    reason = "a status is what the protocol answers with; tests in the same process do more"
)]
#[path = "../src/kurrent/tests/double.rs"]
mod double;
#[path = "../src/kurrent/tests/proto.rs"]
mod proto;
#[path = "../src/kurrent/tests/serve.rs"]
mod serve;

#[tokio::main]
async fn main() {
    let nodes = std::env::args().nth(1).map_or(Ok(1), |nodes| nodes.parse());
    let mut cluster = double::Cluster::start(nodes.unwrap()).await;
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
        match &*line {
            "kill leader" => cluster.kill_leader().await,
            "elect" => cluster.elect(),
            _ => panic!("kill leader, or elect: {line}"),
        }
        println!("{line}");
    }
}
