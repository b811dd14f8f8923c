//! `bench_stores append|ingest [--with-double[=DELAY_MS]] [OPTIONS]`: `x811-bench` side by side on SQLite, on a
//! PostgreSQL server, and on one of three that waits for one of the two others; with `--with-double` also
//! on a double of EventStoreDB. All are started here, on this machine and its disk, and the PostgreSQL
//! servers write through to it; the binary is the one beside this program:
//!
//! ```text
//! cargo build --release --bin x811-bench --bin bench_stores
//! target/release/bench_stores ingest --at-once 256
//! ```
//!
//! With the double, the binary has the feature `eventstore`, and the double is built, too:
//!
//! ```text
//! cargo build --release --features x811-bench/eventstore --bin x811-bench --bin bench_stores \
//!   --example eventstore_double
//! target/release/bench_stores ingest --with-double --at-once 256
//! ```

use std::error::Error;
use std::process::{Command, ExitCode};
use std::time::Duration;

use x811_tests::eventstore::Double;
use x811_tests::postgres::Node;

/// As a server is that keeps what it says.
const DURABLE: &[&str] = &["fsync=on", "wal_level=replica", "shared_buffers=256MB"];

const NAMES: &str = "ALTER SYSTEM SET synchronous_standby_names = 'ANY 1 (s2, s3)'";

#[tokio::main]
async fn main() -> Result<ExitCode, Box<dyn Error>> {
    let mut words: Vec<String> = std::env::args().skip(1).collect();
    let double_delay_ms = taken(&mut words)?;
    if words.is_empty() {
        words.push("ingest".to_owned());
    }
    let binary = std::env::current_exe()?.with_file_name("x811-bench");
    let alone = Node::start(DURABLE).await;
    let primary = Node::start(DURABLE).await;
    let _second = primary.standby_with("s2", DURABLE).await;
    let _third = primary.standby_with("s3", DURABLE).await;
    let (url, quorum_url) = (alone.url().await, primary.url().await);
    primary.run_sql(NAMES).await;
    primary.run_sql("SELECT pg_reload_conf()").await;
    tokio::time::sleep(Duration::from_secs(1)).await;
    let mut bench = Command::new(&binary);
    bench
        .args(words)
        .args(["--backend", "sqlite,postgres,postgres-quorum"])
        .args(["--store-url", &url, "--quorum-url", &quorum_url])
        .args(["--store-standby", "s2,s3"]);
    let double = match double_delay_ms {
        Some(delay_ms) => {
            let profile = binary.parent().ok_or("the binary lies in no directory")?;
            let (mut double, beside_url) = (Double::start(profile, 1), alone.url().await);
            double.say(&format!("delay {delay_ms}"));
            bench
                .args(["--backend", "eventstore-double"])
                .args(["--double-url", double.url(), "--beside-url", &beside_url])
                .args(["--double-delay-ms", &delay_ms.to_string()]);
            Some(double)
        }
        None => None,
    };
    let measured = bench.status()?;
    drop(double);
    Ok(match measured.success() {
        true => ExitCode::SUCCESS,
        false => ExitCode::FAILURE,
    })
}

/// Takes `--with-double` out of the arguments. Returns the delay of the double's answers.
fn taken(words: &mut Vec<String>) -> Result<Option<u32>, std::num::ParseIntError> {
    let Some(at) = words
        .iter()
        .position(|word| word.starts_with("--with-double"))
    else {
        return Ok(None);
    };
    let word = words.remove(at);
    let delay_ms = word.split_once('=').map_or("0", |(_, delay_ms)| delay_ms);
    delay_ms.parse().map(Some)
}
