//! `x811 trace show`.

use std::path::PathBuf;

use x811_protocol::key::KeyId;
use x811_protocol::trace::Wid;

use super::Checked;
use crate::context::Context;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::Out;
use crate::whole;
use crate::whole::unwritten;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The first attempt of the round, or the session, agreement or contract
    #[arg(value_name = "ID")]
    wid: Wid,
    /// The ledger's receipt key, as DID#KEY from elsewhere
    #[arg(long, value_name = "KEY")]
    key: Option<KeyId>,
    /// Also write the picture, in SVG, to this file
    #[arg(long, value_name = "FILE")]
    svg: Option<PathBuf>,
    /// Also write the tokens to this file, for `x811 trace verify`
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

/// Fetches and checks it.
pub(super) async fn run(args: Args, context: &Context, out: &mut Out) -> Result<Exit, Failure> {
    let client = context.reading_client().await?;
    let trace = client.trace(args.wid).await?;
    let write = |path: &PathBuf, bytes: &[u8]| {
        whole::write(path, bytes).map_err(|error| unwritten(path, &error))
    };
    let kept =
        serde_json::to_vec_pretty(&trace).map_err(|error| Failure::internal(&error.to_string()))?;
    let checked = Checked::of(trace, args.key)?;
    if let Some(path) = &args.output {
        write(path, &kept)?;
    }
    if let Some(path) = &args.svg {
        write(path, &client.trace_picture(args.wid).await?)?;
    }
    out.report(&checked);
    Ok(Exit::Ok)
}
