//! `bench_stores append|ingest [OPTIONS]`: `x811 bench` side by side on SQLite, on a PostgreSQL server,
//! and on one of three that waits for one of the two others. The servers are started here, on this
//! machine and its disk, and write through to it; the binary is the one beside this program:
//!
//! ```text
//! cargo build --release --bin x811 --bin bench_stores
//! target/release/bench_stores ingest --at-once 256
//! ```

use std::error::Error;
use std::process::{Command, ExitCode};
use std::time::Duration;

use x811_tests::postgres::Node;

/// As a server is that keeps what it says.
const DURABLE: &[&str] = &["fsync=on", "wal_level=replica", "shared_buffers=256MB"];

const NAMES: &str = "ALTER SYSTEM SET synchronous_standby_names = 'ANY 1 (s2, s3)'";

#[tokio::main]
async fn main() -> Result<ExitCode, Box<dyn Error>> {
    let mut words = std::env::args().skip(1);
    let verb = words.next().unwrap_or_else(|| "ingest".to_owned());
    let alone = Node::start(DURABLE).await;
    let primary = Node::start(DURABLE).await;
    let _second = primary.standby_with("s2", DURABLE).await;
    let _third = primary.standby_with("s3", DURABLE).await;
    let (url, quorum_url) = (alone.url().await, primary.url().await);
    primary.run_sql(NAMES).await;
    primary.run_sql("SELECT pg_reload_conf()").await;
    tokio::time::sleep(Duration::from_secs(1)).await;
    let binary = std::env::current_exe()?.with_file_name("x811");
    let measured = Command::new(binary)
        .args(["bench", &verb])
        .args(["--backend", "sqlite,postgres,postgres-quorum"])
        .args(["--store-url", &url, "--quorum-url", &quorum_url])
        .args(["--store-standby", "s2,s3"])
        .args(words)
        .status()?;
    Ok(match measured.success() {
        true => ExitCode::SUCCESS,
        false => ExitCode::FAILURE,
    })
}
