//! `x811-bench http`: the same traffic as that of ingest, over HTTP, into a server in a process of
//! its own.
//!
//! Clients and server share the cores, so the rate says what this machine does in all; what the
//! server alone costs is in the messages that it takes for each second of its own CPU time.

mod connection;
mod server;

use serde_json::json;
use std::net::SocketAddr;

use super::Common;
use super::clients;
use super::cpu::{Elapsed, Stopwatch};
use super::figures::{Rate, thousands};
use super::ledger::NETWORK;
use super::measured::Measured;
use super::traffic::{Agents, Conversation, MESSAGES_EACH, Message};
use super::turns::{TURNS, Turns, WAITING, check_alone};
pub(super) use connection::{Connection, Request};
pub(super) use server::Server;
use x811_console::failure::Failure;
use x811_console::output::Out;

/// What it should reach of the limit, clients and server on the same cores.
const TARGET_RATIO: f64 = 0.25;

/// What it should reach for each second of the server's CPU time.
const TARGET_PER_CPU_SECOND: f64 = 9_000.0;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    common: Common,
    /// About how many envelopes are sent
    #[arg(long, value_name = "COUNT", default_value_t = 100_000)]
    messages: usize,
    /// Keep-alive connections, each with one conversation at a time
    #[arg(long, value_name = "COUNT", default_value_t = 1_024, value_parser = clap::value_parser!(u16).range(1..))]
    connections: u16,
}

/// Measures and reports.
pub(super) async fn run(args: Args, out: &mut Out) -> Result<(), Failure> {
    let directory = args.common.directory()?;
    let connections = usize::from(args.connections);
    let server = Server::start(directory.path(), connections).await?;
    let agents = Agents::generate(args.common.agents(), NETWORK)?;
    let registrations = agents.registrations(server.did())?;
    let apart = registrations.into_iter().map(|message| vec![message]);
    let mut load = Load::new(&server, connections);
    load.carry(apart.collect()).await?;
    let each = args.messages / MESSAGES_EACH / TURNS;
    load.carry(agents.conversations(0, each / 2)?).await?;
    load.begin();
    for number in 0..TURNS {
        load.turn(agents.conversations(each * (number + 1), each)?)
            .await?;
    }
    let measured = load.measured();
    server.stop().await?;
    out.report(&measured);
    Ok(())
}

/// Clients of one server.
struct Load<'a> {
    server: &'a Server,
    connections: usize,
    turns: Turns,
    /// What this process, the clients, used during the turns.
    own: Elapsed,
}

impl<'a> Load<'a> {
    fn new(server: &'a Server, connections: usize) -> Load<'a> {
        Load {
            server,
            connections,
            turns: Turns::default(),
            own: Elapsed::default(),
        }
    }

    /// Forgets everything until now: it was warm-up.
    fn begin(&mut self) {
        self.turns = Turns::default();
        self.own = Elapsed::default();
    }

    /// Measures the limit, then the server, with the same envelopes.
    async fn turn(&mut self, conversations: Vec<Conversation>) -> Result<(), Failure> {
        self.turns.limit(&conversations)?;
        self.carry(conversations).await
    }

    /// Has all conversations carried on; connections and requests are made before the clock runs, and
    /// connections end when it has stopped.
    async fn carry(&mut self, conversations: Vec<Conversation>) -> Result<(), Failure> {
        let address = self.server.address();
        let requests = requests(address, conversations);
        let mut senders = Vec::new();
        for _ in 0..self.connections {
            senders.push(Connection::open(address).await?);
        }
        let own = Stopwatch::start(std::process::id());
        let server = Stopwatch::start(self.server.pid());
        let (answered, senders) = clients::converse(senders, requests).await?;
        // Rows are part of the cost, whenever they are written.
        self.server.rows_caught_up().await?;
        self.turns.add(answered, server.elapsed());
        self.own += own.elapsed();
        drop(senders);
        Ok(())
    }

    fn measured(self) -> Measured {
        let (sum, connections) = (self.turns.sum(), self.connections);
        let client_us = Rate::of(sum.rate.count, self.own).cpu_us_each;
        let per_cpu_second = sum.rate.cpu_us_each.map(|us| 1e6 / us);
        let (ratio, limit_per_second) = (sum.ratio(), sum.limit_per_second);
        let (answers, again) = (sum.latency.text(), sum.retries.text());
        let taken = per_cpu_second.map_or_else(|| "unknown here".to_owned(), thousands);
        let target = thousands(TARGET_PER_CPU_SECOND);
        Measured::new(
            "http",
            format!("http: {ratio:.2} of the limit (target {TARGET_RATIO:.2})"),
        )
        .figures(json!({
            "limit_per_second": limit_per_second, "http": sum.rate, "ratio": ratio,
            "target_ratio": TARGET_RATIO, "accepted_per_server_cpu_second": per_cpu_second,
            "target_per_server_cpu_second": TARGET_PER_CPU_SECOND, "client_cpu_us_each": client_us,
            "latency": sum.latency, "connections": connections,
        }))
        // Requests that were answered 429 or 503.
        .figures(&sum.retries)
        .fields([
            ("accepted", sum.rate.text("envelopes")),
            (
                "server",
                format!("{taken} envelopes for each second of its CPU time (target {target})"),
            ),
            ("limit", super::limit::text(limit_per_second)),
            (
                "answers",
                format!("{answers}, {connections} connections, sent again: {again}"),
            ),
        ])
        .line(bound(&sum.rate, client_us, limit_per_second))
    }
}

fn requests(address: SocketAddr, conversations: Vec<Conversation>) -> Vec<Vec<Request>> {
    let request = |message: &Message| Request::post(address, "/api/v1/messages", &message.bytes);
    conversations
        .iter()
        .map(|conversation| conversation.iter().map(request).collect())
        .collect()
}

/// What keeps it from being faster; CPU time in the rate is the server's.
fn bound(http: &Rate, client_us: Option<f64>, limit_per_second: f64) -> String {
    let (Some(server_us), Some(client_us)) = (http.cpu_us_each, client_us) else {
        return "bound: unknown, CPU time cannot be read here".to_owned();
    };
    let cores = rayon::current_num_threads();
    let busy = |us: f64| us * http.per_second / (cores as f64 * 1e6);
    let (server, clients) = (busy(server_us), busy(client_us));
    let is_busy = server + clients > 0.85;
    let what = if is_busy { "CPU" } else { WAITING };
    format!(
        "bound by {what}: of {cores} cores the server keeps {:.0} % busy, {server_us:.0} µs for each, and the \
         clients {:.0} %; {}",
        server * 100.0,
        clients * 100.0,
        check_alone(cores, limit_per_second)
    )
}
