//! `x811 provider paid`: where the money is, of one interaction or of all.

mod all;
mod one;

use std::num::NonZeroUsize;

use x811_protocol::id::InteractionId;
use x811_protocol::settlement_view::ProviderPaid;

use crate::context::Context;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::{Out, Tone};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Which interaction; without one, all that the agent provides
    #[arg(value_name = "INTERACTION", conflicts_with = "named")]
    interaction: Option<InteractionId>,
    /// The same, as an option
    #[arg(long = "interaction", value_name = "INTERACTION")]
    named: Option<InteractionId>,
    /// Of all interactions, only so many of the newest
    #[arg(long, value_name = "N", conflicts_with_all = ["interaction", "named"])]
    last: Option<NonZeroUsize>,
    /// Wait until it is paid or will not be, and say what changes
    #[arg(long)]
    watch: bool,
}

/// Answers paid, not yet, or no.
pub(crate) async fn run(args: Args, context: &Context, out: &mut Out) -> Result<Exit, Failure> {
    match args.interaction.or(args.named) {
        Some(interaction) => one::run(interaction, args.watch, context, out).await,
        None if args.watch => Err(Failure::usage(
            "--watch follows one interaction: name it, such as x811 provider paid ID --watch",
        )),
        None => all::run(args.last, context, out).await,
    }
}

/// The answer in a word, and how it is meant.
fn word(paid: ProviderPaid) -> (Tone, &'static str) {
    match paid {
        ProviderPaid::Yes => (Tone::Good, "PAID"),
        ProviderPaid::NotYet => (Tone::Waiting, "NOT YET"),
        ProviderPaid::No => (Tone::Bad, "NO"),
    }
}
