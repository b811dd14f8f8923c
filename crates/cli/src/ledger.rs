//! `x811 ledger`: what an operator does to the ledger itself.

mod adopt_checkpoint;
mod reopen;
mod rotate_key;

use std::path::{Path, PathBuf};

use clap::Subcommand;
use x811_ledger::doctor::{Examined, examine};
use x811_ledger::memory::MemoryReadModel;
use x811_server::keys::Identity;
use x811_store::{Backend, FileCheckpointStore};

use crate::data_dir::expect_directory;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::log::notes;
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

/// The ledger's real data directory, and the identity in it.
fn identity(data_dir: &Path) -> Result<(PathBuf, Identity), Failure> {
    expect_directory(data_dir)?;
    let data_dir = notes::real(data_dir)?;
    let keys = |error: String| Failure::local("keys", error);
    let identity = Identity::load(&data_dir).map_err(|error| keys(error.to_string()))?;
    let identity = identity.ok_or_else(|| keys(format!("{} has no keys", data_dir.display())))?;
    Ok((data_dir, identity))
}

/// Replays the log, which must be whole; gives the worlds at `sizes` too.
async fn whole_log(store: &Backend, sizes: &[u64]) -> Result<Examined, Failure> {
    let examined = examine(store, &MemoryReadModel::default(), 0, sizes).await;
    let examined = examined.map_err(|error| Failure::local("log", error.to_string()))?;
    match examined.findings.kept.first() {
        None => Ok(examined),
        Some(finding) => {
            let message = format!(
                "the log is not whole: {}: {}",
                finding.part, finding.sentence
            );
            Err(Failure::local("damaged", message).hint("`x811 doctor` says what to do"))
        }
    }
}

/// Where the ledger in `data_dir` keeps its checkpoint.
fn checkpoint_dir(named: Option<&Path>, data_dir: &Path) -> Result<PathBuf, Failure> {
    let named = named.map(Path::to_owned);
    let directory = named.or_else(|| FileCheckpointStore::beside(data_dir));
    directory.ok_or_else(|| Failure::usage("the directory has no name to look beside"))
}
