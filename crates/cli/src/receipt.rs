//! `x811 receipt`: proof of a payment that can be handed to anybody, and its verification.

mod either;
pub(crate) mod fetch;
mod file;
mod network;
mod proof;
mod refresh;
mod verify;

use clap::{Args as ClapArgs, Subcommand};
use x811_protocol::id::InteractionId;

use crate::context::Context;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::Out;

#[derive(Debug, ClapArgs)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
pub(crate) struct Args {
    #[command(subcommand)]
    verb: Option<Verb>,
    #[command(flatten)]
    fetch: fetch::Args,
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// Verify a receipt offline: what is proven, what is asserted, what nobody checked
    Verify(verify::Args),
    /// Ask the ledger for the proof that holds a receipt or bundle from before it replaced its
    /// checkpoint key, and keep it beside the file
    Refresh(refresh::Args),
    /// Take the inclusion proof out of a receipt, as a C2SP tlog-proof
    Proof(proof::Args),
}

/// Fetches a receipt, or verifies one.
pub(crate) async fn run(args: Args, context: &Context, out: &mut Out) -> Result<Exit, Failure> {
    match args.verb {
        Some(Verb::Verify(args)) => verify::run(args, context, out).await,
        Some(Verb::Refresh(args)) => refresh::run(args, context, out).await,
        Some(Verb::Proof(args)) => proof::run(args, out),
        None => fetch::run(args.fetch, context, out).await,
    }
}
