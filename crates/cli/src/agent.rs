//! `x811 agent`: make agents, register them, show them.

mod new;
mod register;
mod show;

use clap::Subcommand;

use crate::context::Context;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::Out;

/// What to do with agents.
#[derive(Debug, Subcommand)]
pub(crate) enum Verb {
    /// Make a new agent: a DID, a signing key and a wallet key, in files only you can read
    New(new::Args),
    /// Make an agent known to the ledger: its keys, what it can do, its wallet
    Register(register::Args),
    /// Show your agents, or what the ledger knows of any agent
    Show(show::Args),
}

impl Verb {
    pub(crate) async fn run(self, context: &Context, out: &mut Out) -> Result<Exit, Failure> {
        match self {
            Verb::New(args) => new::run(args, context, out),
            Verb::Register(args) => register::run(args, context, out).await,
            Verb::Show(args) => show::run(args, context, out).await,
        }
    }
}
