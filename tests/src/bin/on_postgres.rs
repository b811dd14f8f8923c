//! `on_postgres COMMAND…`: starts a PostgreSQL server, and runs a command in whose tests every ledger
//! that the real binary is started for keeps its log there; fails where none did:
//!
//! ```text
//! cargo build --workspace --bins
//! target/debug/on_postgres cargo nextest run --profile gate -p x811-tests --test program
//! ```

use std::error::Error;
use std::process::{Command, ExitCode};

use x811_tests::binary::STORE;
use x811_tests::postgres::Node;

#[tokio::main]
async fn main() -> Result<ExitCode, Box<dyn Error>> {
    let mut words = std::env::args().skip(1);
    let program = words.next().ok_or("name a command to run over it")?;
    let node = Node::start(&["max_connections=400"]).await;
    let ended = Command::new(program)
        .args(words)
        .env(STORE, node.address())
        .status()?;
    if node.ledgers().await == 0 {
        return Err("no ledger kept its log in this server".into());
    }
    Ok(match ended.success() {
        true => ExitCode::SUCCESS,
        false => ExitCode::FAILURE,
    })
}
