//! `x811 ledger reopen`: a new ledger behind one that lost acknowledged records (stores.md section 2).
//!
//! Nothing goes on under the old origin: whoever moved its checkpoint away and went on would sign a
//! fork of it. The new log has a name, keys and an origin of its own, and its first record says which
//! checkpoint of the old one was the last.

use std::path::{Path, PathBuf};

use serde::Serialize;
use x811_eventlog::Checkpoint;
use x811_ledger::checkpoint::{CheckpointSigner, CheckpointStore as _};
use x811_ledger::clock::{Clock as _, SystemClock};
use x811_protocol::digest::Digest;
use x811_protocol::event::{Continues, LedgerRole};
use x811_server::entropy::SystemEntropy;
use x811_server::keys::Identity;
use x811_store::{Backend, FileCheckpointStore};

use crate::backup::files;
use crate::data_dir::expect_directory;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::log::notes::{self, MOVED};
use crate::output::{Out, Report, Tone};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Data directory of the ledger that lost records, with its keys; it must have stopped
    from: PathBuf,
    /// Data directory of the new ledger; must not exist yet
    to: PathBuf,
    /// Where the old ledger kept its last checkpoint (without it: beside its data directory, by its
    /// name and -checkpoint)
    #[arg(long, env = "X811_CHECKPOINT_DIR", value_name = "DIR")]
    checkpoint_dir: Option<PathBuf>,
}

/// Makes the new ledger's identity, and closes the old log where it can still be opened.
pub(crate) async fn run(args: Args, out: &mut Out) -> Result<Exit, Failure> {
    expect_directory(&args.from)?;
    let from = notes::real(&args.from)?;
    let keys = |error: String| Failure::local("keys", error);
    let old = Identity::load(&from).map_err(|error| keys(error.to_string()))?;
    let old = old.ok_or_else(|| keys(format!("{} has no keys", from.display())))?;
    let last = last_checkpoint(&args, &from, &old).await?;
    if last.size == 0 {
        return Err(Failure::local(
            "checkpoint",
            "it is over no record: nothing is continued",
        ));
    }
    let entropy = SystemEntropy::open().map_err(|error| keys(error.to_string()))?;
    files::make_directory(&args.to)?;
    let to = notes::real(&args.to)?;
    let continues = Continues {
        origin: last.origin.clone(),
        root: Digest::from_bytes(*last.root.as_bytes()),
        size: last.size,
    };
    let now = SystemClock::new().wall();
    let new = Identity::create_after(&to, now, &entropy, Some(continues.clone()));
    let new = new.map_err(|error| keys(error.to_string()))?;
    notes::write(&from, MOVED, &to)?;
    let not_closed = close(&from).await.err();
    out.report(&Reopened {
        did: new.opened.did.to_string(),
        log_id: new.opened.log_id.to_string(),
        origin: new.opened.origin,
        continues,
        from,
        to,
        not_closed,
    });
    Ok(Exit::Ok)
}

/// The last one that the old ledger signed, by its own key.
async fn last_checkpoint(args: &Args, from: &Path, old: &Identity) -> Result<Checkpoint, Failure> {
    let failed = |error: String| {
        Failure::local("checkpoint", error)
            .hint("say where the old ledger kept it: --checkpoint-dir DIR")
    };
    let beside = || FileCheckpointStore::beside(from);
    let directory = args.checkpoint_dir.clone().or_else(beside);
    let directory =
        directory.ok_or_else(|| Failure::usage("the directory has no name to look beside"))?;
    let file = FileCheckpointStore::at(&directory);
    let note = file
        .load()
        .await
        .map_err(|error| failed(error.to_string()))?;
    let note = note.ok_or_else(|| {
        let directory = directory.display();
        failed(format!("there is no checkpoint in {directory}"))
    })?;
    let mut signers = vec![old.checkpoint_key.clone()];
    let replaced = old.replaced.iter();
    signers.extend(
        replaced
            .filter(|replaced| replaced.role == LedgerRole::Checkpoint)
            .map(|replaced| replaced.key.clone()),
    );
    let mut opened = signers
        .into_iter()
        .map(|key| CheckpointSigner::new(&old.opened.origin, key).open(&note));
    let first = opened.next();
    let opened = opened.find(Result::is_ok).or(first);
    let opened = opened.ok_or_else(|| failed("the ledger has no checkpoint key".to_owned()))?;
    opened.map_err(|error| failed(format!("it is not the ledger's: {error}")))
}

/// No ledger starts on what is left of the old log.
async fn close(from: &Path) -> Result<(), String> {
    let old = Backend::open_noted(from)
        .await
        .map_err(|error| error.to_string())?;
    let closed = old.entomb().await.map_err(|error| error.to_string());
    old.close().await;
    closed
}

#[derive(Debug, Serialize)]
struct Reopened {
    from: PathBuf,
    to: PathBuf,
    did: String,
    log_id: String,
    origin: String,
    continues: Continues,
    /// Why the old log could not be closed.
    not_closed: Option<String>,
}

impl Report for Reopened {
    fn print(&self, out: &mut Out) {
        let (from, to) = (self.from.display(), self.to.display());
        out.heading(Tone::Good, format_args!("a new ledger waits in {to}"));
        let Continues { origin, size, root } = &self.continues;
        out.fields(&[
            ("ledger", self.did.clone()),
            ("origin", self.origin.clone()),
            ("goes on from", origin.clone()),
            ("at record", format!("{size}, root {root}")),
        ]);
        if let Some(why) = &self.not_closed {
            out.heading(
                Tone::Bad,
                format_args!("the old log could not be closed: {why}"),
            );
            out.line("see to it that no ledger is started on any copy of it");
        }
        out.gap();
        out.line("What was open in the old log has ended, and nothing of it is taken over: agents register again,");
        out.line("and what was promised there is settled by its receipts. Records behind the last copy are lost;");
        out.line("receipts and bundles over them still verify by themselves, with the old keys.");
        out.line(format_args!(
            "Next: start the ledger with {to}, publish its keys, and keep {from} to be read"
        ));
    }
}
