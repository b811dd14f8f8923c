//! `x811 capability accept`.

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

/// Accepts the last terms as they are recorded.
pub(super) async fn run(args: Args, context: &Context) -> Result<Sent, Failure> {
    let dealing = Dealing::open(context, args.session).await?;
    let (answers, terms_hash) = dealing.last_terms()?;
    let step = SessionStep::Accept {
        answers,
        terms_hash,
    };
    let sent = dealing.say(&step).await?;
    Ok(sent.note("next", "both sign: x811 capability agree"))
}
