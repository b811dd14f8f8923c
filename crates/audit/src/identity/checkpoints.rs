//! Signed checkpoints of a whole log, each where the tree has the size that it covers.

use serde::Serialize;
use x811_eventlog::{Checkpoint, Hash};
use x811_protocol::event::LedgerOpened;

use crate::checkpoint_note;
use crate::finding::findings::{Cause, Findings, Spot};
use crate::identity::trust::{Signed, Trusting};

/// A checkpoint that holds: by the ledger's key, over the records that are here.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Covered {
    /// Records it covers.
    pub size: u64,
    /// Root of the Merkle tree over them.
    pub root: Hash,
}

impl Covered {
    pub(crate) fn of(checkpoint: &Checkpoint) -> Covered {
        Covered {
            size: checkpoint.size,
            root: checkpoint.root,
        }
    }
}

/// Holds a checkpoint against the ledger's key in force at this place, the tree that is here, and the
/// auditor's policy; gives it back where the first two hold.
pub(crate) fn hold(
    note: &str,
    spot: &Spot,
    ledger: Option<&LedgerOpened>,
    here: Covered,
    trusting: &mut Trusting,
    findings: &mut Findings,
) -> Option<Covered> {
    let opened = match ledger {
        Some(ledger) => checkpoint_note::open(note, ledger),
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
