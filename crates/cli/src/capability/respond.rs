//! `x811 capability respond`.

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
    /// You do not negotiate; ends the session
    #[arg(long, conflicts_with = "lifetime_ms")]
    decline: bool,
    /// How long the session may take from here; as the ledger says without it
    #[arg(long, value_name = "MS")]
    lifetime_ms: Option<u64>,
}

/// Says whether the agent negotiates.
pub(super) async fn run(args: Args, context: &Context) -> Result<Sent, Failure> {
    let step = SessionStep::Response {
        session: args.session,
        willing: !args.decline,
        lifetime_ms: args.lifetime_ms,
    };
    Dealing::open(context, args.session).await?.say(&step).await
}
