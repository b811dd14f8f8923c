//! `x811 agent run`: an agent that acts by itself, from a file.
//!
//! A provider offers by its price rules, runs a command for each accepted task and delivers what it
//! prints; an initiator sends its orders, answers offers by policy, judges results and pays.

mod command;
pub(crate) mod config;
pub(super) mod guard;
mod lines;
mod negotiation;
mod proofs;
mod sessions;
mod voter;

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;

use clap::Subcommand;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use x811_client::agent::{
    Approvals, Initiator, LoopError, Notice, Provider, Settings, What, good_if_inline,
};

use crate::approvals::page::Page;
use crate::context::Context;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::Out;
use crate::rounds::Member;
use command::CommandWorker;
use guard::Guard;
use lines::Line;
use voter::VoterLoop;

/// Which part to play.
#[derive(Debug, Subcommand)]
pub(crate) enum Verb {
    /// Offer, work and deliver: a command gets the task on standard input, as one line of JSON, and
    /// what it prints is the result. It runs at least once for each task, again after a crash; its
    /// RESULT is sent once
    Provider(Args),
    /// Vote in rounds: a command gets each proposal on standard input, as one line of JSON, and prints its
    /// ballot, `{"decision": "approve"}`. Sealed votes are kept and revealed
    Voter(Args),
    /// Send orders, answer offers by policy within caps, judge results and pay
    Initiator(Args),
}

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// What the agent does: see docs/agents.md
    #[arg(long, value_name = "FILE")]
    config: PathBuf,
}

impl Verb {
    pub(crate) async fn run(self, context: &Context, out: &mut Out) -> Result<Exit, Failure> {
        match self {
            Verb::Provider(args) => provider(&args, context, out).await,
            Verb::Voter(args) => voter(&args, context, out).await,
            Verb::Initiator(args) => initiator(&args, context, out).await,
        }
    }
}

async fn provider(args: &Args, context: &Context, out: &mut Out) -> Result<Exit, Failure> {
    let config = config::provider(&args.config)?;
    let (settings, notices) = settings(context, config.checkpoint_key.as_deref()).await?;
    let account = settings.identity.account();
    let worker = CommandWorker::new(config.run.clone(), context.clock.clone())?;
    for warning in worker.warnings() {
        out.warning(warning);
    }
    let provider = Provider {
        negotiator: config.negotiator(),
        dealer: config.dealer()?,
        rules: config.rules(account),
        settings,
        worker: Arc::new(worker.guarded_by(Guard::start()?)),
    };
    let mut stop = StopSignals::set()?;
    follow(provider.run(stop.asked()), notices, None, out).await?;
    Ok(stop.exit())
}

async fn voter(args: &Args, context: &Context, out: &mut Out) -> Result<Exit, Failure> {
    let config = config::voter(&args.config)?;
    let worker = CommandWorker::new(config.run.clone(), context.clock.clone())?;
    for warning in worker.warnings() {
        out.warning(warning);
    }
    let voting = VoterLoop {
        config,
        context,
        member: Member::open(context).await?,
        worker: worker.guarded_by(Guard::start()?),
        done: None,
        failures: BTreeMap::new(),
        revealed: BTreeSet::new(),
    };
    let mut stop = StopSignals::set()?;
    tokio::select! {
        ended = voting.run(out) => ended?,
        () = stop.asked() => {}
    }
    Ok(stop.exit())
}

async fn initiator(args: &Args, context: &Context, out: &mut Out) -> Result<Exit, Failure> {
    let config = config::initiator(&args.config)?;
    let (settings, notices) = settings(context, config.checkpoint_key.as_deref()).await?;
    let mut serving = JoinSet::new();
    let page = match config.approvals_port {
        Some(port) => {
            let approvals = Approvals::beside(&settings.folder);
            let (clock, entropy) = (context.clock.clone(), context.entropy.clone());
            let (page, listener) = Page::listen(port, approvals, clock, entropy).await?;
            serving.spawn(page.clone().serve(listener));
            Some(page)
        }
        None => None,
    };
    let initiator = Initiator {
        settings,
        rules: config.rules()?,
        orders: config.orders()?,
        negotiator: config.negotiator()?,
        dealer: config.dealer()?,
        rpc_url: config.rpc_url,
        check: Arc::new(good_if_inline),
    };
    let mut stop = StopSignals::set()?;
    follow(initiator.run(stop.asked()), notices, page.as_deref(), out).await?;
    Ok(stop.exit())
}

/// What every loop needs, and where it tells what happens.
async fn settings(
    context: &Context,
    checkpoint_key: Option<&str>,
) -> Result<(Settings, mpsc::UnboundedReceiver<Notice>), Failure> {
    let client = context.client()?;
    let identity = context.identity(&client).await?;
    let folder = context.home.loop_folder(&identity.name);
    let (tell, notices) = mpsc::unbounded_channel();
    let settings = Settings {
        clock: context.clock.clone(),
        entropy: context.entropy.clone(),
        proof_check: Some(proofs::check(&client, checkpoint_key).await?),
        ..Settings::new(client.base_url(), identity, folder)
    };
    let observer = Arc::new(move |notice: &Notice| {
        // Nobody prints any more once the loop has ended.
        let _ = tell.send(notice.clone());
    });
    Ok((settings.observed_by(observer), notices))
}

/// Prints what happens, one line each, until the loop ends; with each question a link to the page.
async fn follow(
    running: impl Future<Output = Result<(), LoopError>>,
    mut notices: mpsc::UnboundedReceiver<Notice>,
    page: Option<&Page>,
    out: &mut Out,
) -> Result<(), Failure> {
    let tell = |notice: Notice, out: &mut Out| {
        let link = page.filter(|_| notice.what == What::Asked).map(Page::link);
        let asked = notice.clone();
        out.report(&Line(notice));
        // Without randomness there is no link; the question can be answered by the command.
        if let Some(Ok(link)) = link {
            let text = format!("or here, once: {link}");
            out.report(&Line(Notice { text, ..asked }));
        }
    };
    let mut running = std::pin::pin!(running);
    let ended = loop {
        tokio::select! {
            biased;
            Some(notice) = notices.recv() => tell(notice, out),
            ended = &mut running => break ended,
        }
    };
    while let Ok(notice) = notices.try_recv() {
        tell(notice, out);
    }
    Ok(ended?)
}

/// Ctrl-C and SIGTERM.
struct StopSignals {
    interrupt: tokio::signal::unix::Signal,
    terminate: tokio::signal::unix::Signal,
    was_interrupted: bool,
}

impl StopSignals {
    fn set() -> Result<StopSignals, Failure> {
        let failed = |error| Failure::internal(&format!("signals cannot be awaited: {error}"));
        Ok(StopSignals {
            interrupt: signal(SignalKind::interrupt()).map_err(failed)?,
            terminate: signal(SignalKind::terminate()).map_err(failed)?,
            was_interrupted: false,
        })
    }

    async fn asked(&mut self) {
        tokio::select! {
            _ = self.interrupt.recv() => self.was_interrupted = true,
            _ = self.terminate.recv() => {}
        }
    }

    fn exit(&self) -> Exit {
        if self.was_interrupted {
            Exit::Interrupted
        } else {
            Exit::Ok
        }
    }
}
