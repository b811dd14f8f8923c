//! `x811 audit`: re-runs a whole log or one interaction, from a data directory or an export, and
//! trusts nobody.

mod bar;
mod draft;
mod extract;
mod network;
mod page;
mod summary;
mod text;
mod trust;

use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::Serialize;
use x811_client::clock::{Clock as _, SystemClock};
use x811_eventlog::Hash;
use x811_ledger::audit::{self, Options, audit_export, audit_store};
use x811_store::{OpenError, SqliteReadModel, SqliteStore};

use crate::exit::Exit;
use crate::export;
use crate::failure::Failure;
use crate::output::Out;
use crate::trust::TrustArgs;
use bar::Bar;
use draft::Draft;
use network::{Hearing, Witnesses};
use page::Page;

#[derive(Debug, Default, clap::Args)]
pub(crate) struct Args {
    /// A ledger's data directory (running or not), an export of it or of one interaction, or `-`
    /// for standard input
    source: PathBuf,
    /// A head you noted earlier: the log must hold the record of this hash
    #[arg(long, value_name = "HASH")]
    expect_head: Option<Hash>,
    #[command(flatten)]
    trust: TrustArgs,
    /// Where the ledger of a data directory keeps its last signed checkpoint (the data directory's
    /// path and -checkpoint)
    #[arg(long, env = "X811_CHECKPOINT_DIR", value_name = "DIR")]
    checkpoint_dir: Option<PathBuf>,
    /// Also write the report as one HTML page that needs nothing else, whole or not at all
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    /// Also hold every payment against the network, by an endpoint that you choose; its chain id
    /// says which network it is. Once for each
    #[arg(long, value_name = "URL")]
    rpc: Vec<String>,
    /// No progress bar on the terminal
    #[arg(long)]
    quiet: bool,
}

/// Audits; [`Exit::Findings`] when anything is wrong.
pub(crate) async fn run(args: Args, out: &mut Out) -> Result<Exit, Failure> {
    let draft = args
        .html
        .as_deref()
        .map(|page| Draft::of(page, &args.source));
    let draft = draft.transpose()?;
    let bar = Bar::new(out.shows_progress() && !args.quiet);
    let witnesses = Witnesses::call(&args.rpc).await?;
    let options = Options {
        expected_head: args.expect_head,
        trust: args.trust.read()?.map(Arc::new),
        keeps_evidence: !args.rpc.is_empty(),
        ..Options::default()
    };
    let mut report = if args.source.is_dir() {
        let named = args.checkpoint_dir.as_deref();
        // First: what was signed is in the log that is read then.
        let checkpoint = export::last_signed(&args.source, named).await?;
        let options = Options {
            checkpoint,
            ..options
        };
        of_directory(&args.source, bar.over_records(options)).await?
    } else {
        of_export(&args.source, &bar, options)?
    };
    let network = if args.rpc.is_empty() {
        None
    } else {
        Some(witnesses.hear(&mut report, &bar).await?)
    };
    bar.clear();
    let is_clean = report.is_clean();
    if let Some(draft) = draft {
        let page = Page {
            source: &args.source.to_string_lossy(),
            report: &report,
            network: network.as_ref(),
            made_at: SystemClock.now(),
        };
        draft.finish(&page.to_string())?;
    }
    out.report(&Audited {
        source: args.source,
        report,
        network,
        html: args.html,
    });
    Ok(if is_clean { Exit::Ok } else { Exit::Findings })
}

/// Audits a ledger's data directory.
pub(crate) async fn of_directory(
    directory: &Path,
    options: impl Into<Options>,
) -> Result<audit::Report, Failure> {
    let store = SqliteStore::open_read_only(directory)
        .await
        .map_err(unopened)?;
    let rows = match SqliteReadModel::open_read_only(directory).await {
        Ok(rows) => Some(rows),
        // Rows may be thrown away at any time; the log is what counts.
        Err(OpenError::NoLedger { .. }) => None,
        Err(error) => return Err(unopened(error)),
    };
    audit_store(&store, rows.as_ref(), options)
        .await
        .map_err(|error| Failure::local("log", error.to_string()))
}

fn of_export(file: &Path, bar: &Bar, options: Options) -> Result<audit::Report, Failure> {
    let unreadable = |error: io::Error| {
        let message = format!("{} cannot be read: {error}", file.display());
        Failure::local("file", message).hint("name a data directory or an export file")
    };
    let input: Box<dyn BufRead> = if file == Path::new("-") {
        Box::new(BufReader::new(bar.over_bytes(io::stdin(), None)))
    } else {
        let file = File::open(file).map_err(unreadable)?;
        let size = file.metadata().map_err(unreadable)?.len();
        Box::new(BufReader::new(bar.over_bytes(file, Some(size))))
    };
    audit_export(input, options).map_err(unreadable)
}

/// A data directory that cannot be opened for reading.
pub(crate) fn unopened(error: OpenError) -> Failure {
    let is_empty = matches!(error, OpenError::NoLedger { .. });
    let code = if is_empty { "no_ledger" } else { "data_dir" };
    Failure::local(code, error.to_string())
}

#[derive(Serialize)]
struct Audited {
    source: PathBuf,
    #[serde(flatten)]
    report: audit::Report,
    #[serde(skip_serializing_if = "Option::is_none")]
    network: Option<Hearing>,
    #[serde(skip_serializing_if = "Option::is_none")]
    html: Option<PathBuf>,
}

#[cfg(test)]
mod tests;
