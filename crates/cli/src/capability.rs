//! `x811 capability`: what agents can do, and what they agree on about its use. One file for each verb, but for
//! those of an open session (`steps`).

mod advertise;
mod agreements;
mod conduct;
mod dealing;
mod jws;
mod records;
mod request;
mod revoke;
mod sessions;
mod show;
mod steps;
mod verify;

use clap::Subcommand;

use crate::context::Context;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::Out;

#[derive(Debug, Subcommand)]
pub(crate) enum Verb {
    /// Publish what your agent can do: a descriptor, one revision above the last
    Advertise(advertise::Args),
    /// Show what an agent says that it can do, its signature checked
    Show(show::Args),
    /// Ask to negotiate about the use of a capability; opens a session
    Request(request::Args),
    /// Say whether you negotiate
    Respond(steps::RespondArgs),
    /// As initiator: offer the first terms
    Offer(steps::OfferArgs),
    /// Answer the last terms by others
    Counter(steps::OfferArgs),
    /// Accept the last terms; then both sign
    Accept(steps::SessionArgs),
    /// Turn the last terms down; ends the session
    Reject(steps::RejectArgs),
    /// Leave a session
    Close(steps::SessionArgs),
    /// Sign the agreement on accepted terms
    Agree(steps::AgreeArgs),
    /// End an agreement at once
    Revoke(revoke::Args),
    /// List your sessions, oldest first, or show one with its records
    Sessions(sessions::Args),
    /// List your agreements, oldest first, or show one with its records
    Agreements(agreements::Args),
    /// Show breaches of agreements that an agent answers for, and whether it is excluded from sessions
    Conduct(conduct::Args),
    /// As operator: lift an agent's exclusion from new sessions and rounds
    Lift(conduct::LiftArgs),
    /// Write what both signed as a JSON Web Signature, for tools that know nothing of x811
    Jws(jws::Args),
    /// Verify such a file offline
    Verify(verify::Args),
}

impl Verb {
    /// Runs the verb.
    pub(crate) async fn run(self, context: &Context, out: &mut Out) -> Result<Exit, Failure> {
        match self {
            Verb::Advertise(args) => out.report(&advertise::run(args, context).await?),
            Verb::Show(args) => out.report(&show::run(args, context).await?),
            Verb::Request(args) => out.report(&request::run(args, context).await?),
            Verb::Respond(args) => out.report(&steps::respond(args, context).await?),
            Verb::Offer(args) => out.report(&steps::offer(args, context).await?),
            Verb::Counter(args) => out.report(&steps::counter(args, context).await?),
            Verb::Accept(args) => out.report(&steps::accept(args, context).await?),
            Verb::Reject(args) => out.report(&steps::reject(args, context).await?),
            Verb::Close(args) => out.report(&steps::close(args, context).await?),
            Verb::Agree(args) => out.report(&steps::agree(args, context).await?),
            Verb::Revoke(args) => out.report(&revoke::run(args, context).await?),
            Verb::Sessions(args) => sessions::run(args, context, out).await?,
            Verb::Agreements(args) => agreements::run(args, context, out).await?,
            Verb::Conduct(args) => out.report(&conduct::run(args, context).await?),
            Verb::Lift(args) => out.report(&conduct::lift(args, context).await?),
            Verb::Jws(args) => out.report(&jws::run(args, context).await?),
            Verb::Verify(args) => out.report(&verify::run(&args)?),
        }
        Ok(Exit::Ok)
    }
}
