//! `x811 agent revoke`.

use x811_client::compose::StatusChange;
use x811_client::identity::AgentName;

use super::change::change_status;
use crate::context::Context;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::Out;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Which agent; not needed while there is only one
    name: Option<AgentName>,
    /// Yes, for ever: nobody can undo it
    #[arg(long, required = true)]
    for_ever: bool,
}

/// Ends the agent's DID; clap has made sure that it is meant.
pub(crate) async fn run(args: Args, context: &Context, out: &mut Out) -> Result<Exit, Failure> {
    let effect = "is revoked: its DID never acts again";
    let (name, change) = (args.name.as_ref(), StatusChange::Revoke);
    change_status(context, name, change, effect, out).await?;
    Ok(Exit::Ok)
}
