//! `x811 approvals`: what a loop asks a person.

mod decide;
mod list;
pub(crate) mod page;
mod show;

use clap::Subcommand;
use x811_client::agent::{Approvals, Question};
use x811_protocol::id::InteractionId;

use crate::context::Context;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::Out;

/// What to do with questions.
#[derive(Debug, Subcommand)]
pub(crate) enum Verb {
    /// Questions that wait, with the time left
    List,
    /// All that is known of one
    Show(Named),
    /// Accept the OFFER that is asked about, at the total that is shown
    Approve(decide::Args),
    /// Reject it
    Reject(decide::Args),
}

#[derive(Debug, clap::Args)]
pub(crate) struct Named {
    /// The interaction
    interaction: InteractionId,
}

impl Verb {
    pub(crate) fn run(self, context: &Context, out: &mut Out) -> Result<Exit, Failure> {
        match self {
            Verb::List => list::run(context, out),
            Verb::Show(named) => show::run(named.interaction, context, out),
            Verb::Approve(args) => decide::approve(args, context, out),
            Verb::Reject(args) => decide::reject(args, context, out),
        }
    }
}

/// The questions of the acting agent's loop.
fn approvals(context: &Context) -> Result<Approvals, Failure> {
    let identity = context.identity_named(None)?;
    Ok(Approvals::beside(&context.home.loop_folder(&identity.name)))
}

fn question(approvals: &Approvals, interaction: InteractionId) -> Result<Question, Failure> {
    approvals.read(interaction)?.ok_or_else(|| {
        Failure::local("no_question", format!("nobody asks about {interaction}"))
            .hint("`x811 approvals list` shows what waits; what was answered or lapsed is gone")
    })
}
