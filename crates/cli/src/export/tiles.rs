//! `x811 export --tiles`: the log as a folder that any verifier of transparency logs reads.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde::Serialize;
use x811_audit::checkpoint_note::verifies;
use x811_eventlog::note::NoteKey;
use x811_eventlog::policy::Trusted;
use x811_eventlog::{Checkpoint, EventLog as _, Hash, Policy};
use x811_ledger::checkpoint::CheckpointStore as _;
use x811_ledger::export::{TilesError, write_tiles};
use x811_ledger::keyring;
use x811_ledger::port::LedgerStore as _;
use x811_protocol::event::{Event, LedgerEvent, LedgerOpened};
use x811_store::{Backend, FileCheckpointStore};

use crate::failure::Failure;
use crate::output::{Out, Report, Tone};

const CHECKPOINT: &str = "checkpoint";

/// Writes the records under the last signed checkpoint, and that checkpoint, to a new folder
/// `target`: beside it first, then renamed, so that it is never half an export.
pub(super) async fn run(
    store: &Backend,
    checkpoint_dir: &Path,
    target: &Path,
    out: &mut Out,
) -> Result<(), Failure> {
    if target.exists() {
        let message = format!("{} exists", target.display());
        return Err(Failure::local("file", message).hint("name a folder that does not exist yet"));
    }
    let (note, trusted, key) = last_signed(checkpoint_dir, store).await?;
    let mut name = target.file_name().unwrap_or_default().to_owned();
    name.push(format!(".{}.part", std::process::id()));
    let part = target.with_file_name(name);
    let size = trusted.checkpoint.size;
    let written = write(store, &part, &note, size).await;
    let finished = written.and_then(|root| {
        if root == trusted.checkpoint.root {
            fs::rename(&part, target).map_err(|error| unwritten(&error.into()))
        } else {
            Err(forked(size))
        }
    });
    finished.inspect_err(|_| {
        // What is left of it is of no use; that it cannot be removed changes nothing.
        let _ = fs::remove_dir_all(&part);
    })?;
    out.report(&Exported {
        folder: target.to_owned(),
        size,
        root: trusted.checkpoint.root,
        vkey: key.to_vkey(),
    });
    Ok(())
}

/// What position 0 says.
async fn opened(store: &Backend) -> Result<LedgerOpened, Failure> {
    let page = store.log().read(0, 1).await;
    let page = page.map_err(|error| Failure::local("log", error.to_string()))?;
    let event = page
        .first()
        .map(|record| Event::from_json(record.event_json()));
    match event {
        Some(Ok(Event::Ledger(LedgerEvent::Opened(opened)))) => Ok(opened),
        Some(_) => Err(Failure::local("log", "position 0 is no `ledger_opened`")
            .hint("audit the directory: x811 audit DIR")),
        None => Err(Failure::local(
            "log",
            "the log is empty: there is nothing to export",
        )),
    }
}

/// The checkpoint as it is stored, once it is found to be by the key that was in force there.
async fn last_signed(
    directory: &Path,
    store: &Backend,
) -> Result<(String, Trusted, NoteKey), Failure> {
    let kept = FileCheckpointStore::at(directory);
    let file = kept.file();
    let note = kept.load().await;
    let note = note.map_err(|error| Failure::local("checkpoint", error.to_string()))?;
    let note = note.ok_or_else(|| super::no_checkpoint(&file))?;
    let foreign = |error: String| {
        let message = format!("{} is not this log's: {error}", file.display());
        Failure::local("checkpoint", message)
    };
    let claimed = Checkpoint::claimed(&note).map_err(|error| foreign(error.to_string()))?;
    let key = key_after(store, claimed.size).await?;
    let trusted = Policy::of_log(key.clone()).check(&note, verifies);
    let trusted = trusted.map_err(|error| foreign(error.to_string()))?;
    Ok((note, trusted, key))
}

/// The key that signs checkpoints over the first `size` records.
async fn key_after(store: &Backend, size: u64) -> Result<NoteKey, Failure> {
    let unread = |error: String| Failure::local("log", error);
    let opened = opened(store).await?;
    let keyring = keyring::read(store.log(), size).await;
    let keyring = keyring.map_err(|error| unread(error.to_string()))?;
    let keys = keyring.map_or(opened.keys, |keyring| *keyring.in_force());
    NoteKey::new(&*opened.origin, *keys.checkpoint.as_bytes())
        .map_err(|error| unread(error.to_string()))
}

async fn write(store: &Backend, folder: &Path, note: &str, size: u64) -> Result<Hash, Failure> {
    let put = |path: PathBuf, bytes: &[u8]| -> io::Result<()> {
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent)?;
        }
        fs::write(path, bytes)
    };
    let checkpoint = put(folder.join(CHECKPOINT), note.as_bytes());
    checkpoint.map_err(|error| unwritten(&error.into()))?;
    write_tiles(store.log(), size, |tile, bytes| {
        put(folder.join(tile.to_string()), bytes)
    })
    .await
    .map_err(|error| unwritten(&error))
}

fn unwritten(error: &TilesError) -> Failure {
    let code = match error {
        TilesError::Write(_) => "file",
        TilesError::Read(_) | TilesError::CutShort { .. } | TilesError::Bundle(_) => "log",
    };
    Failure::local(code, error.to_string())
}

fn forked(size: u64) -> Failure {
    let message =
        format!("the first {size} records are not those that the checkpoint was signed for");
    Failure::local("log", message).hint("audit the directory, and compare it with your copies")
}

#[derive(Serialize)]
struct Exported {
    folder: PathBuf,
    size: u64,
    root: Hash,
    vkey: String,
}

impl Report for Exported {
    fn print(&self, out: &mut Out) {
        out.heading(
            Tone::Good,
            format_args!("exported in tiles to {}", self.folder.display()),
        );
        out.fields(&[
            ("records", self.size.to_string()),
            ("root", self.root.to_string()),
            ("key", self.vkey.clone()),
        ]);
        out.gap();
        out.line("any verifier of C2SP tlog-tiles can check it with that key; serve it as it is");
    }
}
