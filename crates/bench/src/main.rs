//! The `x811-bench` command: how fast the ledger is on this machine, and what bounds it.
//!
//! Every figure is a ratio to the limit, raw `verify_strict` over the same envelopes on the same
//! cores (for settlement, the endpoint's bare logs; for feeds, the messages' own answers), measured in turns with the benchmark itself:
//! absolute numbers of one machine say nothing on another (design, section 9). All of it runs on
//! directories of its own, never on a ledger that somebody uses. The server of `http` and the audit of
//! `audit` are the program `x811` that lies beside this one.
//!
//! | file | what it is |
//! |---|---|
//! | `ingest`, `contract`, `round`, `http`, `feed`, `append`, `audit`, `growth`, `restart`, `receipt`, `settlement`, `discovery` | one benchmark each |
//! | `traffic`, `history`, `chain` | what is sent, what a ledger holds before, and what paid for it |
//! | `agreement` | agreements that a ledger holds for `restart` |
//! | `backends` | places for the log, side by side |
//! | `ledger`, `clients` | a ledger in this process, and who talks to one |
//! | `limit`, `turns` | the limit, and turns of it with something else |
//! | `cpu`, `memory`, `figures`, `measured` | what is read off, and how it is printed |

mod agreement;
mod append;
mod audit;
mod backends;
mod chain;
mod clients;
mod contract;
mod cpu;
mod discovery;
mod feed;
mod figures;
mod growth;
mod history;
mod http;
mod ingest;
mod ledger;
mod limit;
mod measured;
mod memory;
mod receipt;
mod restart;
mod round;
mod settlement;
mod traffic;
mod turns;

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;
use std::{fs, io, thread};

use clap::{Parser, Subcommand};
use tokio::process::Command;
use x811_console::exit::Exit;
use x811_console::failure::Failure;
use x811_console::output::Out;
use x811_console::stop::StopSignals;
use x811_ledger::clock::{Clock as _, SystemClock};
use x811_protocol::time::TimestampMs;

/// The allocator of `x811`, which is what is measured.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// How often a directory is tried to be removed, and how long after each other.
const REMOVALS: u32 = 100;
const PAUSE: Duration = Duration::from_millis(20);

/// Measures the ledger on this machine against raw signature checking.
#[derive(Debug, Parser)]
#[command(name = "x811-bench", version)]
struct Cli {
    /// Print one JSON value instead of text
    #[arg(long, global = true)]
    json: bool,
    #[command(subcommand)]
    verb: Verb,
}

/// The benchmarks.
#[derive(Debug, Subcommand)]
enum Verb {
    /// Envelopes into a ledger in this process, each answered when it is durable
    Ingest(ingest::Args),
    /// The same over HTTP, into a server in a process of its own
    Http(http::Args),
    /// Turns of negotiations into a ledger in this process, beside messages of interactions
    Contract(contract::Args),
    /// Rounds and votes into a ledger in this process, beside messages of interactions
    Round(round::Args),
    /// Records into the store, with the tree over them and without
    Append(append::Args),
    /// Messages to the streams of their recipients, against their own answers
    Feed(feed::Args),
    /// The audit of a whole log
    Audit(audit::Args),
    /// Envelopes into a ledger with a long history, against an empty one
    Growth(growth::Args),
    /// The start of a ledger, with a snapshot and without
    Restart(restart::Args),
    /// A receipt made and verified
    Receipt(receipt::Args),
    /// A page of discovery among many agents, against one row
    Discovery(discovery::Args),
    /// Payments confirmed by following a chain, against one receipt for each
    Settlement(settlement::Args),
}

fn main() -> ExitCode {
    let cli = Cli::parse();
    let mut out = Out::standard(cli.json);
    let exit = started(cli.verb, &mut out).unwrap_or_else(|failure| {
        out.failure(&failure);
        failure.exit
    });
    out.finish(exit).into()
}

fn started(verb: Verb, out: &mut Out) -> Result<Exit, Failure> {
    let tls = rustls::crypto::ring::default_provider().install_default();
    tls.map_err(|_| Failure::internal("a TLS provider is installed already"))?;
    let runtime = tokio::runtime::Runtime::new()
        .map_err(|error| Failure::internal(&format!("no threads could be started: {error}")))?;
    runtime.block_on(verb.run(out))
}

impl Verb {
    /// Measures and reports; Ctrl-C ends it, and what it started and made goes with it.
    async fn run(self, out: &mut Out) -> Result<Exit, Failure> {
        let asked = StopSignals::set().asked();
        tokio::select! {
            measured = self.measure(out) => measured.map(|()| Exit::Ok),
            () = asked => Ok(Exit::Interrupted),
        }
    }

    async fn measure(self, out: &mut Out) -> Result<(), Failure> {
        match self {
            Verb::Ingest(args) => ingest::run(args, out).await,
            Verb::Http(args) => http::run(args, out).await,
            Verb::Contract(args) => contract::run(args, out).await,
            Verb::Round(args) => round::run(args, out).await,
            Verb::Append(args) => append::run(args, out).await,
            Verb::Feed(args) => feed::run(args, out).await,
            Verb::Audit(args) => audit::run(args, out).await,
            Verb::Growth(args) => growth::run(args, out).await,
            Verb::Restart(args) => restart::run(args, out).await,
            Verb::Receipt(args) => receipt::run(args, out).await,
            Verb::Discovery(args) => discovery::run(args, out).await,
            Verb::Settlement(args) => settlement::run(args, out).await,
        }
    }
}

/// Options of every benchmark.
#[derive(Debug, clap::Args)]
struct Common {
    /// Where the ledgers are made and removed again; its disk is part of what is measured
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,
    /// Agents that talk to each other
    #[arg(long, value_name = "COUNT", default_value_t = 200, value_parser = clap::value_parser!(u16).range(2..))]
    agents: u16,
}

impl Common {
    fn agents(&self) -> usize {
        usize::from(self.agents)
    }

    fn directory(&self) -> Result<Directory, Failure> {
        let mut named = tempfile::Builder::new();
        named.prefix("x811-bench-");
        let made = match &self.dir {
            Some(parent) => named.tempdir_in(parent),
            None => named.tempdir(),
        };
        made.map(|made| Directory(made.keep()))
            .map_err(|error| unusable(&error))
    }
}

/// A directory that goes when it is dropped, also when a ledger that was broken off is still
/// writing its last there.
#[derive(Debug)]
struct Directory(PathBuf);

impl Directory {
    fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        for _ in 0..REMOVALS {
            match fs::remove_dir_all(&self.0) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => thread::sleep(PAUSE),
                Ok(()) | Err(_) => return,
            }
        }
    }
}

fn unusable(error: &io::Error) -> Failure {
    Failure::local("bench_dir", format!("no directory to work in: {error}"))
        .hint("name one on a disk with room by --dir")
}

/// Something in the benchmark itself went wrong; its figures would mean nothing.
fn broken(what: impl std::fmt::Display) -> Failure {
    Failure::internal(&format!("the benchmark broke off: {what}"))
}

/// The program of that name beside this one, to be run in a process of its own. Whatever the user has set
/// for ledgers of their own is not meant for it.
fn program(name: &str) -> Result<Command, Failure> {
    let path = std::env::current_exe()
        .map_err(broken)?
        .with_file_name(name);
    if !path.exists() {
        let message = format!("{} is missing", path.display());
        return Err(Failure::local("no_program", message)
            .hint("build both programs: cargo build --release --bin x811 --bin x811-bench"));
    }
    let mut command = Command::new(path);
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("X811_") {
            command.env_remove(name);
        }
    }
    command.env_remove("RUST_LOG");
    Ok(command)
}

/// Now, by the machine's clock.
fn wall_clock() -> TimestampMs {
    SystemClock::new().wall()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_benchmark_parses() {
        for line in [
            "ingest --messages 1000 --at-once 10 --agents 20 --dir .",
            "http --messages 1000 --connections 10",
            "audit --records 1000 --json",
            "growth --stored 1000000 --messages 1000 --at-once 10",
            "restart --records 1000000 --minutes 14 --tail 1000",
        ] {
            let words = ["x811-bench"].into_iter().chain(line.split(' '));
            if let Err(error) = Cli::try_parse_from(words) {
                panic!("{line}: {error}");
            }
        }
        for line in [
            "http --connections 0",
            "ingest --agents 1",
            "audit --records x",
        ] {
            let words = ["x811-bench"].into_iter().chain(line.split(' '));
            let error = Cli::try_parse_from(words).unwrap_err();
            assert_eq!(error.exit_code(), 2, "{line}");
        }
    }
    #[test]
    fn commands_in_the_pages_parse() {
        let page = include_str!("../../../docs/speed.md");
        let commands = page.lines().filter_map(|line| line.strip_prefix("$ "));
        let commands = commands.filter(|line| line.starts_with("x811-bench "));
        let parsed = commands.map(|line| Cli::try_parse_from(line.split(' ')).map(|_| line));
        let parsed: Result<Vec<_>, _> = parsed.collect();
        assert!(parsed.unwrap().len() >= 4);
    }
}
