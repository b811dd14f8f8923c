//! `x811 receipt refresh FILE`: asks the ledger for what holds a paper from before it replaced its
//! checkpoint key, and keeps that beside the paper.

use std::path::{Path, PathBuf};

use serde::Serialize;
use x811_audit::export::{Header, Item, Reader, Scope};
use x811_audit::receipt::Trusted;
use x811_audit::refresh::Refresh;
use x811_eventlog::{Checkpoint, Policy};

use super::either::{AnyReceipt, no_receipt};
use super::file;
use crate::context::Context;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::{Out, Report, Tone};
use crate::trust::beside;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// A receipt in either form, or a bundle
    file: PathBuf,
    /// The file to write (FILE.refresh); `-` for standard output
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

pub(super) async fn run(args: Args, context: &Context, out: &mut Out) -> Result<Exit, Failure> {
    let paper = Paper::read(&args.file)?;
    let client = context.client()?;
    let bytes = client.refresh(paper.size).await?;
    let refresh = Refresh::from_bytes(&bytes)
        .map_err(|error| Failure::untrusted(format!("the ledger sent no proof: {error}")))?;
    let key = refresh.keys.statement.checkpoint_key();
    let key = key.map_err(|error| Failure::untrusted(error.to_string()))?;
    let vkey = key.to_vkey();
    paper.hold(&Policy::of_log(key), &refresh)?;
    let output = args.output.unwrap_or_else(|| beside(&args.file));
    if file::write(&output, &bytes)? {
        out.report(&Refreshed {
            file: output,
            paper: args.file,
            size: paper.size,
            newest: refresh.keys.statement.size,
            vkey,
        });
    }
    Ok(Exit::Ok)
}

/// What is refreshed.
struct Paper {
    /// Records that its checkpoint covers.
    size: u64,
    /// Absent for a bundle, which an audit checks.
    receipt: Option<AnyReceipt>,
}

impl Paper {
    fn read(path: &Path) -> Result<Paper, Failure> {
        let bytes = file::read(path)?;
        match (AnyReceipt::from_bytes(&bytes), bundle_size(&bytes)) {
            (Ok(receipt), _) => Ok(Paper {
                size: receipt.size().map_err(no_receipt)?,
                receipt: Some(receipt),
            }),
            (Err(_), Some(size)) => Ok(Paper {
                size,
                receipt: None,
            }),
            (Err(why), None) => Err(no_receipt(format!(
                "{} is neither a receipt nor a bundle of one interaction: {why}",
                path.display()
            ))),
        }
    }

    /// What the ledger sent has to hold the paper for whoever trusts its newest key.
    fn hold(&self, policy: &Policy, refresh: &Refresh) -> Result<(), Failure> {
        let Some(receipt) = &self.receipt else {
            return Ok(());
        };
        let checked = receipt.verify(Trusted {
            policy: Some(policy),
            refresh: Some(refresh),
            agent_keys: None,
        });
        match checked.steps.last() {
            Some(broken) if checked.paid.is_none() => Err(Failure::untrusted(format!(
                "the receipt does not hold by what the ledger sent: {}",
                broken.sentence
            ))),
            _ => Ok(()),
        }
    }
}

/// Records that the checkpoint of a bundle covers; `None` for anything else.
fn bundle_size(bytes: &[u8]) -> Option<u64> {
    let mut is_bundle = false;
    for item in Reader::new(bytes) {
        match item.ok()? {
            Item::Header(header) => is_bundle = is_of_one(&header),
            Item::Checkpoint(line) if is_bundle => {
                return Some(Checkpoint::claimed(&line.note).ok()?.size);
            }
            Item::Record(_)
            | Item::Checkpoint(_)
            | Item::Keys(_)
            | Item::End(_)
            | Item::Trailer { .. } => return None,
        }
    }
    None
}

fn is_of_one(header: &Header) -> bool {
    header.scope != Scope::Log
}

#[derive(Serialize)]
struct Refreshed {
    file: PathBuf,
    paper: PathBuf,
    /// Records that the paper's checkpoint covers.
    size: u64,
    /// Records that the newest checkpoint covers.
    newest: u64,
    /// The newest checkpoint key, by the ledger's own word.
    vkey: String,
}

impl Report for Refreshed {
    fn print(&self, out: &mut Out) {
        out.heading(
            Tone::Good,
            format_args!(
                "proof that the log goes on from record {} to record {}, in {}",
                self.size,
                self.newest,
                self.file.display()
            ),
        );
        out.fields(&[("key", self.vkey.clone())]);
        out.gap();
        out.line(format_args!(
            "keep it beside {}: with it the paper holds under that key, which you compare with the \
             one you have from a source you trust",
            self.paper.display()
        ));
    }
}
