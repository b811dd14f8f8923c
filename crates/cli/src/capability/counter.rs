//! `x811 capability counter`.

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

/// Answers the last terms by others; what is not named stays as it was.
pub(super) async fn run(args: Args, context: &Context) -> Result<Sent, Failure> {
    let dealing = Dealing::open(context, args.session).await?;
    let (answers, _) = dealing.last_terms()?;
    let before = dealing.session.terms(&dealing.client).await?;
    let step = SessionStep::Counter {
        answers,
        terms: args.terms.on(before.unwrap_or_default())?,
    };
    dealing.say(&step).await
}
