//! Signed checkpoints of a whole log, each where the tree has the size that it covers.

use serde::Serialize;
use x811_eventlog::{Checkpoint, Hash};
use x811_protocol::event::LedgerOpened;

use super::auditor::Auditor;
use super::finding::{Cause, Spot};
use crate::checkpoint;
use crate::export::CheckpointLine;

/// A checkpoint that holds: by the ledger's key, over the records that are here.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Covered {
    /// Records it covers.
    pub size: u64,
    /// Root of the Merkle tree over them.
    pub root: Hash,
}

impl Covered {
    pub(super) fn of(checkpoint: &Checkpoint) -> Covered {
        Covered {
            size: checkpoint.size,
            root: checkpoint.root,
        }
    }
}

impl Auditor {
    /// Holds a checkpoint against the ledger's key and the records so far; `said` is whose log the
    /// file says it is.
    pub(super) fn checkpoint(&mut self, line: &CheckpointLine, said: Option<&LedgerOpened>) {
        let spot = Spot {
            line: Some(line.line),
            ..self.end()
        };
        let opened = match self.opened(said) {
            Some(opened) => checkpoint::open(&line.note, &opened),
            // Without position 0 nobody's key is known, which was named there.
            None => Checkpoint::claimed(&line.note),
        };
        let found = match opened {
            Ok(checkpoint) => checkpoint,
            Err(error) => {
                let (cause, sentence) = (Cause::CheckpointInvalid, error.to_string());
                self.findings.add(&spot, "checkpoint", cause, sentence);
                return;
            }
        };
        let cause = Cause::CheckpointDiffers;
        let here = Covered {
            size: self.size(),
            root: self.frontier().root(),
        };
        if found.size != here.size {
            let sentence = format!(
                "a checkpoint over {} records stands behind {}",
                found.size, here.size
            );
            self.findings.add(&spot, "checkpoint.size", cause, sentence);
        } else if found.root != here.root {
            let sentence = format!(
                "the checkpoint was signed over the root {}, these {} records have {}: some were \
                 changed since, or it is of a fork of this log",
                found.root, here.size, here.root
            );
            self.findings.add(&spot, "checkpoint.root", cause, sentence);
        } else {
            self.checkpoints.push(here);
        }
    }
}
