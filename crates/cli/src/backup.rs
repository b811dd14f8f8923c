//! `x811 backup`: a copy of a ledger that can be restored, made while it runs.
//!
//! A backup is a directory: `ledger.db`, the `keys` unless they are left out, and `backup.json`,
//! which says what is in it. It is examined as a restore would examine it before it is called one.

pub(crate) mod files;

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use x811_eventlog::{EventLog as _, Hash};
use x811_ledger::doctor::examine;
use x811_ledger::memory::MemoryReadModel;
use x811_ledger::port::LedgerStore as _;
use x811_protocol::event::{Event, LedgerEvent};
use x811_store::Backend;

use crate::data_dir::{open_store, unopened};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::{Out, Report, Tone};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The ledger's data directory; the ledger may be running
    data_dir: PathBuf,
    /// Directory for the backup; must not exist yet
    target: PathBuf,
    /// Leave the ledger's secret keys out: who restores must bring them
    #[arg(long)]
    without_keys: bool,
}

/// What a backup says of itself, in `backup.json`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Manifest {
    /// Form of this file; 1.
    pub(crate) backup: u64,
    /// DID of the ledger.
    pub(crate) did: String,
    /// Id of the log.
    pub(crate) log_id: String,
    /// Records in it.
    pub(crate) size: u64,
    /// Hash of the last one.
    pub(crate) head_hash: Hash,
    /// When that was recorded.
    pub(crate) through_ms: u64,
    /// Whether the secret keys are in it.
    pub(crate) keys: bool,
}

/// Makes a backup.
pub(crate) async fn run(args: Args, out: &mut Out) -> Result<Exit, Failure> {
    let store = open_store(&args.data_dir).await?;
    files::make_directory(&args.target)?;
    store.copy_to(&args.target).await.map_err(unopened)?;
    if !args.without_keys {
        files::copy_keys(&args.data_dir, &args.target)?;
    }
    let copy = Backend::open_read_only(&args.target)
        .await
        .map_err(unopened)?;
    let manifest = examined(&copy, &args.target, !args.without_keys).await?;
    copy.close().await;
    files::remove_side_files(&args.target)?;
    files::write_manifest(&args.target, &manifest)?;
    out.report(&Made {
        target: args.target,
        manifest,
    });
    Ok(Exit::Ok)
}

/// What is in `store`, once it has been found whole.
pub(crate) async fn examined(
    store: &Backend,
    directory: &Path,
    keys: bool,
) -> Result<Manifest, Failure> {
    let unreadable = |error: String| Failure::local("log", error);
    let examined = examine(store, &MemoryReadModel::default(), 0, &[])
        .await
        .map_err(|error| unreadable(error.to_string()))?;
    if let Some(finding) = examined.findings.kept.first() {
        let message = format!(
            "the copy is not whole: {}: {}",
            finding.part, finding.sentence
        );
        return Err(Failure::local("damaged", message)
            .hint("`x811 doctor` of the original says what to do"));
    }
    let problems = store.problems(directory).await;
    let problems = problems.map_err(|error| unreadable(error.to_string()))?;
    if let Some(problem) = problems.first() {
        let message = format!("the copy is not whole: {problem}");
        return Err(Failure::local("damaged", message)
            .hint("`x811 doctor` of the original says what to do"));
    }
    let first = store.log().read(0, 1).await;
    let first = first.map_err(|error| unreadable(error.to_string()))?;
    let opened = first
        .first()
        .map(|record| Event::from_json(record.event_json()));
    let Some(Ok(Event::Ledger(LedgerEvent::Opened(opened)))) = opened else {
        return Err(unreadable(
            "the log does not begin as a ledger's does".to_owned(),
        ));
    };
    let head = store.log().head().await;
    let head = head.map_err(|error| unreadable(error.to_string()))?;
    Ok(Manifest {
        backup: 1,
        did: opened.did.to_string(),
        log_id: opened.log_id.to_string(),
        size: head.size,
        head_hash: head.hash,
        through_ms: head.recorded_at_ms,
        keys,
    })
}

#[derive(Debug, Serialize)]
struct Made {
    target: PathBuf,
    #[serde(flatten)]
    manifest: Manifest,
}

impl Report for Made {
    fn print(&self, out: &mut Out) {
        let manifest = &self.manifest;
        out.heading(
            Tone::Good,
            format_args!("backup in {}", self.target.display()),
        );
        let keys = if manifest.keys {
            "in it: whoever reads the backup can sign as this ledger"
        } else {
            "left out: keep them elsewhere, a restore needs them"
        };
        out.fields(&[
            ("ledger", manifest.did.clone()),
            (
                "records",
                format!("{}, replayed from the copy", manifest.size),
            ),
            ("head", manifest.head_hash.to_string()),
            ("keys", keys.to_owned()),
        ]);
        out.line(format_args!(
            "Next: x811 restore {} NEW_DATA_DIR",
            self.target.display()
        ));
    }
}
