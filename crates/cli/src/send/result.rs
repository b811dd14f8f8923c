//! `x811 send result`.

use std::path::{Path, PathBuf};

use x811_client::compose::{Delivery, ResultContent};
use x811_protocol::digest::Digest;
use x811_protocol::id::InteractionId;

use super::case::{Case, Party};
use super::read_text;
use super::sent::Sent;
use crate::context::Context;
use crate::failure::Failure;

#[derive(Debug, clap::Args)]
#[command(group = clap::ArgGroup::new("what").required(true).args(["content", "file"]))]
pub(crate) struct Args {
    /// Which interaction
    pub(crate) interaction: InteractionId,
    /// The result itself
    #[arg(long, value_name = "TEXT")]
    pub(crate) content: Option<String>,
    /// A file with the result: text is sent inline, with --url only its hash is
    #[arg(long, value_name = "FILE")]
    pub(crate) file: Option<PathBuf>,
    /// Where the initiator can fetch the file
    #[arg(long, requires = "file")]
    pub(crate) url: Option<String>,
    /// MIME type of the result
    #[arg(long, value_name = "TYPE", default_value = "text/plain")]
    pub(crate) content_type: String,
    /// How long the work took; the time since the ACCEPT without it
    #[arg(long, value_name = "MS")]
    pub(crate) execution_time_ms: Option<u64>,
    /// The model that did it
    #[arg(long, value_name = "NAME")]
    pub(crate) model: Option<String>,
    /// How it was done
    #[arg(long, value_name = "TEXT")]
    pub(crate) methodology: Option<String>,
}

pub(crate) async fn run(args: Args, context: &Context) -> Result<Sent, Failure> {
    let case = Case::open(context, args.interaction, Party::Provider).await?;
    let since_accept_ms = case
        .transcript
        .entries
        .last()
        .map_or(0, |entry| context.now().since(entry.record.recorded_at_ms));
    let content = match (args.content, args.file, args.url) {
        (Some(text), _, _) => ResultContent::Inline(text),
        (None, Some(file), Some(url)) => linked(&file, url)?,
        (None, Some(file), None) => ResultContent::Inline(read_text(&file)?),
        (None, None, _) => return Err(Failure::usage("a result needs --content or --file")),
    };
    let hash = content.hash();
    let delivery = Delivery {
        interaction: args.interaction,
        offer_id: case.offer()?.0,
        content,
        content_type: args.content_type,
        execution_time_ms: args.execution_time_ms.unwrap_or(since_accept_ms),
        model_used: args.model,
        methodology: args.methodology,
    };
    Ok(case.say(&delivery).await?.note("result hash", hash))
}

fn linked(file: &Path, url: String) -> Result<ResultContent, Failure> {
    let bytes = std::fs::read(file)
        .map_err(|error| Failure::local("file", format!("{}: {error}", file.display())))?;
    Ok(ResultContent::Linked {
        url,
        hash: Digest::of(&bytes),
        size_bytes: bytes.len() as u64,
    })
}
