//! `x811 rounds`: deciding together. One file for each verb.

pub(crate) mod ballots;
mod findings;
mod list;
mod propose;
mod report;
mod reveal;
mod show;
mod signal;
mod step;
mod vote;

pub(crate) use list::Rounds;
pub(crate) use step::Args as RoundArgs;

use clap::Subcommand;
use x811_client::http::LedgerClient;
use x811_client::identity::Identity;
use x811_client::round::{Proposed, proposed};
use x811_protocol::did::Did;
use x811_protocol::id::RoundId;

use crate::context::Context;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::Out;
use crate::send::sent::{Sent, deliver};
use x811_client::compose::RoundStep;

#[derive(Debug, Subcommand)]
pub(crate) enum Verb {
    /// Put a decision to other agents; opens a round
    Propose(Box<propose::Args>),
    /// Take part in a round, under its leader and its weights
    Ready(step::Args),
    /// Open a round that you lead
    Open(step::Args),
    /// Vote in a round; where votes are sealed, commit to it
    Vote(vote::Args),
    /// Reveal a sealed vote, once the time for votes is over
    Reveal(step::Args),
    /// Sign what was decided in a round that you lead, or decide it
    Signal(signal::Args),
    /// Suspend a round that you lead: votes are taken, and nothing is decided
    Suspend(step::Args),
    /// Go on with a round that you suspended
    Resume(step::Args),
    /// Take your proposal back, before the first vote
    Withdraw(step::Args),
    /// Ask humans about a failed round, when there is no time for a retry
    Escalate(step::Args),
    /// Say that what was decided is done, or could not be done
    Report(report::Args),
    /// List the rounds that you take part in, oldest first
    List(list::Args),
    /// Show a round: what was proposed, how it stands, and its records
    Show(step::Args),
    /// List what was noticed in your rounds, and who votes alike
    Findings,
}

impl Verb {
    /// Runs the verb.
    pub(crate) async fn run(self, context: &Context, out: &mut Out) -> Result<Exit, Failure> {
        let sent = match self {
            Verb::Propose(args) => propose::run(*args, context).await?,
            Verb::Ready(args) => {
                let member = Member::open(context).await?;
                let proposed = member.proposed(args.round).await?;
                member.say(&proposed.ready()).await?
            }
            Verb::Open(args) => {
                let member = Member::open(context).await?;
                let proposed = member.proposed(args.round).await?;
                member.say(&proposed.opening()).await?
            }
            Verb::Vote(args) => vote::run(args, context).await?,
            Verb::Reveal(args) => reveal::run(args.round, context).await?,
            Verb::Signal(args) => signal::run(args, context).await?,
            Verb::Suspend(args) => said(context, RoundStep::Suspend(args.round)).await?,
            Verb::Resume(args) => said(context, RoundStep::Resume(args.round)).await?,
            Verb::Withdraw(args) => said(context, RoundStep::Withdraw(args.round)).await?,
            Verb::Escalate(args) => said(context, RoundStep::Escalate(args.round)).await?,
            Verb::Report(args) => report::run(args, context).await?,
            Verb::List(args) => return list::run(&args, context, out).await,
            Verb::Show(args) => return show::run(args.round, context, out).await,
            Verb::Findings => return findings::run(context, out).await,
        };
        out.report(&sent);
        Ok(Exit::Ok)
    }
}

async fn said(context: &Context, step: RoundStep) -> Result<Sent, Failure> {
    Member::open(context).await?.say(&step).await
}

/// The acting agent at its ledger.
pub(crate) struct Member<'a> {
    context: &'a Context,
    pub(crate) identity: Identity,
    pub(crate) client: LedgerClient,
    ledger: Did,
}

impl<'a> Member<'a> {
    /// Asks the ledger who it is.
    pub(crate) async fn open(context: &'a Context) -> Result<Member<'a>, Failure> {
        let (identity, client) = context.acting().await?;
        let ledger = client.info().await?.did;
        Ok(Member {
            context,
            identity,
            client,
            ledger,
        })
    }

    /// The proposal, from its proposer's own envelope.
    pub(crate) async fn proposed(&self, round: RoundId) -> Result<Proposed, Failure> {
        Ok(proposed(&self.client, round).await?)
    }

    /// Says it to the ledger, which is the board.
    pub(crate) async fn say(&self, step: &RoundStep) -> Result<Sent, Failure> {
        let (context, client) = (self.context, &self.client);
        deliver(context, client, &self.identity, self.ledger, step).await
    }
}
