//! `x811 log`: what an operator does to the place of a log.

mod copy;
pub(crate) mod notes;

use clap::Subcommand;

use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::Out;

/// What to do with the log.
#[derive(Debug, Subcommand)]
pub(crate) enum Verb {
    /// Copy a stopped ledger, record by record and verified, into a new place, where it goes on: SQLite
    /// to PostgreSQL, back, or from one to another of a kind. The old place is closed for ever
    Copy(copy::Args),
}

impl Verb {
    /// Runs the verb.
    pub(crate) async fn run(self, out: &mut Out) -> Result<Exit, Failure> {
        match self {
            Verb::Copy(args) => copy::run(args, out).await,
        }
    }
}
