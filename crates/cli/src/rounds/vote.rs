//! `x811 rounds vote`.

use x811_client::compose::Ballot;
use x811_protocol::facts::consensus::{Decision, Voting};
use x811_protocol::id::RoundId;

use super::{Member, ballots};
use crate::context::Context;
use crate::failure::Failure;
use crate::send::sent::Sent;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Which round: the envelope id of its proposal
    #[arg(value_name = "ROUND")]
    round: RoundId,
    /// approve, reject or abstain
    #[arg(value_name = "DECISION")]
    decision: Decision,
    /// Why; a rejection needs it
    #[arg(long, value_name = "TEXT")]
    rationale: Option<String>,
    /// A round that stands in the way; repeat for more
    #[arg(long = "blocked-by", value_name = "ROUND")]
    blocked_by: Vec<RoundId>,
}

/// Votes on what the proposer signed.
pub(super) async fn run(args: Args, context: &Context) -> Result<Sent, Failure> {
    let member = Member::open(context).await?;
    let proposed = member.proposed(args.round).await?;
    let ballot = Ballot {
        decision: args.decision,
        rationale: args.rationale,
    };
    if proposed.facts.voting == Voting::Open {
        return member.say(&proposed.vote(ballot, args.blocked_by)).await;
    }
    if !args.blocked_by.is_empty() {
        return Err(Failure::usage(
            "a sealed vote names no rounds: they would show what it says",
        ));
    }
    let secret = ballots::keep(context, &member, args.round, ballot)?;
    let step = proposed.commitment(&secret, member.identity.did);
    let sent = member.say(&step).await?;
    let path = context.home.ballot_path(&member.identity.name, args.round);
    Ok(sent
        .note("sealed in", path.display())
        .note("then", format!("x811 rounds reveal {}", args.round)))
}
