//! `x811 negotiation counter`.

use x811_client::compose::NegotiationStep;
use x811_protocol::facts::AmountOf;
use x811_protocol::id::{ContractId, IdError};
use x811_protocol::money::MicroUsdc;

use super::talks::{Talks, put_amount};
use crate::context::Context;
use crate::failure::Failure;
use crate::send::sent::Sent;
use crate::send::usdc;

/// Reads `neg-UUID` from the command line.
pub(crate) fn negotiation(text: &str) -> Result<ContractId, IdError> {
    ContractId::from_public(text)
}

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Which negotiation, as neg-UUID
    #[arg(value_parser = negotiation)]
    pub(crate) negotiation: ContractId,
    /// What is paid; everything else stays as in the last terms
    #[arg(long, value_name = "USDC", value_parser = usdc)]
    pub(crate) amount: MicroUsdc,
    /// What the amount is: total (fee included) or price
    #[arg(long, value_name = "WHAT", default_value = "total")]
    pub(crate) amount_of: AmountOf,
    /// How long the terms are good; as the last ones without it
    #[arg(long, value_name = "SECONDS")]
    pub(crate) expires_in: Option<u64>,
    /// A word for the other party
    #[arg(long)]
    pub(crate) message: Option<String>,
}

/// Answers the last terms by others.
pub(crate) async fn run(args: Args, context: &Context) -> Result<Sent, Failure> {
    let talks = Talks::open(context, args.negotiation).await?;
    let mut terms = talks.terms().await?;
    put_amount(&mut terms, args.amount, args.amount_of);
    let now = context.now();
    let expires_at = args
        .expires_in
        .map(|seconds| now.saturating_add_ms(seconds.saturating_mul(1_000)));
    let step = NegotiationStep::Counter {
        answers: talks.answers,
        terms,
        expires_at,
        message: args.message,
    };
    talks.say(&step).await
}
