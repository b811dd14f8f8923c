//! A server in a process of its own: `x811 serve`, as an operator runs it, with what the packaged unit
//! sets for speed.

use std::net::SocketAddr;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use serde::Deserialize;
use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::process::{Child, ChildStdout, Command};
use x811_protocol::did::Did;

use super::connection::{Connection, Request};
use crate::ledger::NETWORK;
use crate::{broken, program};
use x811_console::failure::Failure;

/// A token that no chain has.
const TOKEN: &str = "0x3333333333333333333333333333333333333333";

/// Nobody listens there: the ledger is blind, and interactions that cost nothing need no chain.
const RPC_URL: &str = "http://127.0.0.1:9/";

/// Connections beyond those of the clients.
const SPARE_CONNECTIONS: usize = 16;

/// How long the allocator keeps free memory, as the packaged unit has it.
const KEPT_MEMORY: (&str, &str) = ("MIMALLOC_PURGE_DELAY", "60000");

const LOOK_EVERY: Duration = Duration::from_millis(5);

/// A running server; killed when it is dropped.
#[derive(Debug)]
pub(crate) struct Server {
    process: Child,
    pid: u32,
    address: SocketAddr,
    did: Did,
    /// Kept open: a server that cannot write any more might stop.
    _stdout: BufReader<ChildStdout>,
}

/// What `x811 serve --json` says once it runs.
#[derive(Deserialize)]
struct Started {
    url: String,
    did: Did,
}

impl Server {
    /// Starts one whose data lies under `directory`, for so many connections.
    pub(crate) async fn start(directory: &Path, connections: usize) -> Result<Server, Failure> {
        let mut process = command(directory, connections)?.spawn().map_err(broken)?;
        let not_started = || broken("the server did not start; its own words are above");
        let pid = process.id().ok_or_else(not_started)?;
        let mut stdout = BufReader::new(process.stdout.take().ok_or_else(not_started)?);
        let mut line = String::new();
        stdout.read_line(&mut line).await.map_err(broken)?;
        let started: Started = serde_json::from_str(&line).map_err(|_| not_started())?;
        let address = started.url.trim_start_matches("http://");
        Ok(Server {
            process,
            pid,
            address: address.parse().map_err(broken)?,
            did: started.did,
            _stdout: stdout,
        })
    }

    pub(crate) fn pid(&self) -> u32 {
        self.pid
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    pub(crate) fn did(&self) -> Did {
        self.did
    }

    /// Waits until the rows for readers reflect everything, as a reader does: rows that nobody asks
    /// for are written some time later.
    pub(crate) async fn rows_caught_up(&self) -> Result<(), Failure> {
        let mut connection = Connection::open(self.address).await?;
        let path = format!("/api/v1/agents/{}/keys", self.did.uuid());
        let request = Request::get(self.address, &path);
        loop {
            match connection.exchange(&request).await? {
                (200, _) => return Ok(()),
                (429 | 503, _) => tokio::time::sleep(LOOK_EVERY).await,
                (status, body) => {
                    let body = String::from_utf8_lossy(body);
                    return Err(broken(format_args!("the server answered {status}: {body}")));
                }
            }
        }
    }

    /// Ends it; what it stored is thrown away anyway.
    pub(crate) async fn stop(mut self) -> Result<(), Failure> {
        self.process.kill().await.map_err(broken)
    }
}

fn command(directory: &Path, connections: usize) -> Result<Command, Failure> {
    let max_connections = connections + SPARE_CONNECTIONS;
    let mut command = program("x811")?;
    command
        .env(KEPT_MEMORY.0, KEPT_MEMORY.1)
        .args(["serve", "--json", "--listen", "127.0.0.1:0"])
        .args(["--network", NETWORK, "--rpc", RPC_URL])
        .args(["--token", TOKEN, "--payer-binding", "unchecked"])
        .args(["--log-filter", "error"])
        .args(["--max-connections", &max_connections.to_string()])
        .arg("--data-dir")
        .arg(directory.join("data"))
        .arg("--checkpoint-dir")
        .arg(directory.join("checkpoint"))
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        // Ctrl-C is for this process, which then ends the other one.
        .process_group(0)
        .kill_on_drop(true);
    Ok(command)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_server_keeps_free_memory_as_the_packaged_unit_does() {
        const UNIT: &str = include_str!("../../../../packaging/x811.service");
        let (name, value) = KEPT_MEMORY;
        assert!(UNIT.contains(&format!("\nEnvironment={name}={value}\n")));
    }
}
