//! `x811 capability request`.

use x811_client::compose::{Renews, SessionStep};
use x811_protocol::capability::version::{Version, VersionRange};
use x811_protocol::did::Did;
use x811_protocol::facts::RenewalReason;
use x811_protocol::id::{AgreementId, SessionId};

use crate::context::Context;
use crate::failure::Failure;
use crate::send::json_object;
use crate::send::sent::{Sent, deliver};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Whose capability; to negotiate an agreement again, the other party of it
    #[arg(long, value_name = "DID")]
    to: Did,
    /// The type of the capability, as the other's descriptor has it
    #[arg(long = "type", value_name = "TYPE")]
    capability: String,
    /// The lowest version that you support
    #[arg(long, value_name = "VERSION", default_value = "1.0.0")]
    min: Version,
    /// The highest version that you support
    #[arg(long, value_name = "VERSION")]
    max: Version,
    /// A version that you support but deprecate; may be repeated
    #[arg(long, value_name = "VERSION")]
    deprecated: Vec<Version>,
    /// What to use it with, as a JSON object, or @FILE with one
    #[arg(long, value_name = "JSON", default_value = "{}")]
    parameters: String,
    /// The agreement to negotiate again
    #[arg(long, value_name = "ID", requires = "reason")]
    agreement: Option<AgreementId>,
    /// Why it is negotiated again: resource_change, new_constraint or inadequate
    #[arg(long, value_name = "REASON", requires = "agreement")]
    reason: Option<RenewalReason>,
}

/// Opens a session.
pub(super) async fn run(args: Args, context: &Context) -> Result<Sent, Failure> {
    let (identity, client) = context.acting().await?;
    let renews = match (args.agreement, args.reason) {
        (Some(agreement), Some(reason)) => {
            let revision = client.agreement(agreement).await?.revision;
            Some(Renews {
                agreement,
                revision,
                reason,
            })
        }
        _ => None,
    };
    let step = SessionStep::Request {
        capability: args.capability,
        protocol: VersionRange {
            deprecated: args.deprecated,
            max: args.max,
            min: args.min,
        },
        parameters: json_object(&args.parameters)?,
        renews,
    };
    let sent = deliver(context, &client, &identity, args.to, &step).await?;
    let session = SessionId::from(sent.accepted.envelope_id);
    Ok(sent.note("session", session))
}
