//! `x811 capability offer`.

use serde_json::Map;
use x811_client::compose::SessionStep;
use x811_protocol::id::SessionId;

use super::dealing::{Dealing, TermsArgs};
use crate::context::Context;
use crate::failure::Failure;
use crate::send::sent::Sent;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Which session
    #[arg(value_name = "ID")]
    session: SessionId,
    #[command(flatten)]
    terms: TermsArgs,
}

/// Offers the first terms.
pub(super) async fn run(args: Args, context: &Context) -> Result<Sent, Failure> {
    let step = SessionStep::Offer {
        session: args.session,
        terms: args.terms.on(Map::new())?,
    };
    Dealing::open(context, args.session).await?.say(&step).await
}
