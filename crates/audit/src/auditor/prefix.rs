//! Judges the prefix under the last checkpoint that holds.

use super::Auditor;
use crate::extract::Extract;
use crate::report::prefix::AsOf;
use x811_protocol::time::TimestampMs;

/// How far checkpoints cover the records so far.
#[derive(Debug, Clone, Default)]
pub(crate) struct Prefix {
    /// The last thing that came was a checkpoint over all records so far.
    pub is_covered: bool,
    /// The audit at the last checkpoint that holds, once records followed.
    pub copy: Option<Box<Auditor>>,
    pub copies: u32,
}

impl Auditor {
    /// A checkpoint holds over everything so far.
    pub(crate) fn is_covered_here(&mut self) {
        self.prefix.is_covered = true;
        self.prefix.copy = None;
    }

    /// Before a record is taken: the last checkpoint no longer covers everything.
    pub(crate) fn leave_prefix(&mut self) {
        if !self.prefix.is_covered {
            return;
        }
        let copies = self.prefix.copies + 1;
        self.prefix = Prefix {
            copies,
            ..Prefix::default()
        };
        // What was found belongs to the whole file, and is kept once.
        let findings = std::mem::take(&mut self.findings);
        if copies <= MAX_COPIES {
            self.prefix.copy = Some(Box::new(self.clone()));
        }
        self.findings = findings;
    }

    /// Whether everything that came is judged. A bundle stands under its one checkpoint whole.
    pub(crate) fn is_judged_whole(&self) -> bool {
        self.prefix.is_covered || self.extract.is_some()
    }

    /// The audit as it was at the last checkpoint that holds, where records followed; taken out.
    pub(crate) fn take_prefix(&mut self) -> Option<Auditor> {
        self.prefix.copy.take().map(|copy| *copy)
    }

    /// When the last record so far was recorded.
    pub(crate) fn last_at(&self) -> TimestampMs {
        TimestampMs::new(self.last_at_ms)
    }

    /// Up to where it is judged; `None` where no record is.
    pub(crate) fn as_of(&self) -> Option<AsOf> {
        // A bundle has some of the records that its checkpoint covers.
        let claimed = self.extract.as_ref().and_then(Extract::claimed);
        let records = claimed.map_or(self.size(), |checkpoint| checkpoint.size);
        (self.size() > 0).then(|| AsOf {
            records,
            at_ms: self.last_at(),
        })
    }
}

/// Most copies that are made of one audit. A ledger writes one checkpoint into an export; behind more
/// of them than this the rest of a file is tail.
const MAX_COPIES: u32 = 64;
