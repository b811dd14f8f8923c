//! `x811 capability close`.

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
}

/// Leaves the session.
pub(super) async fn run(args: Args, context: &Context) -> Result<Sent, Failure> {
    let session = args.session;
    let step = SessionStep::Close { session };
    Dealing::open(context, session).await?.say(&step).await
}
