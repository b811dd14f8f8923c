//! `x811 ledger reopen`: a new ledger behind one that lost acknowledged records (stores.md section 2).
//!
//! Nothing goes on under the old origin: whoever moved its checkpoint away and went on would sign a
//! fork of it. The new log has a name, keys and an origin of its own, and its first record says which
//! checkpoint of the old one was the last.

use std::path::{Path, PathBuf};

use serde::Serialize;
use x811_eventlog::Checkpoint;
use x811_ledger::checkpoint::{CheckpointSigner, CheckpointStore as _, CheckpointStoreError};
use x811_ledger::clock::{Clock as _, SystemClock};
use x811_protocol::digest::Digest;
use x811_protocol::event::{Continues, LedgerRole};
use x811_server::entropy::SystemEntropy;
use x811_server::keys::{Identity, NewIdentity};
use x811_store::{Backend, FileCheckpointStore};

use super::checkpoint_dir;
use crate::backup::files;
use crate::data_dir::unopened;
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
    /// The old ledger's last checkpoint is lost: go on from the end of the log that is left
    #[arg(long)]
    lost_checkpoint: bool,
    /// Where the new ledger is to keep its checkpoint (without it: beside its data directory)
    #[arg(long, value_name = "DIR")]
    new_checkpoint_dir: Option<PathBuf>,
}

/// Makes the new ledger's identity, and closes the old log where it can still be opened.
pub(crate) async fn run(args: Args, out: &mut Out) -> Result<Exit, Failure> {
    let (from, old) = super::identity(&args.from)?;
    let keys = |error: String| Failure::local("keys", error);
    let last = match args.lost_checkpoint {
        true => end_of_log(&from, &old).await?,
        false => last_checkpoint(&args, &from, &old).await?,
    };
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
    let new = NewIdentity::make(&to, now, &entropy, Some(continues.clone()));
    let new = new.map_err(|error| keys(error.to_string()))?;
    let begun = begin_checkpoint(args.new_checkpoint_dir.as_deref(), &to, new.identity()).await;
    let checkpoint = begun.inspect_err(|_| {
        // Made a moment ago: what cannot be removed is named by the next attempt.
        let _ = std::fs::remove_dir_all(&to);
    })?;
    let new = new.keep().map_err(|error| keys(error.to_string()))?;
    notes::write(&from, MOVED, &to)?;
    let not_closed = close(&from).await.err();
    out.report(&Reopened {
        did: new.opened.did.to_string(),
        log_id: new.opened.log_id.to_string(),
        origin: new.opened.origin,
        continues,
        from,
        to,
        checkpoint,
        not_closed,
    });
    Ok(Exit::Ok)
}

/// The last one that the old ledger signed, by its own key.
async fn last_checkpoint(args: &Args, from: &Path, old: &Identity) -> Result<Checkpoint, Failure> {
    let failed = |error: String| {
        Failure::local("checkpoint", error)
            .hint("say where the old ledger kept it with --checkpoint-dir, or that it is lost with --lost-checkpoint")
    };
    let directory = checkpoint_dir(args.checkpoint_dir.as_deref(), from)?;
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

/// A checkpoint over what is left of the old log, whose last one is lost.
async fn end_of_log(from: &Path, old: &Identity) -> Result<Checkpoint, Failure> {
    let store = Backend::open_read_only(from).await.map_err(unopened)?;
    let examined = super::whole_log(&store, &[]).await;
    store.close().await;
    let examined = examined?;
    Ok(Checkpoint {
        origin: old.opened.origin.clone(),
        size: examined.size,
        root: examined.world.frontier().root(),
    })
}

/// The new ledger's checkpoint over no record, without which it does not start.
async fn begin_checkpoint(
    named: Option<&Path>,
    to: &Path,
    new: &Identity,
) -> Result<PathBuf, Failure> {
    let failed = |error: String| Failure::local("checkpoint", error);
    let directory = checkpoint_dir(named, to)?;
    let file = FileCheckpointStore::open(&directory).map_err(|error| failed(error.to_string()))?;
    let signer = CheckpointSigner::new(&new.opened.origin, new.checkpoint_key.clone());
    let empty = signer.empty().map_err(|error| failed(error.to_string()))?;
    match file.compare_and_swap(None, empty).await {
        Ok(()) => Ok(directory),
        Err(CheckpointStoreError::Conflict) => {
            let message = format!("there is a checkpoint in {} already", directory.display());
            Err(failed(message).hint("name another directory with --new-checkpoint-dir"))
        }
        Err(error) => Err(failed(error.to_string())),
    }
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
    /// Directory of the new ledger's checkpoint.
    checkpoint: PathBuf,
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
            ("checkpoint", self.checkpoint.display().to_string()),
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
            "Next: publish the new keys, keep {from} to be read, and start the new ledger with"
        ));
        out.line(format_args!(
            "  x811 serve --data-dir {to} --checkpoint-dir {}",
            self.checkpoint.display()
        ));
        out.line("or with these directories in its unit file or container.");
    }
}
