//! `x811 capability revoke`.

use x811_client::compose::SessionStep;
use x811_protocol::id::AgreementId;

use crate::context::Context;
use crate::failure::Failure;
use crate::send::sent::{Sent, deliver};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Which agreement
    #[arg(value_name = "ID")]
    agreement: AgreementId,
    /// Why
    #[arg(long, value_name = "TEXT")]
    reason: String,
}

/// Ends the agreement at once.
pub(super) async fn run(args: Args, context: &Context) -> Result<Sent, Failure> {
    let (identity, client) = context.acting().await?;
    let agreement = client.agreement(args.agreement).await?;
    let to = if agreement.consumer == identity.did {
        agreement.provider
    } else {
        agreement.consumer
    };
    let step = SessionStep::Revoke {
        agreement: agreement.id,
        revision: agreement.revision,
        reason: args.reason,
    };
    let sent = deliver(context, &client, &identity, to, &step).await?;
    Ok(sent.note("agreement", agreement.id))
}
