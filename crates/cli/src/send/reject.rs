//! `x811 send reject`.

use x811_client::compose::Reject;
use x811_protocol::code::Code;
use x811_protocol::facts::RejectCode;
use x811_protocol::id::InteractionId;

use super::case::{Case, Party};
use super::sent::Sent;
use crate::context::Context;
use crate::failure::Failure;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Which interaction
    pub(crate) interaction: InteractionId,
    /// PRICE_TOO_HIGH, DEADLINE_TOO_SHORT, TRUST_TOO_LOW, POLICY_REJECTED or OTHER
    #[arg(long, default_value = "OTHER")]
    pub(crate) code: RejectCode,
    /// Why, in your words
    #[arg(long, default_value = "the initiator declined")]
    pub(crate) reason: String,
}

/// Turns the offer down.
pub(crate) async fn run(args: Args, context: &Context) -> Result<Sent, Failure> {
    let case = Case::open(context, args.interaction, Party::Initiator).await?;
    let reject = Reject {
        offer_id: case.offer()?.0,
        reason: args.reason,
        code: args.code,
        error_code: (args.code != RejectCode::Other).then_some(Code::PolicyRejected),
    };
    case.say(&reject).await
}
