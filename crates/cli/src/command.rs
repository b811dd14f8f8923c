//! The command line: one variant per verb, and the options every verb takes.
//!
//! To add a verb: one file with its `Args` and its `run`, a `mod` line in `main.rs`, a variant of
//! [`Verb`] and its line in [`Cli::run`].

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Args, CommandFactory, FromArgMatches, Parser, Subcommand};
use x811_client::identity::AgentName;

use crate::context::Context;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::Out;
use crate::{
    agent, agents, approvals, audit, backup, capability, completions, doctor, erase, escalations,
    export, history, inbox, log, man, mcp, negotiation, pay, provider, receipt, restore, rounds,
    send, status, trace,
};
#[cfg(feature = "serve")]
use crate::{ledger, serve};

/// The ledger that AI agents settle on.
#[derive(Debug, Parser)]
#[command(name = "x811", version, after_help = Exit::help())]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) global: Global,
    #[command(subcommand)]
    verb: Verb,
}

/// Options every verb takes.
#[derive(Debug, Clone, Args)]
pub(crate) struct Global {
    /// Address of the ledger
    #[arg(
        long,
        global = true,
        env = "X811_LEDGER",
        value_name = "URL",
        default_value = "http://127.0.0.1:8811",
        help_heading = "Options of every command"
    )]
    pub(crate) ledger: String,

    /// Directory with your agents' keys
    #[arg(
        long,
        global = true,
        env = "X811_HOME",
        value_name = "DIR",
        default_value = "./.x811",
        help_heading = "Options of every command"
    )]
    pub(crate) home: PathBuf,

    /// Which of your agents to act as; not needed while there is only one
    #[arg(
        long,
        global = true,
        env = "X811_AGENT",
        value_name = "NAME",
        help_heading = "Options of every command"
    )]
    pub(crate) agent: Option<AgentName>,

    /// Print one JSON value instead of text
    #[arg(long, global = true, help_heading = "Options of every command")]
    pub(crate) json: bool,
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// Make agents, register them with a ledger, show them
    #[command(subcommand)]
    Agent(agent::Verb),
    /// Find other agents, and what they have earned
    #[command(subcommand)]
    Agents(agents::Verb),
    /// Answer what your agent's loop asks a person
    #[command(subcommand)]
    Approvals(approvals::Verb),
    /// Say something to another agent
    #[command(subcommand)]
    Send(send::Verb),
    /// Read what was sent to your agent
    Inbox(inbox::Args),
    /// Pay an interaction: transfer the total in USDC and send the PAYMENT
    Pay(pay::Args),
    /// Show every record of an interaction or of a negotiation
    History(history::Args),
    /// Fetch the receipt of a payment, or verify one offline
    Receipt(receipt::Args),
    /// Serve the agent's tools to a model: the Model Context Protocol over standard input and output
    Mcp(mcp::Args),
    /// What a provider wants to know
    #[command(subcommand)]
    Provider(provider::Verb),
    /// What agents can do: descriptors
    #[command(subcommand)]
    Capability(capability::Verb),
    /// Negotiate terms before work
    #[command(subcommand)]
    Negotiation(negotiation::Verb),
    /// Decide together: proposals, votes, outcomes
    #[command(subcommand)]
    Rounds(rounds::Verb),
    /// Decide, as a human, what agents could not
    #[command(subcommand)]
    Escalations(escalations::Verb),
    /// What decisions rest on: traces, fetched or verified offline
    #[command(subcommand)]
    Trace(trace::Verb),
    /// Re-run a whole log from its bytes: hashes, signatures, rules, payments, rows
    Audit(audit::Args),
    /// Write a log, or one interaction of it, to one file that anybody can audit offline
    Export(export::Args),
    /// How the ledger is; fails when it takes no messages
    Status(status::Args),
    /// Examine what a ledger keeps beside its log, and say what to do
    Doctor(doctor::Args),
    /// Have the bodies of a finished interaction erased, as an operator of the ledger
    Erase(erase::Args),
    /// Copy a ledger, running or not, so that it can be restored
    Backup(backup::Args),
    /// Make a data directory of a backup
    Restore(restore::Args),
    /// Move a ledger's log to another place
    #[command(subcommand)]
    Log(log::Verb),
    /// Run the ledger
    #[cfg(feature = "serve")]
    Serve(Box<serve::Args>),
    /// Change the ledger itself
    #[cfg(feature = "serve")]
    #[command(subcommand)]
    Ledger(ledger::Verb),
    /// Watch four interactions on a ledger and an Anvil of their own
    #[cfg(feature = "serve")]
    Demo(x811_devchain::demo::Args),
    /// Run a chain like Base on this computer, and break it
    #[cfg(feature = "serve")]
    #[command(subcommand)]
    Anvil(x811_devchain::anvil::Verb),
    /// Print what makes your shell complete `x811` commands
    Completions(completions::Args),
    /// Write the manual pages
    Man(man::Args),
}

impl Cli {
    /// Reads a command line. `-1` is a value that somebody wrote where a number is wanted, so the
    /// error is about the number.
    pub(crate) fn read(words: impl IntoIterator<Item = OsString>) -> Result<Cli, clap::Error> {
        let matches = with_negative_numbers(Cli::command()).try_get_matches_from(words)?;
        Cli::from_arg_matches(&matches)
    }

    /// Runs the verb.
    pub(crate) async fn run(self, out: &mut Out) -> Result<Exit, Failure> {
        let json = self.global.json;
        let context = Context::new(self.global);
        // The largest lie on the heap: each has its own room on the stack of this function.
        match self.verb {
            Verb::Agent(verb) => Box::pin(verb.run(&context, out)).await,
            Verb::Agents(verb) => verb.run(&context, out).await,
            Verb::Approvals(verb) => verb.run(&context, out),
            Verb::Send(verb) => verb.run(&context, out).await,
            Verb::Inbox(args) => inbox::run(args, &context, out).await,
            Verb::Pay(args) => pay::run(args, &context, out).await,
            Verb::History(args) => history::run(args, &context, out).await,
            Verb::Receipt(args) => receipt::run(args, &context, out).await,
            Verb::Mcp(args) => Box::pin(mcp::run(args, context)).await,
            Verb::Provider(verb) => verb.run(&context, out).await,
            Verb::Capability(verb) => verb.run(&context, out).await,
            Verb::Negotiation(verb) => verb.run(&context, out).await,
            Verb::Rounds(verb) => verb.run(&context, out).await,
            Verb::Escalations(verb) => verb.run(&context, out).await,
            Verb::Trace(verb) => verb.run(&context, out).await,
            Verb::Audit(args) => Box::pin(audit::run(args, &context, out)).await,
            Verb::Export(args) => export::run(args, &context, json, out).await,
            Verb::Status(args) => status::run(args, &context, out).await,
            Verb::Doctor(args) => Box::pin(doctor::run(args, out)).await,
            Verb::Erase(args) => erase::run(args, &context, out).await,
            Verb::Backup(args) => backup::run(args, out).await,
            Verb::Restore(args) => restore::run(args, out).await,
            Verb::Log(verb) => Box::pin(verb.run(out)).await,
            #[cfg(feature = "serve")]
            Verb::Serve(args) => Box::pin(serve::run(*args, out)).await,
            #[cfg(feature = "serve")]
            Verb::Ledger(verb) => verb.run(out).await,
            #[cfg(feature = "serve")]
            Verb::Demo(args) => Box::pin(x811_devchain::demo::run(args, out)).await,
            #[cfg(feature = "serve")]
            Verb::Anvil(verb) => verb.run(|| context.client(), out).await,
            Verb::Completions(args) => Ok(completions::run(&args, out)),
            Verb::Man(args) => man::run(&args, out),
        }
    }
}

fn with_negative_numbers(command: clap::Command) -> clap::Command {
    let verbs: Vec<String> = command
        .get_subcommands()
        .map(|verb| verb.get_name().to_owned())
        .collect();
    let command = command.mut_args(|argument| match argument.get_action().takes_values() {
        true => argument.allow_negative_numbers(true),
        false => argument,
    });
    verbs.into_iter().fold(command, |command, verb| {
        command.mut_subcommand(verb, with_negative_numbers)
    })
}

/// What clap says of a command line, with what to write where it only names a fault of a number.
pub(crate) fn explained(error: &clap::Error) -> String {
    let text = error.render().ansi().to_string();
    let wanted = match text.contains("<SECONDS>") {
        true => "write whole seconds in digits alone, such as 60",
        false => "write a whole number in digits alone, such as 12",
    };
    [
        "invalid digit found in string",
        "cannot parse integer from empty string",
        "number too large to fit in target type",
        "number too small to fit in target type",
        "number would be zero for non-zero type",
    ]
    .iter()
    .fold(text, |text, fault| text.replace(fault, wanted))
    .replace(
        "invalid socket address syntax",
        "write an address and a port, such as 127.0.0.1:8811",
    )
}

#[cfg(test)]
mod documented;
#[cfg(test)]
mod tests;
