//! `x811 capability`: what agents can do. One file for each verb.

mod advertise;
mod show;

use clap::Subcommand;

use crate::context::Context;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::Out;

#[derive(Debug, Subcommand)]
pub(crate) enum Verb {
    /// Publish what your agent can do: a descriptor, one revision above the last
    Advertise(advertise::Args),
    /// Show what an agent says that it can do, its signature checked
    Show(show::Args),
}

impl Verb {
    /// Runs the verb.
    pub(crate) async fn run(self, context: &Context, out: &mut Out) -> Result<Exit, Failure> {
        match self {
            Verb::Advertise(args) => out.report(&advertise::run(args, context).await?),
            Verb::Show(args) => out.report(&show::run(args, context).await?),
        }
        Ok(Exit::Ok)
    }
}
