//! `x811 rounds signal`.

use x811_client::round::signal;
use x811_protocol::facts::consensus::{Decision, HumanRuling};
use x811_protocol::id::RoundId;

use super::Member;
use crate::context::Context;
use crate::failure::Failure;
use crate::send::sent::Sent;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Which round: the envelope id of its proposal
    #[arg(value_name = "ROUND")]
    round: RoundId,
    /// What you decide, approve or reject, where the leader decides; else the tally does
    #[arg(long, value_name = "WORD")]
    decision: Option<HumanRuling>,
    /// Why; needed against the votes
    #[arg(long, value_name = "TEXT")]
    rationale: Option<String>,
}

/// Signs the ledger's tally, or decides.
pub(super) async fn run(args: Args, context: &Context) -> Result<Sent, Failure> {
    let member = Member::open(context).await?;
    let view = member.client.round(args.round).await?;
    let decision = args.decision.map(|ruling| match ruling {
        HumanRuling::Approve => Decision::Approve,
        HumanRuling::Reject => Decision::Reject,
    });
    member.say(&signal(&view, decision, args.rationale)?).await
}
