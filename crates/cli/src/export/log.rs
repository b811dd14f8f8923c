//! `x811 export DIR`: the whole log as one file.

use std::path::{Path, PathBuf};

use serde::Serialize;
use x811_audit::export::Trailer;
use x811_ledger::checkpoint::CheckpointStore as _;
use x811_ledger::export::{UpTo, WriteError, write};
use x811_store::{Backend, FileCheckpointStore};

use super::until::{self, Awaited};
use super::{sink::Sink, unwritten};
use crate::failure::Failure;
use crate::output::{Out, Report, Tone};

/// Writes the log up to the last signed checkpoint, once there is one over all that is in the log now.
pub(super) async fn until_checkpoint(
    store: &Backend,
    place: &FileCheckpointStore,
    target: &Path,
    out: &mut Out,
) -> Result<(), Failure> {
    let Awaited { note, left_out } = until::signed_at(store, place).await?;
    let trailer = written(store, UpTo::Checkpoint(&note), target).await?;
    if target != Path::new("-") {
        out.report(&Exported {
            file: target.to_owned(),
            has_checkpoint: true,
            left_out,
            looked_for: None,
            trailer,
        });
    }
    Ok(())
}

/// Writes the log as it is now, with the last signed checkpoint where there is one.
pub(super) async fn with_tail(
    store: &Backend,
    note: Option<String>,
    looked_for: Option<PathBuf>,
    target: &Path,
    out: &mut Out,
) -> Result<(), Failure> {
    let trailer = written(store, UpTo::Head(note.as_deref()), target).await?;
    if target != Path::new("-") {
        out.report(&Exported {
            file: target.to_owned(),
            has_checkpoint: note.is_some(),
            left_out: 0,
            looked_for: looked_for.filter(|_| note.is_none()),
            trailer,
        });
    }
    Ok(())
}

pub(crate) async fn written(
    store: &Backend,
    up_to: UpTo<'_>,
    target: &Path,
) -> Result<Trailer, Failure> {
    let mut sink = Sink::open(target).map_err(|error| unwritten(&error))?;
    let trailer = write(store, up_to, &mut sink).await;
    let trailer = trailer.map_err(|error| unexported(&error))?;
    sink.finish().map_err(|error| unwritten(&error))?;
    Ok(trailer)
}

/// The last signed checkpoint; none where the ledger's place for it is not known, unless that was
/// named.
pub(crate) async fn last_signed(
    data_dir: &Path,
    named: Option<&Path>,
) -> Result<Option<String>, Failure> {
    let Some(directory) = named
        .map(Path::to_owned)
        .or_else(|| FileCheckpointStore::beside(data_dir))
    else {
        return Ok(None);
    };
    let store = FileCheckpointStore::at(&directory);
    let note = store.load().await;
    let note = note.map_err(|error| Failure::local("checkpoint", error.to_string()))?;
    match (note, named) {
        (None, Some(_)) => Err(super::no_checkpoint(&store.file())),
        (note, _) => Ok(note),
    }
}

pub(super) fn unexported(error: &WriteError) -> Failure {
    let code = match error {
        WriteError::Write(_) | WriteError::Json(_) => "file",
        WriteError::Checkpoint(_) => "checkpoint",
        WriteError::Read(_)
        | WriteError::Empty
        | WriteError::NotOpened
        | WriteError::CutShort { .. }
        | WriteError::CutBehindCheckpoint { .. }
        | WriteError::BodyLine { .. } => "log",
    };
    Failure::local(code, error.to_string())
}

#[derive(Serialize)]
struct Exported {
    file: PathBuf,
    has_checkpoint: bool,
    /// Records behind the checkpoint that it ends with, as the log was when it was exported.
    left_out: u64,
    /// Where it was looked for, and not found.
    #[serde(skip_serializing_if = "Option::is_none")]
    looked_for: Option<PathBuf>,
    #[serde(flatten)]
    trailer: Trailer,
}

impl Report for Exported {
    fn print(&self, out: &mut Out) {
        out.heading(
            Tone::Good,
            format_args!("exported to {}", self.file.display()),
        );
        let checkpoint = match (&self.looked_for, self.has_checkpoint) {
            (_, true) => "the last signed one is in it".to_owned(),
            (Some(file), false) => format!(
                "none: not at {}; where the ledger keeps it elsewhere, name that directory with \
                 --checkpoint-dir",
                file.display()
            ),
            (None, false) => "none: name its directory with --checkpoint-dir".to_owned(),
        };
        out.fields(&[
            ("records", self.trailer.size.to_string()),
            ("checkpoint", checkpoint),
            ("head", self.trailer.head.to_string()),
            ("root", self.trailer.root.to_string()),
        ]);
        if self.left_out > 0 {
            out.line(format_args!(
                "  {} records behind that checkpoint are not in it: none that covers them came, so \
                 the ledger may not be running; --tail takes them along, signed by nobody",
                self.left_out
            ));
        }
        out.gap();
        out.line(format_args!(
            "check it anywhere: x811 audit {} --expect-head {}",
            self.file.display(),
            self.trailer.head
        ));
    }
}
