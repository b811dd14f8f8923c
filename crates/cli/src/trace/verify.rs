//! `x811 trace verify`.

use std::path::PathBuf;

use x811_client::http::Trace;
use x811_protocol::key::KeyId;

use super::{Checked, MAX_TRACE_BYTES};
use crate::bounded;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::kinds::{self, Kind};
use crate::output::Out;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The file that `x811 trace show -o` wrote
    file: PathBuf,
    /// The ledger's receipt key, as DID#KEY from elsewhere
    #[arg(long, value_name = "KEY")]
    key: Option<KeyId>,
}

/// Checks it; nobody is asked. [`Exit::Findings`] when it does not hold, [`Exit::Unverified`] when it does
/// and nobody said whose key signs it.
pub(super) fn run(args: &Args, out: &mut Out) -> Result<Exit, Failure> {
    let unread = |error: String| {
        Failure::local(
            "file",
            format!("{} is no trace: {error}", args.file.display()),
        )
        .hint("name a file that `x811 trace show -o` wrote")
    };
    let text =
        bounded::text(&args.file, MAX_TRACE_BYTES).map_err(|error| unread(error.to_string()))?;
    if let Some(what) = kinds::other_than(Kind::Trace, text.as_bytes()) {
        return Err(unread(what.to_owned()));
    }
    let trace: Trace = serde_json::from_str(&text).map_err(|error| unread(error.to_string()))?;
    let checked = Checked::of(trace, args.key).map_err(Failure::broken)?;
    out.report(&checked);
    Ok(match checked.proven {
        true => Exit::Ok,
        false => Exit::Unverified,
    })
}
