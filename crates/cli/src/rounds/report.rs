//! `x811 rounds report`.

use serde_json::Value;
use x811_client::compose::RoundStep;
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
    /// It could not be done; without it, it is done
    #[arg(long)]
    failed: bool,
    /// What there is to say of it
    #[arg(long, value_name = "TEXT")]
    text: Option<String>,
}

/// Says what became of the decision.
pub(super) async fn run(args: Args, context: &Context) -> Result<Sent, Failure> {
    let step = RoundStep::Report {
        round: args.round,
        done: !args.failed,
        report: args.text.map(Value::from),
    };
    Member::open(context).await?.say(&step).await
}
