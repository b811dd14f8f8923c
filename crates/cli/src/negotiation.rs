//! `x811 negotiation`: terms before work. One file for each verb.

pub(crate) mod accept;
pub(crate) mod counter;
pub(crate) mod end;
pub(crate) mod list;
pub(crate) mod offer;
pub(crate) mod show;
pub(crate) mod talks;
mod verify;

use clap::Subcommand;

use crate::context::Context;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::Out;

#[derive(Debug, Subcommand)]
pub(crate) enum Verb {
    /// Offer terms to another agent; opens a negotiation
    Offer(offer::Args),
    /// Answer the last terms by others
    Counter(counter::Args),
    /// Agree to the last terms; the payer's REQUEST then names the negotiation
    Accept(accept::Args),
    /// Turn the last terms down; ends the negotiation
    Reject(end::Args),
    /// Take your own last terms back; ends the negotiation
    Withdraw(end::Args),
    /// List your negotiations, oldest first
    List(list::Args),
    /// Show a negotiation as a contract
    Show(show::Args),
    /// Verify a negotiation chain of XAP offline: links, signatures, turns, rounds, expiry, terms
    Verify(verify::Args),
}

impl Verb {
    /// Runs the verb.
    pub(crate) async fn run(self, context: &Context, out: &mut Out) -> Result<Exit, Failure> {
        let sent = match self {
            Verb::Offer(args) => offer::run(args, context).await?,
            Verb::Counter(args) => counter::run(args, context).await?,
            Verb::Accept(args) => accept::run(args, context).await?,
            Verb::Reject(args) => end::reject(args, context).await?,
            Verb::Withdraw(args) => end::withdraw(args, context).await?,
            Verb::List(args) => return list::run(args, context, out).await,
            Verb::Show(args) => return show::run(args, context, out).await,
            Verb::Verify(args) => return verify::run(args, out),
        };
        out.report(&sent);
        Ok(Exit::Ok)
    }
}
