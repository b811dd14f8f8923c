//! `x811 ledger`: what an operator does to the ledger itself.

mod adopt_checkpoint;
mod reopen;
mod rotate_key;

use std::path::{Path, PathBuf};

use clap::Subcommand;
use x811_store::FileCheckpointStore;

use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::Out;

/// What to do with the ledger.
#[derive(Debug, Subcommand)]
pub(crate) enum Verb {
    /// Make a new key for notices, checkpoints or receipts; the next start puts it in force
    RotateKey(rotate_key::Args),
    /// Begin a new ledger behind one that lost acknowledged records: with a name, keys and an origin
    /// of its own, and the last checkpoint of the old one in its first record
    Reopen(reopen::Args),
    /// Go on with a log that is whole and whose last checkpoint is lost: the next start records that, and
    /// audits show it
    AdoptCheckpoint(adopt_checkpoint::Args),
}

impl Verb {
    /// Runs the verb.
    pub(crate) async fn run(self, out: &mut Out) -> Result<Exit, Failure> {
        match self {
            Verb::RotateKey(args) => rotate_key::run(&args, out),
            Verb::Reopen(args) => reopen::run(args, out).await,
            Verb::AdoptCheckpoint(args) => adopt_checkpoint::run(args, out).await,
        }
    }
}

/// Where the ledger in `data_dir` keeps its checkpoint.
fn checkpoint_dir(named: Option<&Path>, data_dir: &Path) -> Result<PathBuf, Failure> {
    let named = named.map(Path::to_owned);
    let directory = named.or_else(|| FileCheckpointStore::beside(data_dir));
    directory.ok_or_else(|| Failure::usage("the directory has no name to look beside"))
}
