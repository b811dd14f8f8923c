//! `x811 negotiation withdraw`.

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

/// Takes one's own last terms back.
pub(crate) async fn run(args: Args, context: &Context) -> Result<Sent, Failure> {
    let talks = Talks::open(context, args.negotiation).await?;
    let step = NegotiationStep::Withdraw {
        answers: talks.answers,
        message: args.message,
    };
    talks.say(&step).await
}
