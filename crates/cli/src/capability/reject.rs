//! `x811 capability reject`.

use x811_client::compose::SessionStep;
use x811_protocol::id::SessionId;

use super::dealing::Dealing;
use crate::context::Context;
use crate::failure::Failure;
use crate::send::sent::Sent;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Which session
    #[arg(value_name = "ID")]
    session: SessionId,
    /// Why
    #[arg(long, value_name = "TEXT")]
    rationale: String,
}

/// Turns the last terms down, which ends the session.
pub(super) async fn run(args: Args, context: &Context) -> Result<Sent, Failure> {
    let dealing = Dealing::open(context, args.session).await?;
    let (answers, _) = dealing.last_terms()?;
    let rationale = args.rationale;
    let step = SessionStep::Reject { answers, rationale };
    dealing.say(&step).await
}
