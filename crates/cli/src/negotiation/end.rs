//! `x811 negotiation reject` and `withdraw`: no agreement, by who answers or by who proposed.

use x811_client::compose::NegotiationStep;
use x811_protocol::id::ContractId;

use super::counter::negotiation;
use super::talks::Talks;
use crate::context::Context;
use crate::failure::Failure;
use crate::send::sent::Sent;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Which negotiation, as neg-UUID
    #[arg(value_parser = negotiation)]
    pub(crate) negotiation: ContractId,
    /// A word for the other party
    #[arg(long)]
    pub(crate) message: Option<String>,
}

/// Turns the last terms down.
pub(crate) async fn reject(args: Args, context: &Context) -> Result<Sent, Failure> {
    let talks = Talks::open(context, args.negotiation).await?;
    let (answers, message) = (talks.answers, args.message);
    talks
        .say(&NegotiationStep::Reject { answers, message })
        .await
}

/// Takes one's own last terms back.
pub(crate) async fn withdraw(args: Args, context: &Context) -> Result<Sent, Failure> {
    let talks = Talks::open(context, args.negotiation).await?;
    let (answers, message) = (talks.answers, args.message);
    talks
        .say(&NegotiationStep::Withdraw { answers, message })
        .await
}
