//! `x811 send verify`.

use std::path::PathBuf;

use x811_client::compose::{Judgement, Verify};
use x811_protocol::code::Code;
use x811_protocol::digest::Digest;
use x811_protocol::envelope::CoreType;
use x811_protocol::facts::{DisputeCode, Location};
use x811_protocol::id::InteractionId;

use super::case::{Case, Party};
use super::sent::Sent;
use crate::context::Context;
use crate::failure::Failure;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Which interaction
    pub(crate) interaction: InteractionId,
    /// The result as you fetched it, when it was delivered behind a URL
    #[arg(long, value_name = "FILE")]
    pub(crate) file: Option<PathBuf>,
    /// Dispute the result: WRONG_RESULT, INCOMPLETE, TIMEOUT, QUALITY or OTHER
    #[arg(long, value_name = "CODE", requires = "reason")]
    pub(crate) dispute: Option<DisputeCode>,
    /// Why you dispute it, in your words
    #[arg(long, value_name = "TEXT", requires = "dispute")]
    pub(crate) reason: Option<String>,
}

/// Judges the result. It is called good only after its bytes were held against its hash (AX-19).
pub(crate) async fn run(args: Args, context: &Context) -> Result<Sent, Failure> {
    let case = Case::open(context, args.interaction, Party::Initiator).await?;
    case.signed(CoreType::Result, "RESULT").await?;
    let result_hash = match case.transcript.result() {
        Some(result) => result.result_hash,
        None => return Err(Failure::internal("the RESULT has no facts")),
    };
    let judgement = match (args.dispute, args.reason) {
        (Some(code), Some(reason)) => Judgement::Disputed { reason, code },
        _ => {
            check_content(&case, args.file)?;
            Judgement::Verified
        }
    };
    let disputed = match &judgement {
        Judgement::Verified => None,
        Judgement::Disputed { code, .. } => Some(*code),
    };
    let verify = Verify {
        interaction: args.interaction,
        offer_id: case.offer()?.0,
        result_hash,
        judgement,
    };
    let sent = case.say(&verify).await?;
    Ok(match disputed {
        Some(code) => sent.note("disputed", code),
        None => sent.note("checked", "the content has the stated hash"),
    })
}

fn check_content(case: &Case<'_>, file: Option<PathBuf>) -> Result<(), Failure> {
    let Some(result) = case.transcript.result() else {
        return Err(Failure::internal("the RESULT has no facts"));
    };
    let matches = match (result.location, file) {
        (Location::Inline, _) => result.content_matches == Some(true),
        (Location::Url, Some(path)) => {
            let bytes = std::fs::read(&path)
                .map_err(|error| Failure::local("file", format!("{}: {error}", path.display())))?;
            Digest::of(&bytes) == result.result_hash
        }
        (Location::Url, None) => {
            return Err(
                Failure::usage("the result lies behind a URL and was not checked")
                    .hint("fetch it (`x811 inbox` shows the URL) and name the copy with --file"),
            );
        }
    };
    if matches {
        return Ok(());
    }
    let id = case.transcript.id();
    let message = "not sent: the content does not have the hash the provider stated";
    Err(
        Failure::refused(Code::ResultHashMismatch, message).hint(format!(
            "dispute it: x811 send verify {id} --dispute WRONG_RESULT --reason TEXT"
        )),
    )
}
