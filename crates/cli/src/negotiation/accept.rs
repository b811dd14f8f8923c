//! `x811 negotiation accept`.

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
}

/// Agrees to the last terms as they are recorded.
pub(crate) async fn run(args: Args, context: &Context) -> Result<Sent, Failure> {
    accept(&Talks::open(context, args.negotiation).await?).await
}

/// Agrees to the last terms of a negotiation that was read.
pub(crate) async fn accept(talks: &Talks<'_>) -> Result<Sent, Failure> {
    let step = NegotiationStep::Accept {
        answers: talks.answers,
        terms_hash: talks.terms_hash,
    };
    talks.say(&step).await
}
