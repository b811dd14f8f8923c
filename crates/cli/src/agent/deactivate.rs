//! `x811 agent deactivate`.

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
}

/// Takes the agent's DID out of use.
pub(crate) async fn run(args: Args, context: &Context, out: &mut Out) -> Result<Exit, Failure> {
    let effect = "is deactivated: it gets no REQUESTs until it is reactivated";
    let (name, change) = (args.name.as_ref(), StatusChange::Deactivate);
    change_status(context, name, change, effect, out).await?;
    Ok(Exit::Ok)
}
