//! Holds the checkpoints of a whole log.

use super::Auditor;
use crate::checkpoint_note;
use crate::finding::findings::Spot;
use crate::identity::checkpoints::{Covered, hold};
use x811_protocol::event::LedgerOpened;

impl Auditor {
    /// Holds a checkpoint against the ledger's key, the auditor's policy and the records so far;
    /// `line` is its place in an export, and `said` is whose log the file says it is.
    pub fn checkpoint(&mut self, note: &str, line: Option<u64>, said: Option<&LedgerOpened>) {
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
    ledger.is_some_and(|ledger| checkpoint_note::open(note, ledger).is_ok())
}
