//! `x811 bench http`: the same traffic as that of ingest, over HTTP, into a server in a process of
//! its own.
//!
//! Clients and server share the cores, so the rate says what this machine does in all; what the
//! server alone costs is in the messages that it takes for each second of its own CPU time.

mod connection;
mod server;

use serde::Serialize;
use std::net::SocketAddr;

use super::Common;
use super::clients::{self, Retries};
use super::cpu::{Elapsed, Stopwatch};
use super::figures::{Latency, Rate, thousands};
use super::ledger::NETWORK;
use super::traffic::{Agents, Conversation, MESSAGES_EACH, Message};
use super::turns::{TURNS, Turns, WAITING, check_alone};
use crate::failure::Failure;
use crate::output::{Out, Report, Tone};
pub(super) use connection::{Connection, Request};
pub(super) use server::Server;

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
    let measured = load.measured(connections);
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

    fn measured(self, connections: usize) -> Measured {
        let sum = self.turns.sum();
        Measured {
            benchmark: "http",
            cores: rayon::current_num_threads(),
            limit_per_second: sum.limit_per_second,
            ratio: sum.ratio(),
            target_ratio: TARGET_RATIO,
            accepted_per_server_cpu_second: sum.rate.cpu_us_each.map(|us| 1e6 / us),
            target_per_server_cpu_second: TARGET_PER_CPU_SECOND,
            client_cpu_us_each: Rate::of(sum.rate.count, self.own).cpu_us_each,
            http: sum.rate,
            latency: sum.latency,
            connections,
            retries: sum.retries,
        }
    }
}

fn requests(address: SocketAddr, conversations: Vec<Conversation>) -> Vec<Vec<Request>> {
    let request = |message: &Message| Request::post(address, "/api/v1/messages", &message.bytes);
    conversations
        .iter()
        .map(|conversation| conversation.iter().map(request).collect())
        .collect()
}

#[derive(Debug, Serialize)]
struct Measured {
    benchmark: &'static str,
    cores: usize,
    limit_per_second: f64,
    /// CPU time in it is the server's.
    http: Rate,
    ratio: f64,
    target_ratio: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    accepted_per_server_cpu_second: Option<f64>,
    target_per_server_cpu_second: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    client_cpu_us_each: Option<f64>,
    latency: Latency,
    connections: usize,
    /// Requests that were answered 429 or 503.
    #[serde(flatten)]
    retries: Retries,
}

impl Report for Measured {
    fn print(&self, out: &mut Out) {
        out.heading(
            Tone::Plain,
            format_args!(
                "http: {:.2} of the limit (target {:.2})",
                self.ratio, self.target_ratio
            ),
        );
        let per_cpu_second = self
            .accepted_per_server_cpu_second
            .map_or_else(|| "unknown here".to_owned(), thousands);
        out.fields(&[
            ("accepted", self.http.text("envelopes")),
            (
                "server",
                format!(
                    "{per_cpu_second} envelopes for each second of its CPU time (target {})",
                    thousands(self.target_per_server_cpu_second)
                ),
            ),
            ("limit", super::limit::text(self.limit_per_second)),
            (
                "answers",
                format!(
                    "{}, {} connections, sent again: {}",
                    self.latency.text(),
                    self.connections,
                    self.retries.text()
                ),
            ),
        ]);
        out.line(self.bound());
    }
}

impl Measured {
    /// What keeps it from being faster.
    fn bound(&self) -> String {
        let (Some(server_us), Some(client_us)) = (self.http.cpu_us_each, self.client_cpu_us_each)
        else {
            return "bound: unknown, CPU time cannot be read here".to_owned();
        };
        let cores_us = self.cores as f64 * 1e6;
        let busy = |us: f64| us * self.http.per_second / cores_us;
        let (server, clients) = (busy(server_us), busy(client_us));
        let what = if server + clients > 0.85 {
            "CPU"
        } else {
            WAITING
        };
        format!(
            "bound by {what}: of {} cores the server keeps {:.0} % busy, {server_us:.0} µs for each, and the \
             clients {:.0} %; {}",
            self.cores,
            server * 100.0,
            clients * 100.0,
            check_alone(self.cores, self.limit_per_second)
        )
    }
}
