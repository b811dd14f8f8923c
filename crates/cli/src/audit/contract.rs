//! `x811 audit FILE` of a rendered contract, as `GET /api/v1/negotiations/{id}` answers it: its hash
//! chain, and whether its members fit together (contract.md "Rendered contract, XAP").

use std::fs::File;
use std::io::{self, BufRead as _, BufReader, Read};
use std::path::{Path, PathBuf};

use serde::Serialize;
use x811_protocol::contract_page::{
    Contract, MAX_PAGE_BYTES, PageAction, PageError, PageStatus, verify,
};

use super::Args;
use crate::data_dir::unreadable;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::{Out, Report, Tone};

/// How a rendering begins, blanks aside: as the ledger writes it, with its members sorted, and in the
/// order of the published page.
const BEGINS: [&[u8]; 3] = [
    b"{\"chainProfile\":",
    b"{\"acceptedAt\":",
    b"{\"id\":\"neg-",
];

/// Audits a rendered contract; `None` for any other file. [`Exit::Findings`] when it does not hold,
/// [`Exit::Unverified`] when it does: it proves its own order, and nobody's authorship.
pub(super) fn run(args: &Args, out: &mut Out) -> Result<Option<Exit>, Failure> {
    let source = args.source.as_path();
    let unreadable = |error| unreadable(source, &error);
    if source == Path::new("-") {
        // What was looked at stays in the buffer of standard input, for whoever reads next.
        let mut input = io::stdin().lock();
        return match begins_a_contract(input.fill_buf().map_err(unreadable)?) {
            true => judge(args, input, out).map(Some),
            false => Ok(None),
        };
    }
    if !source.is_file() {
        return Ok(None);
    }
    let mut input = BufReader::new(File::open(source).map_err(unreadable)?);
    match begins_a_contract(input.fill_buf().map_err(unreadable)?) {
        true => judge(args, input, out).map(Some),
        false => Ok(None),
    }
}

/// Whether a file that begins so is a rendered contract.
pub(crate) fn begins_a_contract(first: &[u8]) -> bool {
    let dense = first.iter().filter(|byte| !byte.is_ascii_whitespace());
    let dense: Vec<u8> = dense.take(16).copied().collect();
    BEGINS.iter().any(|begin| dense.starts_with(begin))
}

fn judge(args: &Args, input: impl Read, out: &mut Out) -> Result<Exit, Failure> {
    let source = args.source.as_path();
    check_options(args)?;
    let mut bytes = Vec::new();
    let mut input = input.take(MAX_PAGE_BYTES as u64 + 1);
    let read = input.read_to_end(&mut bytes);
    read.map_err(|error| unreadable(source, &error))?;
    let judged = match verify(&bytes) {
        Ok(contract) => Judged::Holds(Summary::of(&contract)),
        Err(PageError::Json(error)) => {
            let message = format!("{} cannot be read: {error}", source.display());
            return Err(
                Failure::local("file", message).hint("fetch it again: GET /api/v1/negotiations/ID")
            );
        }
        Err(error) => Judged::Broken {
            entry: error.index(),
            why: error.to_string(),
        },
    };
    let exit = match judged {
        Judged::Holds(_) => Exit::Unverified,
        Judged::Broken { .. } => Exit::Findings,
    };
    let source = source.to_path_buf();
    out.report(&Audited { source, judged });
    Ok(exit)
}

/// Options that mean nothing here are refused, so that nobody takes their silence for an answer.
fn check_options(args: &Args) -> Result<(), Failure> {
    args.checkpoint_dir.check_unnamed()?;
    let options = [
        ("--expect-head", args.expect_head.is_some()),
        ("--checkpoint", args.checkpoint.is_some()),
        ("--key", args.trust.key.is_some()),
        ("--policy", args.trust.policy.is_some()),
        ("--refresh", args.refresh.refresh.is_some()),
        ("--hash-only", args.hash_only),
        ("--html", args.html.is_some()),
        ("--csv", args.listing.csv.is_some()),
        ("--from", args.listing.from.is_some()),
        ("--to", args.listing.to.is_some()),
        ("--rpc", !args.rpc.is_empty()),
    ];
    let given: Vec<_> = options.iter().filter(|option| option.1).collect();
    if given.is_empty() {
        return Ok(());
    }
    let names: Vec<_> = given.iter().map(|option| option.0).collect();
    let message = format!(
        "{} is a rendered contract, which has its own hash chain and nothing else to check: leave out {}",
        args.source.display(),
        names.join(", ")
    );
    Err(Failure::usage(&message).hint("the contract's bundle is audited with all options"))
}

#[derive(Serialize)]
struct Audited {
    source: PathBuf,
    #[serde(flatten)]
    judged: Judged,
}

#[derive(Serialize)]
#[serde(tag = "verdict", rename_all = "snake_case")]
enum Judged {
    Holds(Summary),
    Broken {
        /// From 0; absent where it is about no entry alone.
        #[serde(skip_serializing_if = "Option::is_none")]
        entry: Option<usize>,
        why: String,
    },
}

#[derive(Serialize)]
struct Summary {
    id: String,
    initiator: String,
    responder: String,
    status: PageStatus,
    expires_at: String,
    entries: Vec<Entry>,
}

#[derive(Serialize)]
struct Entry {
    action: PageAction,
    agent: String,
    /// The amount of its terms, where they have one.
    #[serde(skip_serializing_if = "Option::is_none")]
    amount: Option<String>,
    at: String,
}

impl Summary {
    fn of(contract: &Contract) -> Summary {
        let entries = contract.history.iter().map(|entry| Entry {
            action: entry.action,
            agent: entry.agent.to_string(),
            amount: entry.terms.as_ref().and_then(|terms| {
                let amount = terms.get("amount")?;
                let part = |name| amount.get(name)?.as_str();
                Some(format!("{} {}", part("value")?, part("currency")?))
            }),
            at: entry.at.to_rfc3339(),
        });
        Summary {
            id: format!("neg-{}", contract.id),
            initiator: contract.initiator.to_string(),
            responder: contract.responder.to_string(),
            status: contract.status,
            expires_at: contract.expires_at.to_rfc3339(),
            entries: entries.collect(),
        }
    }
}

impl Report for Audited {
    fn print(&self, out: &mut Out) {
        out.heading(
            Tone::Plain,
            format_args!("rendered contract {}", self.source.display()),
        );
        let summary = match &self.judged {
            Judged::Holds(summary) => summary,
            Judged::Broken { why, .. } => {
                out.gap();
                out.heading(Tone::Bad, "THE CONTRACT DOES NOT HOLD");
                out.line(why);
                return;
            }
        };
        out.fields(&[
            ("contract", summary.id.clone()),
            ("initiator", summary.initiator.clone()),
            ("responder", summary.responder.clone()),
            ("status", word(summary.status).to_owned()),
            ("expires at", summary.expires_at.clone()),
        ]);
        out.gap();
        let rows = summary.entries.iter().enumerate().map(|(index, entry)| {
            let action = match entry.action {
                PageAction::Offer => "offer",
                PageAction::Counter => "counter",
                PageAction::Accept => "accept",
                PageAction::Reject => "reject",
            };
            vec![
                index.to_string(),
                action.to_owned(),
                entry.amount.clone().unwrap_or_default(),
                entry.at.clone(),
                entry.agent.clone(),
            ]
        });
        let rows: Vec<_> = rows.collect();
        out.table(&["entry", "action", "amount", "at", "agent"], &rows);
        out.gap();
        out.heading(
            Tone::Waiting,
            "NOT VERIFIED: its hash chain holds, and it says nothing of who made it",
        );
        out.line(
            "Whoever has the file can write all of it anew. Who signed what is proven by the contract's \
             bundle.",
        );
    }
}

fn word(status: PageStatus) -> &'static str {
    match status {
        PageStatus::Pending => "pending",
        PageStatus::Countered => "countered",
        PageStatus::Accepted => "accepted",
        PageStatus::Rejected => "rejected",
        PageStatus::Expired => "expired",
    }
}

#[cfg(test)]
mod tests;
