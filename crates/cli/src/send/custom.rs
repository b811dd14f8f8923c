//! `x811 send custom`.

use x811_client::compose::Custom;
use x811_protocol::did::Did;
use x811_protocol::envelope::CustomType;

use super::json_object;
use super::sent::{Sent, deliver};
use crate::context::Context;
use crate::failure::Failure;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The recipient
    #[arg(long, value_name = "DID")]
    to: Did,
    /// The type, x811.NAMESPACE/NAME
    #[arg(long = "type", value_name = "TYPE")]
    message_type: CustomType,
    /// The payload as a JSON object, or @FILE with one
    #[arg(long, value_name = "JSON", default_value = "{}")]
    payload: String,
}

/// Sends a message of one's own type.
pub(crate) async fn run(args: Args, context: &Context) -> Result<Sent, Failure> {
    let client = context.client()?;
    let identity = context.identity(&client).await?;
    let custom = Custom {
        message_type: args.message_type,
        payload: json_object(&args.payload)?,
    };
    deliver(context, &client, &identity, args.to, &custom).await
}
