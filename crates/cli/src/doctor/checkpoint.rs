//! What the doctor says of the last signed checkpoint, which lies outside the data directory.

use std::path::{Path, PathBuf};

use serde::Serialize;
use x811_eventlog::{Checkpoint, Hash};
use x811_ledger::checkpoint::CheckpointStore as _;
use x811_ledger::doctor::{Examined, Finding, check_signed};
use x811_store::FileCheckpointStore;

/// The checkpoint as it was found, before the log was read: a ledger may sign on meanwhile.
pub(super) struct FoundCheckpoint {
    file: PathBuf,
    note: Result<Option<String>, String>,
}

/// What became of it.
#[derive(Debug, Serialize)]
pub(super) struct Signed {
    file: PathBuf,
    /// Records it covers; absent when it is none of this log.
    #[serde(skip_serializing_if = "Option::is_none")]
    size: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    root: Option<Hash>,
    #[serde(skip)]
    sentence: String,
}

impl FoundCheckpoint {
    /// Reads it from where `serve` keeps it, or from the directory that was named. `None` when
    /// there is no place to look.
    pub(super) async fn look(data_dir: &Path, named: Option<PathBuf>) -> Option<FoundCheckpoint> {
        let directory = named.or_else(|| FileCheckpointStore::beside(data_dir))?;
        let store = FileCheckpointStore::at(&directory);
        Some(FoundCheckpoint {
            file: store.file(),
            note: store.load().await.map_err(|error| error.to_string()),
        })
    }

    /// The size that it names, to be examined there.
    pub(super) fn size(&self) -> Option<u64> {
        let note = self.note.as_ref().ok()?.as_ref()?;
        Checkpoint::claimed(note).ok().map(|claimed| claimed.size)
    }

    /// Holds it against the log, whose every record was read.
    pub(super) fn compare(self, examined: &Examined, findings: &mut Vec<Finding>) -> Signed {
        let shown = self.file.display();
        let mut wrong = |why: String| {
            findings.push(Finding {
                part: "checkpoint",
                sentence: format!("{shown}: {why}"),
            });
            "see below".to_owned()
        };
        let mut signed = None;
        let sentence = match &self.note {
            Err(error) => wrong(format!(
                "{error}. Is its disk mounted, and is the file yours? Without it the ledger does not start"
            )),
            Ok(Some(note)) => match check_signed(note, examined) {
                Err(fault) => wrong(fault.to_string()),
                Ok(checkpoint) => {
                    let behind = examined.size.saturating_sub(checkpoint.size);
                    let sentence = format!(
                        "covers {} records, which the log begins with; {behind} followed",
                        checkpoint.size
                    );
                    signed = Some(checkpoint);
                    sentence
                }
            },
            Ok(None) => wrong(format!(
                "there is none, though the log has {} records: whether records are missing at its end \
                 cannot be known, and the ledger does not start. Where it is kept elsewhere, name that \
                 directory with --checkpoint-dir. Where it is lost, see `x811 ledger adopt-checkpoint` and \
                 `x811 ledger reopen`",
                examined.size
            )),
        };
        Signed {
            size: signed.as_ref().map(|signed| signed.size),
            root: signed.map(|signed| signed.root),
            sentence,
            file: self.file,
        }
    }
}

impl Signed {
    /// For a person.
    pub(super) fn sentence(&self) -> &str {
        &self.sentence
    }
}
