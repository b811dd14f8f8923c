//! `x811 escalations`: what humans are asked, and what they decide.

mod decide;
mod list;
mod show;

use clap::Subcommand;

use crate::context::Context;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::Out;
use crate::rounds::RoundArgs;

#[derive(Debug, Subcommand)]
pub(crate) enum Verb {
    /// List the rounds that wait for a human
    List,
    /// Show what is decided on: why, what was proposed, and what everybody said
    Show(RoundArgs),
    /// Decide for everybody, as a human whom the ledger's parameters name
    Decide(decide::Args),
}

impl Verb {
    /// Runs the verb.
    pub(crate) async fn run(self, context: &Context, out: &mut Out) -> Result<Exit, Failure> {
        match self {
            Verb::List => list::run(context, out).await,
            Verb::Show(args) => show::run(args.round, context, out).await,
            Verb::Decide(args) => {
                out.report(&decide::run(args, context).await?);
                Ok(Exit::Ok)
            }
        }
    }
}
