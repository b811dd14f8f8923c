//! `x811 rounds propose`.

use x811_client::compose::{NewProposal, RoundStep};
use x811_protocol::did::Did;
use x811_protocol::facts::consensus::{Mechanism, Threshold, Voting};
use x811_protocol::id::RoundId;

use super::Member;
use crate::context::Context;
use crate::failure::Failure;
use crate::send::json_object;
use crate::send::sent::Sent;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// What is decided, for whoever votes
    #[arg(long, value_name = "TEXT")]
    subject: String,
    /// What is done if it is accepted, as a JSON object with a type, or @FILE with one
    #[arg(long, value_name = "JSON")]
    action: String,
    /// Who votes; repeat for more
    #[arg(long = "participant", value_name = "DID", required = true)]
    participants: Vec<Did>,
    /// How votes decide: majority, weighted, leader or optimistic
    #[arg(long, value_name = "WORD", default_value = "majority")]
    mechanism: Mechanism,
    /// The least number of votes; more than half without it
    #[arg(long, value_name = "NUMBER")]
    quorum: Option<u64>,
    /// How long votes are taken
    #[arg(long, value_name = "SECONDS", default_value_t = 60)]
    timeout: u64,
    /// The agent that leads; the ledger without it
    #[arg(long, value_name = "DID")]
    leader: Option<Did>,
    /// Votes are sealed: nobody reads them before the time for votes is over
    #[arg(long)]
    sealed: bool,
    /// How long sealed votes may be revealed
    #[arg(long, value_name = "SECONDS", requires = "sealed")]
    reveal: Option<u64>,
    /// How many faulty agents are tolerated: takes 3f + 1 participants
    #[arg(long, value_name = "NUMBER")]
    f: Option<u64>,
    /// Weight of a participant, in their order; repeat for each
    #[arg(long = "weight", value_name = "NUMBER")]
    weights: Vec<u64>,
    /// What the approving part of all weight must exceed, as 2/3; one half without it
    #[arg(long, value_name = "N/D", value_parser = threshold)]
    threshold: Option<Threshold>,
    /// How soon it must be decided, 0 to 100
    #[arg(long, value_name = "NUMBER")]
    urgency: Option<u64>,
    /// How narrow the action is, 0 to 100
    #[arg(long, value_name = "NUMBER")]
    specificity: Option<u64>,
    /// A round that stands in its way; repeat for more
    #[arg(long = "blocked-by", value_name = "ROUND")]
    blocked_by: Vec<RoundId>,
    /// The failed round of yours that it retries
    #[arg(long, value_name = "ROUND")]
    retry: Option<RoundId>,
}

fn threshold(text: &str) -> Result<Threshold, String> {
    let parts = text.split_once('/').and_then(|(num, den)| {
        let part = Threshold {
            num: num.parse().ok()?,
            den: den.parse().ok()?,
        };
        Some(part)
    });
    parts.ok_or_else(|| "write a part of the whole as 2/3".to_owned())
}

/// Opens a round.
pub(super) async fn run(args: Args, context: &Context) -> Result<Sent, Failure> {
    let member = Member::open(context).await?;
    let retry = match args.retry {
        Some(failed) => Some((failed, member.proposed(failed).await?.facts.attempt + 1)),
        None => None,
    };
    let seats = args.participants.len() as u64;
    let proposal = NewProposal {
        action: json_object(&args.action)?,
        blocked_by: args.blocked_by,
        f: args.f,
        leader: args.leader.unwrap_or(member.ledger),
        mechanism: args.mechanism,
        participants: args.participants,
        quorum: args.quorum.unwrap_or(seats / 2 + 1),
        retry,
        reveal_ms: args.reveal.map(|seconds_s| seconds_s.saturating_mul(1_000)),
        specificity: args.specificity,
        subject: args.subject,
        threshold: args.threshold,
        timeout: context
            .now()
            .saturating_add_ms(args.timeout.saturating_mul(1_000)),
        urgency: args.urgency,
        voting: if args.sealed {
            Voting::Sealed
        } else {
            Voting::Open
        },
        weights: (!args.weights.is_empty()).then_some(args.weights),
    };
    let timeout = proposal.timeout;
    let sent = member.say(&RoundStep::Propose(Box::new(proposal))).await?;
    let round = RoundId::from(sent.accepted.envelope_id);
    Ok(sent
        .note("round", round)
        .note("votes until", timeout.to_rfc3339()))
}
