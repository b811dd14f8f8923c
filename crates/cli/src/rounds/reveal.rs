//! `x811 rounds reveal`.

use x811_protocol::id::RoundId;

use super::{Member, ballots};
use crate::context::Context;
use crate::failure::Failure;
use crate::send::sent::Sent;

/// Reveals the vote that is kept.
pub(super) async fn run(round: RoundId, context: &Context) -> Result<Sent, Failure> {
    let member = Member::open(context).await?;
    let secret = ballots::read(context, &member, round)?;
    member.say(&secret.reveal()).await
}
