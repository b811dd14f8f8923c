//! `x811 provider`: what a provider wants to know.

mod paid;

use clap::Subcommand;

use crate::context::Context;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::Out;

/// What to tell the provider.
#[derive(Debug, Subcommand)]
pub(crate) enum Verb {
    /// Was I paid? Of one interaction, with exit code 0 paid, 10 not yet, 11 no; or of all
    Paid(paid::Args),
}

impl Verb {
    pub(crate) async fn run(self, context: &Context, out: &mut Out) -> Result<Exit, Failure> {
        match self {
            Verb::Paid(args) => paid::run(args, context, out).await,
        }
    }
}
