//! `x811 trace verify`.

use std::path::PathBuf;

use x811_client::http::Trace;
use x811_protocol::key::KeyId;

use super::Checked;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::Out;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The file that `x811 trace show -o` wrote
    file: PathBuf,
    /// The ledger's receipt key, as DID#KEY from elsewhere
    #[arg(long, value_name = "KEY")]
    key: Option<KeyId>,
}

/// Checks it; nobody is asked.
pub(super) fn run(args: &Args, out: &mut Out) -> Result<Exit, Failure> {
    let unread = |error: String| {
        Failure::local("file", format!("{}: {error}", args.file.display()))
            .hint("name a file that `x811 trace show -o` wrote")
    };
    let bytes = std::fs::read(&args.file).map_err(|error| unread(error.to_string()))?;
    let trace: Trace = serde_json::from_slice(&bytes).map_err(|error| unread(error.to_string()))?;
    out.report(&Checked::of(trace, args.key)?);
    Ok(Exit::Ok)
}
