//! `x811 ledger adopt-checkpoint`: a log that is whole goes on without its last checkpoint, which is lost
//! (stores.md section 2).
//!
//! The checkpoint is all that tells whether a log lost its end. Whoever goes on without one says so: the
//! next start records it, and audits show it from then on.

use std::path::PathBuf;

use serde::Serialize;
use x811_eventlog::Hash;
use x811_ledger::checkpoint::{CheckpointSigner, CheckpointStore as _};
use x811_ledger::doctor::{Examined, check_signed};
use x811_protocol::event::LedgerRole;
use x811_server::keys::Identity;
use x811_store::{Backend, FileCheckpointStore};

use super::checkpoint_dir;
use crate::data_dir::unopened;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::{Out, Report, Tone};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Data directory of the ledger, which must have stopped
    data_dir: PathBuf,
    /// Where the ledger is to keep its checkpoint (without it: beside the data directory, by its name and
    /// -checkpoint)
    #[arg(long, env = "X811_CHECKPOINT_DIR", value_name = "DIR")]
    checkpoint_dir: Option<PathBuf>,
}

/// Examines the log, and signs a checkpoint over all of it.
pub(crate) async fn run(args: Args, out: &mut Out) -> Result<Exit, Failure> {
    let (data_dir, identity) = super::identity(&args.data_dir)?;
    let directory = checkpoint_dir(args.checkpoint_dir.as_deref(), &data_dir)?;
    // As the writer, so that no other process goes on with the log meanwhile.
    let store = Backend::open_noted(&data_dir).await.map_err(unopened)?;
    let file = FileCheckpointStore::open(&directory).map_err(|error| failed(&error))?;
    let adopted = adopt(&store, &file, &identity).await;
    store.close().await;
    let (size, root) = adopted?;
    out.report(&Adopted {
        checkpoint: file.file(),
        data_dir,
        size,
        root,
    });
    Ok(Exit::Ok)
}

async fn adopt(
    store: &Backend,
    file: &FileCheckpointStore,
    identity: &Identity,
) -> Result<(u64, Hash), Failure> {
    if file.load().await.map_err(|error| failed(&error))?.is_some() {
        let message = format!("{} is there: it is not lost", file.file().display());
        return Err(Failure::local("checkpoint", message)
            .hint("start the ledger; if it refuses, it says why"));
    }
    let row = store.checkpoints(file.clone()).load().await;
    let row = row.map_err(|error| failed(&error))?;
    let sizes: Vec<u64> = row.iter().filter_map(|note| claimed_size(note)).collect();
    let examined = super::whole_log(store, &sizes).await?;
    if examined.size == 0 {
        return Err(Failure::local(
            "log",
            "the log has no records: it is lost, or was never begun",
        )
        .hint("restore a backup, or begin a new ledger in another directory"));
    }
    if let Some(note) = row {
        let fits = check_signed(&note, &examined);
        let _ = fits.map_err(|fault| {
            Failure::local("checkpoint", format!("the database's own: {fault}"))
                .hint("the end of the log is lost: see `x811 ledger reopen`")
        })?;
    }
    let (size, root) = (examined.size, examined.world.frontier().root());
    let note = signer(identity, &examined)?.over(size, root);
    let note = note.map_err(|error| failed(&error))?;
    file.adopt(note).await.map_err(|error| failed(&error))?;
    Ok((size, root))
}

/// Signs as the log's checkpoint key, if the directory has it.
fn signer(identity: &Identity, examined: &Examined) -> Result<CheckpointSigner, Failure> {
    let other = || {
        Failure::local("keys", "the keys in the directory are not those of the log")
            .hint("put the ledger's own `keys` directory back")
    };
    let opened = examined.world.identity();
    let opened = opened.filter(|opened| opened.log_id == identity.opened.log_id);
    let opened = opened.ok_or_else(other)?;
    let keyring = examined.world.keyring().ok_or_else(other)?;
    let key = identity.secret(LedgerRole::Checkpoint, keyring.in_force().checkpoint);
    let key = key.ok_or_else(other)?;
    Ok(CheckpointSigner::new(&opened.origin, key.clone()))
}

fn claimed_size(note: &str) -> Option<u64> {
    let claimed = x811_eventlog::Checkpoint::claimed(note).ok()?;
    Some(claimed.size)
}

fn failed(error: &dyn std::fmt::Display) -> Failure {
    Failure::local("checkpoint", error.to_string())
}

#[derive(Debug, Serialize)]
struct Adopted {
    data_dir: PathBuf,
    checkpoint: PathBuf,
    size: u64,
    root: Hash,
}

impl Report for Adopted {
    fn print(&self, out: &mut Out) {
        let Adopted {
            data_dir,
            checkpoint,
            size,
            root,
        } = self;
        out.heading(Tone::Good, "the log goes on without its last checkpoint");
        out.fields(&[
            ("data directory", data_dir.display().to_string()),
            ("checkpoint", checkpoint.display().to_string()),
            ("signed", format!("{size} records, root {root}")),
        ]);
        out.gap();
        out.line("The next start records that the checkpoint was lost. Audits show from then on that nobody can");
        out.line("prove that no acknowledged record is missing before it. Start no other copy of this log.");
    }
}
