//! `x811 ledger`: what an operator does to the ledger itself.

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
}

impl Verb {
    /// Runs the verb.
    pub(crate) fn run(self, out: &mut Out) -> Result<Exit, Failure> {
        match self {
            Verb::RotateKey(args) => rotate_key::run(&args, out),
        }
    }
}
