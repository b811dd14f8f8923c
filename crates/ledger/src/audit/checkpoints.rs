//! Signed checkpoints of a whole log, each where the tree has the size that it covers.

use serde::Serialize;
use x811_eventlog::{Checkpoint, Hash};
use x811_protocol::event::LedgerOpened;

use super::auditor::Auditor;
use super::finding::{Cause, Findings, Spot};
use super::trust::{Signed, Trusting};
use crate::checkpoint;

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
    /// Holds a checkpoint against the ledger's key, the auditor's policy and the records so far;
    /// `line` is its place in an export, and `said` is whose log the file says it is.
    pub(super) fn checkpoint(
        &mut self,
        note: &str,
        line: Option<u64>,
        said: Option<&LedgerOpened>,
    ) {
        let spot = Spot { line, ..self.end() };
        let ledger = self.opened(said);
        if !self.knows_keys() && !is_signed_by(note, ledger.as_ref()) {
            // Only the prefix under the last checkpoint that can be verified is judged.
            self.unverifiable_checkpoints += 1;
            return;
        }
        let here = Covered {
            size: self.size(),
            root: self.frontier().root(),
        };
        let (trusting, findings) = (&mut self.trusting, &mut self.findings);
        let held = hold(note, &spot, ledger.as_ref(), here, trusting, findings);
        if held.is_some() {
            self.is_covered_here();
        }
        self.checkpoints.extend(held);
    }
}

/// True if the note is signed by the ledger's checkpoint key.
fn is_signed_by(note: &str, ledger: Option<&LedgerOpened>) -> bool {
    ledger.is_some_and(|ledger| checkpoint::open(note, ledger).is_ok())
}

/// Holds a checkpoint against the ledger's key in force at this place, the tree that is here, and the
/// auditor's policy; gives it back where the first two hold.
pub(super) fn hold(
    note: &str,
    spot: &Spot,
    ledger: Option<&LedgerOpened>,
    here: Covered,
    trusting: &mut Trusting,
    findings: &mut Findings,
) -> Option<Covered> {
    let opened = match ledger {
        Some(ledger) => checkpoint::open(note, ledger),
        // Without position 0 nobody's key is known, which was named there.
        None => Checkpoint::claimed(note),
    };
    let found = match opened {
        Ok(checkpoint) => checkpoint,
        Err(error) => {
            let (cause, sentence) = (Cause::CheckpointInvalid, error.to_string());
            findings.add(spot, "checkpoint", cause, sentence);
            trusting.refuse();
            return None;
        }
    };
    if let Some((field, sentence)) = difference(&found, here) {
        findings.add(spot, field, Cause::CheckpointDiffers, sentence);
        trusting.refuse();
        return None;
    }
    let signed = Signed {
        note,
        checkpoint: &found,
        ledger,
        statement: None,
    };
    trusting.judge(signed, spot, findings);
    Some(here)
}

/// In which member a checkpoint is not of the records that are here.
fn difference(found: &Checkpoint, here: Covered) -> Option<(&'static str, String)> {
    if found.size != here.size {
        let sentence = format!(
            "a checkpoint over {} records stands behind {}",
            found.size, here.size
        );
        return Some(("checkpoint.size", sentence));
    }
    if found.root != here.root {
        let sentence = format!(
            "the checkpoint was signed over the root {}, these {} records have {}: some were \
             changed since, or it is of a fork of this log",
            found.root, here.size, here.root
        );
        return Some(("checkpoint.root", sentence));
    }
    None
}
