//! `x811 escalations decide`.

use x811_client::compose::RoundStep;
use x811_protocol::facts::consensus::HumanRuling;
use x811_protocol::id::RoundId;

use crate::context::Context;
use crate::failure::Failure;
use crate::rounds::Member;
use crate::send::sent::Sent;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Which round: the envelope id of its proposal
    #[arg(value_name = "ROUND")]
    round: RoundId,
    /// approve or reject
    #[arg(value_name = "DECISION")]
    decision: HumanRuling,
    /// Why
    #[arg(long, value_name = "TEXT")]
    rationale: String,
}

/// Signs the decision on the escalation that is open.
pub(super) async fn run(args: Args, context: &Context) -> Result<Sent, Failure> {
    let member = Member::open(context).await?;
    let asked = member.client.escalation(args.round).await?;
    let escalation = asked["escalation"].as_u64().ok_or_else(|| {
        Failure::untrusted("the ledger does not say at which record humans were asked")
    })?;
    member
        .say(&RoundStep::HumanDecision {
            round: args.round,
            escalation,
            ruling: args.decision,
            rationale: args.rationale,
        })
        .await
}
