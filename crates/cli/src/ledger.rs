//! `x811 ledger`: what an operator does to the ledger itself.

mod reopen;
mod rotate_key;

use clap::Subcommand;

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
}

impl Verb {
    /// Runs the verb.
    pub(crate) async fn run(self, out: &mut Out) -> Result<Exit, Failure> {
        match self {
            Verb::RotateKey(args) => rotate_key::run(&args, out),
            Verb::Reopen(args) => reopen::run(args, out).await,
        }
    }
}
