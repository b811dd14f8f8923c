//! `x811 send offer`.

use x811_client::compose::Offer;
use x811_protocol::evm::EvmAddress;
use x811_protocol::id::InteractionId;
use x811_protocol::money::MicroUsdc;

use super::case::{Case, Party};
use super::sent::Sent;
use super::{account, usdc};
use crate::context::Context;
use crate::failure::Failure;
use x811_protocol::narration;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Which interaction
    pub(crate) interaction: InteractionId,
    /// What you get; the initiator pays 2.5 % protocol fee on top
    #[arg(long, value_name = "USDC", value_parser = usdc)]
    pub(crate) price: MicroUsdc,
    /// How long the work will take
    #[arg(long, value_name = "SECONDS")]
    pub(crate) time: u64,
    /// What you will deliver; repeat for more
    #[arg(
        long = "deliverable",
        value_name = "TEXT",
        default_value = "the result"
    )]
    pub(crate) deliverables: Vec<String>,
    /// How long the offer stands; the ledger caps it at 300
    #[arg(long, value_name = "SECONDS", default_value_t = 300)]
    pub(crate) expiry: u64,
    /// Further conditions
    #[arg(long)]
    pub(crate) terms: Option<String>,
    /// Where to be paid; the account of your own wallet key without it, and where you have none the
    /// wallet that the ledger has registered
    #[arg(long, value_name = "ADDRESS", value_parser = account)]
    pub(crate) payment_address: Option<EvmAddress>,
}

/// Makes a binding offer.
pub(crate) async fn run(args: Args, context: &Context) -> Result<Sent, Failure> {
    let case = Case::open(context, args.interaction, Party::Provider).await?;
    let offer = Offer {
        interaction: args.interaction,
        price: args.price,
        estimated_time_s: args.time,
        deliverables: args.deliverables,
        expiry_s: args.expiry,
        terms: args.terms,
        payment_address: args.payment_address.or_else(|| case.identity.account()),
    };
    let total = narration::usdc(offer.total_cost()?);
    let fee = args.price.protocol_fee().to_usdc_decimal();
    let sent = case.say(&offer).await?;
    Ok(sent.note("total", format!("{total}, {fee} of it protocol fee")))
}
