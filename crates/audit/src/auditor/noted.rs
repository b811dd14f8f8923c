//! Compares a checkpoint that the auditor noted elsewhere.

use super::Auditor;
use crate::checkpoint_note;
use crate::finding::findings::{Cause, Spot};
use crate::finding::unchecked::Unchecked;
use crate::identity::checkpoints::Covered;

impl Auditor {
    /// To be called before every record: holds the noted checkpoint against the records so far, once
    /// they are as many as it covers.
    pub(crate) fn compare_noted(&mut self) {
        let size = self.size();
        if self.extract().is_none()
            && let Some(noted) = self.noted.take_if(|noted| noted.is_over(size))
        {
            self.noted_held = self.hold_noted(&noted.note);
        }
    }

    /// Nothing follows: what is still there covers more records than the log has.
    pub(crate) fn noted_is_no_longer(&mut self) {
        self.compare_noted();
        let Some(noted) = self.noted.take() else {
            return;
        };
        if self.extract().is_some() {
            self.findings.leave(Unchecked::NotedCheckpoint, 1);
            return;
        }
        let (field, cause, sentence) = match noted.claimed {
            Err(error) => (FIELD, Cause::CheckpointInvalid, error.to_string()),
            Ok(claimed) => {
                let origin = self.opened(None).map(|ledger| ledger.origin);
                if origin.is_some_and(|origin| origin != claimed.origin) {
                    let sentence = format!(
                        "the checkpoint you noted is of the log {}, and this is another one",
                        claimed.origin
                    );
                    (FIELD, Cause::CheckpointInvalid, sentence)
                } else {
                    let sentence = format!(
                        "the checkpoint you noted is over {} records, and there are {} here: the \
                         log was cut off, or this is a copy from before it",
                        claimed.size,
                        self.size()
                    );
                    ("noted_checkpoint.size", Cause::CheckpointDiffers, sentence)
                }
            }
        };
        let spot = self.end();
        self.findings.add(&spot, field, cause, sentence);
    }

    fn hold_noted(&mut self, note: &str) -> Option<Covered> {
        let here = Covered {
            size: self.size(),
            root: self.frontier().root(),
        };
        let spot = Spot {
            position: here.size.saturating_sub(1),
            ..self.end()
        };
        // Nobody's keys are known without position 0, which was named there.
        let ledger = self.opened(None)?;
        let found = match checkpoint_note::open(note, &ledger) {
            Ok(found) => found,
            Err(error) => {
                let sentence = format!(
                    "the checkpoint you noted is not one that the ledger of this log signed over \
                     its first {} records: {error}",
                    here.size
                );
                let cause = Cause::CheckpointInvalid;
                self.findings.add(&spot, FIELD, cause, sentence);
                return None;
            }
        };
        if found.root != here.root {
            let sentence = format!(
                "the checkpoint you noted was signed over the root {}, the first {} records here \
                 have {}: the ledger signed another history than this one, or records were changed",
                found.root, here.size, here.root
            );
            let field = "noted_checkpoint.root";
            let cause = Cause::CheckpointDiffers;
            self.findings.add(&spot, field, cause, sentence);
            return None;
        }
        Some(here)
    }
}

const FIELD: &str = "noted_checkpoint";
