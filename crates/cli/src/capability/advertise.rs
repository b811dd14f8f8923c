//! `x811 capability advertise`.

use x811_client::compose::Advert;

use crate::context::Context;
use crate::failure::Failure;
use crate::send::json_object;
use crate::send::sent::{Sent, deliver};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The descriptor as a JSON object, or @FILE with one; agent_id and revision are filled in
    #[arg(value_name = "JSON")]
    descriptor: String,
}

/// Publishes the next revision.
pub(super) async fn run(args: Args, context: &Context) -> Result<Sent, Failure> {
    let client = context.client()?;
    let identity = context.identity(&client).await?;
    let last = client.descriptor(identity.did).await?;
    let advert = Advert {
        agent: identity.did,
        revision: last.map_or(1, |last| last.facts.revision + 1),
        descriptor: json_object(&args.descriptor)?,
    };
    let ledger = client.info().await?.did;
    let sent = deliver(context, &client, &identity, ledger, &advert).await?;
    Ok(sent.note("revision", advert.revision))
}
