//! The `x811` command: the ledger for its operator, the tools of initiators and providers, the
//! proof for an auditor.
//!
//! One file per verb. Everything that is printed goes through [`output`], which escapes whatever
//! an agent or the network may have written; everything that goes wrong is a [`failure::Failure`]
//! with a code, what happened and what to do next; the exit codes stand in [`exit`].

mod agent;
mod agent_keys;
mod agents;
mod approvals;
mod audit;
mod backup;
mod bounded;
mod capability;
mod command;
mod completions;
mod context;
mod data_dir;
mod doctor;
mod erase;
mod escalations;
mod export;
mod history;
mod inbox;
mod kinds;
#[cfg(feature = "serve")]
mod ledger;
mod log;
mod man;
mod mcp;
mod negotiation;
mod pay;
mod provider;
mod receipt;
mod restore;
mod rounds;
mod send;
#[cfg(feature = "serve")]
mod serve;
mod status;
mod trace;
mod trust;
mod usdc;
mod whole;
mod witness;

use std::io::Write as _;
use std::process::ExitCode;

use command::{Cli, explained};
use exit::Exit;
use failure::Failure;
use output::Out;
use x811_console::{exit, failure, output};

/// A message makes hundreds of small allocations, many of them freed on another thread: that is
/// what this allocator is good at.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    let cli = match Cli::read(std::env::args_os()) {
        Ok(cli) => cli,
        Err(error) => return usage(&error),
    };
    let mut out = Out::standard(cli.global.json);
    let outcome = run(cli, &mut out);
    let exit = outcome.unwrap_or_else(|failure| {
        out.failure(&failure);
        failure.exit
    });
    out.finish(exit).into()
}

fn run(cli: Cli, out: &mut Out) -> Result<Exit, Failure> {
    if rustls::crypto::ring::default_provider()
        .install_default()
        .is_err()
    {
        return Err(Failure::internal("a TLS provider is installed already"));
    }
    let runtime = tokio::runtime::Runtime::new()
        .map_err(|error| Failure::internal(&format!("no threads could be started: {error}")))?;
    runtime.block_on(cli.run(out))
}

/// Help and version are answers; everything else clap says is an error like any other.
fn usage(error: &clap::Error) -> ExitCode {
    let asked_for_json = std::env::args_os().any(|argument| argument == "--json");
    if !error.use_stderr() || !asked_for_json {
        let exit = if error.use_stderr() {
            Exit::Usage
        } else {
            Exit::Ok
        };
        let text = explained(error);
        // Where nothing can be printed, the exit code still says it.
        let _ = if exit == Exit::Usage {
            anstream::stderr().write_all(text.as_bytes())
        } else {
            anstream::stdout().write_all(text.as_bytes())
        };
        return exit.into();
    }
    let mut out = Out::standard(true);
    let text = anstream::adapter::strip_str(&explained(error)).to_string();
    out.failure(&Failure::usage(&text));
    out.finish(Exit::Usage).into()
}
