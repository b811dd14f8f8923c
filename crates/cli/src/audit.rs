//! `x811 audit`: re-runs a whole log or one interaction, from a data directory or an export, and
//! trusts nobody.

mod against;
mod agent_keys;
mod attested;
mod bar;
mod checkpoint_dir;
pub(crate) mod contract;
mod csv;
mod draft;
mod extract;
mod foreign;
mod hashes;
mod listing;
mod network;
mod noted;
mod page;
mod proofs;
mod summary;
mod terms;
mod text;
mod trust;

use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::path::{Path, PathBuf};

use serde::Serialize;
use x811_audit::{Options, Outcome, audit_export};
use x811_client::clock::{Clock as _, SystemClock};
use x811_eventlog::{Hash, ReadError};
use x811_ledger::store_audit::audit_store;
use x811_store::{Backend, OpenError, ReadRows};

use crate::agent_keys::AgentKeyArgs;
use crate::context::Context;
use crate::data_dir::{open_store, unopened, unreadable};
use crate::doctor::prefix::Prefix;
use crate::exit::Exit;
use crate::export;
use crate::failure::Failure;
use crate::output::Out;
use crate::trust::{RefreshArgs, TrustArgs};
use bar::Bar;
use checkpoint_dir::CheckpointDir;
use csv::Tables;
use draft::FileDraft;
use listing::ListingArgs;
use network::{Hearing, Witnesses};
use page::Page;

#[derive(Debug, Default, clap::Args)]
pub(crate) struct Args {
    /// A ledger's data directory (running or not), an export of it or of one interaction, a rendered
    /// contract, or `-` for standard input
    source: PathBuf,
    /// A second file of the same log: an export, a bundle, a receipt or a signed checkpoint, as the first
    /// may be then, or a trace of an export or bundle. Nothing is audited: it is only found whether the two
    /// contradict each other
    #[arg(conflicts_with_all = [
        "expect_head", "checkpoint", "key", "policy", "agent_keys", "agent_keys_file", "checkpoint-dir",
        "hash_only", "html", "csv", "from", "to", "rpc",
    ])]
    other: Option<PathBuf>,
    /// A head you noted earlier: the log must hold the record of this hash
    #[arg(long, value_name = "HASH")]
    expect_head: Option<Hash>,
    /// A signed checkpoint you noted earlier, from anywhere (a file, or `-`): the log must begin with
    /// the very records that it covers
    #[arg(long, value_name = "NOTE")]
    checkpoint: Option<PathBuf>,
    #[command(flatten)]
    trust: TrustArgs,
    #[command(flatten)]
    refresh: RefreshArgs,
    #[command(flatten)]
    agent_keys: AgentKeyArgs,
    #[command(flatten)]
    checkpoint_dir: CheckpointDir,
    /// Check bytes, links, tree and checkpoints alone: no signature, message, rule or payment. Quick,
    /// and no word on whether the log is sound
    #[arg(long, conflicts_with_all = [
        "html", "rpc", "csv", "from", "to", "checkpoint", "agent_keys", "agent_keys_file",
    ])]
    hash_only: bool,
    /// Also write the report as one HTML page that needs nothing else, whole or not at all
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    /// A folder of proofs that an agent's loop kept (`.tlog-proof`): a log without a record that was
    /// proven is broken. Takes --key or --policy, by which the proofs are checked
    #[arg(long, value_name = "DIR", conflicts_with_all = ["other", "hash_only"])]
    proofs: Option<PathBuf>,
    #[command(flatten)]
    listing: ListingArgs,
    /// Also hold every payment against the network, by an endpoint that you choose; its chain id
    /// says which network it is. Once for each; without it, the one in `X811_RPC_URL`, where that is set
    #[arg(long, alias = "rpc-url", value_name = "URL")]
    rpc: Vec<String>,
    /// No progress bar on the terminal
    #[arg(long)]
    quiet: bool,
}

#[expect(
    clippy::disallowed_methods,
    reason = "for clap a variable that is set would contradict --hash-only and a second file"
)]
fn environment() -> Option<String> {
    std::env::var("X811_RPC_URL").ok()
}

/// Which endpoints are asked: those of the command line, else the one of the environment.
fn endpoints(given: Vec<String>, hash_only: bool, of_environment: Option<String>) -> Vec<String> {
    match of_environment {
        Some(url) if given.is_empty() && !hash_only && !url.is_empty() => vec![url],
        _ => given,
    }
}

/// Audits; the exit code says what it came to.
pub(crate) async fn run(args: Args, context: &Context, out: &mut Out) -> Result<Exit, Failure> {
    if let Some(other) = &args.other {
        return against::run(&args.source, other, out);
    }
    if let Some(exit) = contract::run(&args, out)? {
        return Ok(exit);
    }
    let args = Args {
        rpc: endpoints(args.rpc, args.hash_only, environment()),
        ..args
    };
    let draft = args
        .html
        .as_deref()
        .map(|page| FileDraft::of(page, &args.source));
    let draft = draft.transpose()?;
    let tables = args.listing.csv.as_deref();
    let tables = tables.map(|folder| Tables::of(folder, &args.source));
    let tables = tables.transpose()?;
    let bar = Bar::new(out.shows_progress() && !args.quiet);
    let options = Options {
        agent_keys: args.agent_keys.read(context)?.unwrap_or_default(),
        ..asked(&args, out.is_json()).await?
    };
    if args.hash_only {
        return hashes::run(args, options, &bar, out).await;
    }
    let proven = proven(&args)?;
    let witnesses = match Witnesses::call(&args.rpc).await {
        Err(failure) if failure.exit == Exit::Usage => return Err(failure),
        called => called,
    };
    let mut report = if args.source.is_dir() {
        of_directory(&args.source, bar.over_records(options)).await?
    } else {
        let report = audit_export(input(&args.source, &bar)?, options);
        report.map_err(|error| unreadable(&args.source, &error))?
    };
    let proofs = match &proven {
        Some(proven) => Some(proofs::hold(proven, &args.source, &mut report).await?),
        None => None,
    };
    let network = match args.rpc.is_empty() {
        true => None,
        false => Some(network::hear(witnesses, &mut report, &bar).await?),
    };
    bar.clear();
    let exit = exit(&report);
    if let Some(draft) = draft {
        let page = Page {
            source: &args.source.to_string_lossy(),
            report: &report,
            network: network.as_ref(),
            made_at: SystemClock.now(),
        };
        draft.finish(&page.to_string())?;
    }
    let csv = tables.map(|tables| tables.finish(&report)).transpose()?;
    out.report(&Audited {
        source: args.source,
        report,
        network,
        proofs,
        html: args.html,
        csv,
    });
    Ok(exit)
}

/// The proofs of `--proofs`, checked by the keys that are trusted.
fn proven(args: &Args) -> Result<Option<Vec<proofs::Proven>>, Failure> {
    let Some(folder) = &args.proofs else {
        return Ok(None);
    };
    if args.source == Path::new("-") {
        return Err(Failure::usage(
            "--proofs reads the log twice: name a file or a directory",
        ));
    }
    let policy = args.trust.policy()?;
    let policy = policy.ok_or_else(|| {
        Failure::usage("--proofs needs --key or --policy: whoever signed them must be known")
    })?;
    proofs::read(folder, &policy).map(Some)
}

/// What the verdict and the trust come to (ledger-contract.md section 9).
fn exit(report: &x811_audit::Report) -> Exit {
    match report.verdict {
        Outcome::Broken => Exit::Findings,
        Outcome::Incomplete => Exit::Incomplete,
        Outcome::Clean if report.trust.given.is_none() => Exit::Unverified,
        Outcome::Clean if report.trust.rotated.is_some() => Exit::Unverified,
        Outcome::Clean => Exit::Ok,
    }
}

/// What is asked of the audit.
async fn asked(args: &Args, is_json: bool) -> Result<Options, Failure> {
    let checkpoint = if args.source.is_dir() {
        // First: what was signed is in the log that is read then.
        export::last_signed(&args.source, args.checkpoint_dir.get()).await?
    } else {
        args.checkpoint_dir.check_unnamed()?;
        None
    };
    Ok(Options {
        expected_head: args.expect_head,
        trust: args.trust.read()?,
        refresh: args.refresh.read(&args.source)?.map(Into::into),
        checkpoint,
        keeps_evidence: !args.rpc.is_empty(),
        noted_checkpoint: args.checkpoint.as_deref().map(noted::read).transpose()?,
        listing: args.listing.period(is_json || args.html.is_some())?,
        ..Options::default()
    })
}

/// Audits a ledger's data directory.
pub(crate) async fn of_directory(
    directory: &Path,
    options: impl Into<Options>,
) -> Result<x811_audit::Report, Failure> {
    let store = open_store(directory).await?;
    let rows = match ReadRows::open_read_only(directory).await {
        Ok(rows) => Some(rows),
        // Rows may be thrown away at any time; the log is what counts.
        Err(OpenError::NoLedger { .. }) => None,
        // `x811 doctor` says so.
        Err(error) if error.is_damage() => None,
        Err(error) => return Err(unopened(error)),
    };
    match audit_store(&store, rows.as_ref(), options).await {
        Ok(report) => Ok(report),
        Err(error) => Err(unread(&store, directory, &error).await),
    }
}

/// A log that cannot be read to its end: up to where it can be.
async fn unread(store: &Backend, directory: &Path, error: &ReadError) -> Failure {
    let message = match Prefix::read(store, None).await {
        Ok(prefix) => format!("{error}. {}", prefix.sentence()),
        Err(_) => error.to_string(),
    };
    let directory = directory.display();
    Failure::local("log", message).hint(format!(
        "`x811 doctor {directory} --write-readable FILE` writes what can be read, and `x811 audit FILE` \
         says whether that is sound; then restore a backup"
    ))
}

/// An export to read.
fn input(file: &Path, bar: &Bar) -> Result<Box<dyn BufRead>, Failure> {
    if file == Path::new("-") {
        let bytes = BufReader::new(bar.over_bytes(io::stdin(), None));
        return begun(file, bytes);
    }
    let opened = File::open(file).map_err(|error| unreadable(file, &error))?;
    let metadata = opened
        .metadata()
        .map_err(|error| unreadable(file, &error))?;
    let bytes = bar.over_bytes(opened, Some(metadata.len()));
    begun(file, BufReader::new(bytes))
}

/// The same, unless it is plain from how it begins that it is something else.
fn begun<R: io::Read + 'static>(
    file: &Path,
    mut bytes: BufReader<R>,
) -> Result<Box<dyn BufRead>, Failure> {
    let first = bytes.fill_buf().map_err(|error| unreadable(file, &error))?;
    match foreign::what_else(first) {
        None => Ok(Box::new(bytes)),
        Some(what) => {
            let message = format!("{} is no export of a ledger: {what}", file.display());
            Err(Failure::local("no_export", message)
                .hint("`x811 export` writes one; a data directory can be audited too"))
        }
    }
}

#[derive(Serialize)]
struct Audited {
    source: PathBuf,
    #[serde(flatten)]
    report: x811_audit::Report,
    #[serde(skip_serializing_if = "Option::is_none")]
    network: Option<Hearing>,
    #[serde(skip_serializing_if = "Option::is_none")]
    proofs: Option<proofs::ProofsHeld>,
    #[serde(skip_serializing_if = "Option::is_none")]
    html: Option<PathBuf>,
    #[serde(skip_serializing_if = "Option::is_none")]
    csv: Option<PathBuf>,
}

#[cfg(test)]
mod tests;
