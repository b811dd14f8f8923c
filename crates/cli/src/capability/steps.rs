//! What a party says in a session that is open: `x811 capability respond`, `offer`, `counter`, `accept`, `reject`,
//! `close`, `agree`.

use serde_json::Map;
use x811_client::compose::SessionStep;
use x811_protocol::id::SessionId;

use super::dealing::{Dealing, TermsArgs};
use crate::context::Context;
use crate::failure::Failure;
use crate::send::sent::Sent;

#[derive(Debug, clap::Args)]
pub(crate) struct RespondArgs {
    /// The session, by the id that its request printed
    #[arg(value_name = "ID")]
    session: SessionId,
    /// You do not negotiate; ends the session
    #[arg(long, conflicts_with = "lifetime_ms")]
    decline: bool,
    /// How long the session may take from here; as the ledger says without it
    #[arg(long, value_name = "MS")]
    lifetime_ms: Option<u64>,
}

#[derive(Debug, clap::Args)]
pub(crate) struct OfferArgs {
    /// The session, by the id that its request printed
    #[arg(value_name = "ID")]
    session: SessionId,
    #[command(flatten)]
    terms: TermsArgs,
}

#[derive(Debug, clap::Args)]
pub(crate) struct RejectArgs {
    /// The session, by the id that its request printed
    #[arg(value_name = "ID")]
    session: SessionId,
    /// Why
    #[arg(long, value_name = "TEXT")]
    rationale: String,
}

#[derive(Debug, clap::Args)]
pub(crate) struct SessionArgs {
    /// The session, by the id that its request printed
    #[arg(value_name = "ID")]
    session: SessionId,
}

#[derive(Debug, clap::Args)]
pub(crate) struct AgreeArgs {
    /// Which session; its last terms must be accepted
    #[arg(value_name = "ID")]
    session: SessionId,
}

/// Says whether the agent negotiates.
pub(super) async fn respond(args: RespondArgs, context: &Context) -> Result<Sent, Failure> {
    let step = SessionStep::Response {
        session: args.session,
        willing: !args.decline,
        lifetime_ms: args.lifetime_ms,
    };
    Dealing::open(context, args.session).await?.say(&step).await
}

/// Offers the first terms.
pub(super) async fn offer(args: OfferArgs, context: &Context) -> Result<Sent, Failure> {
    let step = SessionStep::Offer {
        session: args.session,
        terms: args.terms.on(Map::new())?,
    };
    Dealing::open(context, args.session).await?.say(&step).await
}

/// Answers the last terms by others; what is not named stays as it was.
pub(super) async fn counter(args: OfferArgs, context: &Context) -> Result<Sent, Failure> {
    let dealing = Dealing::open(context, args.session).await?;
    let (answers, _) = dealing.last_terms()?;
    let before = dealing.session.terms(&dealing.client).await?;
    let terms = args.terms.on(before.unwrap_or_default())?;
    dealing.say(&SessionStep::Counter { answers, terms }).await
}

/// Accepts the last terms as they are recorded.
pub(super) async fn accept(args: SessionArgs, context: &Context) -> Result<Sent, Failure> {
    let dealing = Dealing::open(context, args.session).await?;
    let (answers, terms_hash) = dealing.last_terms()?;
    let step = SessionStep::Accept {
        answers,
        terms_hash,
    };
    let sent = dealing.say(&step).await?;
    Ok(sent.note(
        "next",
        format!("both sign: x811 capability agree {}", args.session),
    ))
}

/// Turns the last terms down, which ends the session.
pub(super) async fn reject(args: RejectArgs, context: &Context) -> Result<Sent, Failure> {
    let dealing = Dealing::open(context, args.session).await?;
    let (answers, _) = dealing.last_terms()?;
    let rationale = args.rationale;
    let step = SessionStep::Reject { answers, rationale };
    dealing.say(&step).await
}

/// Leaves the session.
pub(super) async fn close(args: SessionArgs, context: &Context) -> Result<Sent, Failure> {
    let session = args.session;
    let step = SessionStep::Close { session };
    Dealing::open(context, session).await?.say(&step).await
}

/// Signs the agreement that follows from the session.
pub(super) async fn agree(args: AgreeArgs, context: &Context) -> Result<Sent, Failure> {
    let dealing = Dealing::open(context, args.session).await?;
    let (_, _) = dealing.last_terms()?;
    let ledger = dealing.client.info().await?.did;
    let agreement = dealing.session.agreement(&dealing.client, ledger).await?;
    let agreement = agreement.ok_or_else(|| {
        Failure::state("the session has no terms yet")
            .hint("both agree after an accept; `x811 capability sessions` shows it")
    })?;
    let step = SessionStep::agree(agreement, &dealing.identity);
    let sent = dealing.say(&step).await?;
    let view = &dealing.session.view;
    Ok(sent
        .note("agreement", view.agreement_id)
        .note("revision", view.revision))
}
