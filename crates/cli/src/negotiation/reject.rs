//! `x811 negotiation reject`.

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
pub(crate) async fn run(args: Args, context: &Context) -> Result<Sent, Failure> {
    let talks = Talks::open(context, args.negotiation).await?;
    let step = NegotiationStep::Reject {
        answers: talks.answers,
        message: args.message,
    };
    talks.say(&step).await
}
