//! `x811 capability agree`.

use x811_client::compose::SessionStep;
use x811_protocol::id::SessionId;

use super::dealing::Dealing;
use crate::context::Context;
use crate::failure::Failure;
use crate::send::sent::Sent;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Which session; its last terms must be accepted
    #[arg(value_name = "ID")]
    session: SessionId,
}

/// Signs the agreement that follows from the session.
pub(super) async fn run(args: Args, context: &Context) -> Result<Sent, Failure> {
    let dealing = Dealing::open(context, args.session).await?;
    let (_, _) = dealing.last_terms()?;
    let ledger = dealing.client.info().await?.did;
    let agreement = dealing.session.agreement(&dealing.client, ledger).await?;
    let agreement = agreement.ok_or_else(|| Failure::usage("the session has no terms yet"))?;
    let step = SessionStep::agree(agreement, &dealing.identity);
    let sent = dealing.say(&step).await?;
    let view = &dealing.session.view;
    Ok(sent
        .note("agreement", view.agreement_id)
        .note("revision", view.revision))
}
