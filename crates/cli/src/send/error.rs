//! `x811 send error`.

use x811_client::compose::ErrorReport;
use x811_protocol::code::Code;
use x811_protocol::did::Did;
use x811_protocol::id::EnvelopeId;

use super::sent::{Sent, deliver};
use crate::context::Context;
use crate::failure::Failure;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Whom to tell
    #[arg(long, value_name = "DID")]
    to: Did,
    /// Which fault, such as X811-9002
    #[arg(long)]
    code: Code,
    /// What happened, in your words
    #[arg(long, value_name = "TEXT")]
    message: String,
    /// The envelope it is about
    #[arg(long, value_name = "ID")]
    related: Option<EnvelopeId>,
}

/// Tells of a fault.
pub(crate) async fn run(args: Args, context: &Context) -> Result<Sent, Failure> {
    let client = context.client()?;
    let identity = context.identity(&client).await?;
    let report = ErrorReport {
        code: args.code,
        message: args.message,
        related: args.related,
    };
    deliver(context, &client, &identity, args.to, &report).await
}
