//! `x811 negotiation`: terms before work.

mod verify;

use clap::Subcommand;

use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::Out;

#[derive(Debug, Subcommand)]
pub(crate) enum Verb {
    /// Verify a negotiation chain of XAP offline: links, signatures, turns, rounds, expiry, terms
    Verify(verify::Args),
}

impl Verb {
    /// Runs the verb.
    pub(crate) fn run(self, out: &mut Out) -> Result<Exit, Failure> {
        match self {
            Verb::Verify(args) => verify::run(args, out),
        }
    }
}
