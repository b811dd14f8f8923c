//! `x811 agents`: other agents, as the ledger knows them.

pub(crate) mod list;
mod trust;

use clap::Subcommand;

use crate::context::Context;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::Out;

/// What to ask about agents.
#[derive(Debug, Subcommand)]
pub(crate) enum Verb {
    /// Who is registered and may act, in order of registration
    List(list::Args),
    /// What an agent has earned, now or as of some record
    Trust(trust::Args),
}

impl Verb {
    pub(crate) async fn run(self, context: &Context, out: &mut Out) -> Result<Exit, Failure> {
        match self {
            Verb::List(args) => list::run(args, context, out).await,
            Verb::Trust(args) => trust::run(args, context, out).await,
        }
    }
}
