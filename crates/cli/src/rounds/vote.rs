//! `x811 rounds vote`.

use x811_client::compose::Ballot;
use x811_client::home::HomeError;
use x811_client::round::Secret;
use x811_protocol::facts::consensus::{Decision, Voting};
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
    let secret = kept(context, &member, args.round, ballot)?;
    let step = proposed.commitment(&secret, member.identity.did);
    let sent = member.say(&step).await?;
    let path = context.home.ballot_path(&member.identity.name, args.round);
    Ok(sent
        .note("sealed in", path.display())
        .note("then", format!("x811 rounds reveal {}", args.round)))
}

/// The sealed vote, on the disk before its commitment is sent. One that was kept before is sent again.
fn kept(
    context: &Context,
    member: &Member<'_>,
    round: RoundId,
    ballot: Ballot,
) -> Result<Secret, Failure> {
    let name = &member.identity.name;
    let drawn = Secret::draw(round, ballot, context.now(), &*context.entropy)?;
    let file =
        serde_json::to_vec_pretty(&drawn).map_err(|error| Failure::internal(&error.to_string()))?;
    match context.home.add_ballot(name, round, &file) {
        Ok(()) => Ok(drawn),
        Err(HomeError::Exists { .. }) => {
            let before = read(context, member, round)?;
            if before.ballot == drawn.ballot {
                return Ok(before);
            }
            let path = context.home.ballot_path(name, round);
            Err(Failure::local(
                "voted",
                format!(
                    "{} has another vote of yours in this round, and a second one would be kept as \
                     evidence against you",
                    path.display()
                ),
            )
            .hint("reveal that one when the time for votes is over"))
        }
        Err(error) => Err(error.into()),
    }
}

/// The sealed vote that is kept for a round.
pub(super) fn read(
    context: &Context,
    member: &Member<'_>,
    round: RoundId,
) -> Result<Secret, Failure> {
    let name = &member.identity.name;
    let path = context.home.ballot_path(name, round);
    let bytes = context.home.ballot(name, round)?.ok_or_else(|| {
        Failure::local(
            "no_ballot",
            format!("{} does not exist: you have sealed no vote", path.display()),
        )
        .hint("vote with `x811 rounds vote`, from the home that you reveal from")
    })?;
    serde_json::from_slice(&bytes).map_err(|error| {
        Failure::local("ballot", format!("{} is damaged: {error}", path.display()))
            .hint("restore it from a copy: without it the vote cannot be revealed")
    })
}
