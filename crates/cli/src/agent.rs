//! `x811 agent`: make agents, register them, change or end their registration, show them.

mod binding;
mod change;
mod contract_wallet;
mod deactivate;
mod new;
mod reactivate;
mod register;
mod revoke;
mod rotate;
pub(crate) mod run;
mod show;
mod status;
mod update;

use clap::Subcommand;

use crate::context::Context;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::Out;

/// What to do with agents.
#[derive(Debug, Subcommand)]
pub(crate) enum Verb {
    /// Make a new agent: a DID, a signing key and a wallet key, in files only you can read
    New(new::Args),
    /// Make an agent known to the ledger: its keys, what it can do, its wallet
    Register(register::Args),
    /// Show the text that a contract wallet must sign to be bound to an agent
    Binding(binding::Args),
    /// Change what is registered: tasks, endpoint, expiry; what you do not name stays
    Update(update::Args),
    /// Replace the signing key by a new one
    Rotate(rotate::Args),
    /// Take its DID out of use; it can be reactivated
    Deactivate(deactivate::Args),
    /// Put a deactivated DID back to use
    Reactivate(reactivate::Args),
    /// End its DID for ever
    Revoke(revoke::Args),
    /// Act unattended, as a file says, until it is stopped
    #[command(subcommand)]
    Run(run::Verb),
    /// Ends commands whose loop was killed; `agent run provider` starts it
    #[command(hide = true)]
    Guard,
    /// What the agent's loop is at; exit code 13 while there is an alarm that nobody saw
    Status(status::Args),
    /// Show your agents, or what the ledger knows of any agent
    Show(show::Args),
}

impl Verb {
    pub(crate) async fn run(self, context: &Context, out: &mut Out) -> Result<Exit, Failure> {
        match self {
            Verb::New(args) => new::run(args, context, out),
            Verb::Register(args) => register::run(args, context, out).await,
            Verb::Binding(args) => binding::run(args, context, out).await,
            Verb::Update(args) => update::run(args, context, out).await,
            Verb::Rotate(args) => rotate::run(args, context, out).await,
            Verb::Deactivate(args) => deactivate::run(args, context, out).await,
            Verb::Reactivate(args) => reactivate::run(args, context, out).await,
            Verb::Revoke(args) => revoke::run(args, context, out).await,
            Verb::Run(verb) => verb.run(context, out).await,
            Verb::Guard => Ok(run::guard::watch()),
            Verb::Status(args) => status::run(&args, context, out),
            Verb::Show(args) => show::run(args, context, out).await,
        }
    }
}

/// Reads where an agent can be reached: its DID document and its card show it to everybody.
fn reachable(text: &str) -> Result<String, &'static str> {
    let schemes = ["https://", "http://"];
    let host = schemes.iter().find_map(|scheme| text.strip_prefix(scheme));
    let is_plain = |letter: char| letter.is_ascii_graphic() && !"<>\"'\\^`{|}".contains(letter);
    match host {
        Some(host) if !host.is_empty() && host.chars().all(is_plain) => Ok(text.to_owned()),
        _ => Err("write http:// or https:// and a host, such as https://agent.example.org"),
    }
}

#[cfg(test)]
#[cfg(feature = "serve")]
mod tests;
