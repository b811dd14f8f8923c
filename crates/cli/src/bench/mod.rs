//! `x811 bench`: how fast this ledger is on this machine, and what bounds it.
//!
//! Every figure is a ratio to the limit, raw `verify_strict` over the same envelopes on the same
//! cores, measured in turns with the benchmark itself: absolute numbers of one machine say nothing
//! on another (design, section 9). All of it runs on directories of its own, never on a ledger that
//! somebody uses.

mod cpu;
mod figures;
mod ingest;
mod ledger;
mod limit;
mod traffic;

use std::io;
use std::path::PathBuf;

use clap::Subcommand;
use tempfile::TempDir;

use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::Out;

/// What is measured.
#[derive(Debug, Subcommand)]
pub(crate) enum Verb {
    /// Envelopes into a ledger in this process, each answered when it is durable
    Ingest(ingest::Args),
}

impl Verb {
    /// Measures and reports.
    pub(crate) async fn run(self, out: &mut Out) -> Result<Exit, Failure> {
        match self {
            Verb::Ingest(args) => ingest::run(args, out).await?,
        }
        Ok(Exit::Ok)
    }
}

/// Options of every benchmark.
#[derive(Debug, clap::Args)]
struct Common {
    /// Where the ledgers are made and removed again; its disk is part of what is measured
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,
}

impl Common {
    /// A directory that goes when it is dropped.
    fn directory(&self) -> Result<TempDir, Failure> {
        let mut named = tempfile::Builder::new();
        named.prefix("x811-bench-");
        let made = match &self.dir {
            Some(parent) => named.tempdir_in(parent),
            None => named.tempdir(),
        };
        made.map_err(|error| unusable(&error))
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
