//! The records that are judged: those under the last checkpoint. What stands behind it, the *tail*, is
//! nobody's word (ledger-contract.md section 9): whoever has the file may have put it there. It is read
//! and held against what was before, so that a contradiction shows, but nothing of it is totalled.
//!
//! Which checkpoint is the last is known at the end alone. So the audit goes on behind each, and once
//! a record follows keeps a copy of itself as it was there. A log as it is exported ends with its
//! checkpoint, and needs none.

use serde::Serialize;
use x811_protocol::time::TimestampMs;

use super::auditor::Auditor;
use super::extract::Extract;
use super::outcome::{Gap, Undecided};

/// How much younger than the last record under a checkpoint a tail may be.
pub(super) const TAIL_GRACE_MS: u64 = 10_000;

/// Most copies that are made of one audit. A ledger writes one checkpoint into an export; behind more
/// of them than this the rest of a file is tail.
const MAX_COPIES: u32 = 64;

/// What is judged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct AsOf {
    /// Records under the last checkpoint that holds.
    pub records: u64,
    /// When the last of them was recorded.
    pub at_ms: TimestampMs,
}

/// Records behind the last checkpoint that holds: nobody's word.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Tail {
    /// How many there are.
    pub records: u64,
    /// How much later the last of them was recorded than what is judged, in ms.
    pub span_ms: u64,
}

/// How far checkpoints cover the records so far.
#[derive(Debug, Clone, Default)]
pub(super) struct Prefix {
    /// The last thing that came was a checkpoint over all records so far.
    is_covered: bool,
    /// The audit at the last checkpoint that holds, once records followed.
    copy: Option<Box<Auditor>>,
    copies: u32,
}

impl Auditor {
    /// A checkpoint holds over everything so far.
    pub(super) fn is_covered_here(&mut self) {
        self.prefix.is_covered = true;
        self.prefix.copy = None;
    }

    /// Before a record is taken: the last checkpoint no longer covers everything.
    pub(super) fn leave_prefix(&mut self) {
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
    pub(super) fn is_judged_whole(&self) -> bool {
        self.prefix.is_covered || self.extract.is_some()
    }

    /// The audit as it was at the last checkpoint that holds, where records followed; taken out.
    pub(super) fn take_prefix(&mut self) -> Option<Auditor> {
        self.prefix.copy.take().map(|copy| *copy)
    }

    /// When the last record so far was recorded.
    pub(super) fn last_at(&self) -> TimestampMs {
        TimestampMs::new(self.last_at_ms)
    }

    /// Up to where it is judged; `None` where no record is.
    pub(super) fn as_of(&self) -> Option<AsOf> {
        // A bundle has some of the records that its checkpoint covers.
        let claimed = self.extract.as_ref().and_then(Extract::claimed);
        let records = claimed.map_or(self.size(), |checkpoint| checkpoint.size);
        (self.size() > 0).then(|| AsOf {
            records,
            at_ms: self.last_at(),
        })
    }
}

impl Tail {
    /// What stands behind `judged`, of so many records, the last of them recorded then.
    pub(super) fn behind(judged: Option<AsOf>, records: u64, last_at: TimestampMs) -> Option<Tail> {
        let (covered, at) = match judged {
            Some(as_of) => (as_of.records, as_of.at_ms),
            None => (0, last_at),
        };
        let records = records.saturating_sub(covered);
        // A bundle leaves records out, and covers more than it has.
        (records > 0).then(|| Tail {
            records,
            span_ms: last_at.since(at),
        })
    }
}

/// Why a tail leaves an audit incomplete, if it does.
pub(super) fn undecided(judged: Option<AsOf>, tail: Option<Tail>) -> Option<Undecided> {
    let tail = tail?;
    if judged.is_none() {
        let sentence = "no checkpoint covers these records, so nobody stands for them: export the log \
                        again with the ledger's checkpoint, or name the directory that the ledger \
                        keeps it in (--checkpoint-dir)";
        return Undecided::of(Gap::NoCheckpoint, tail.records, sentence);
    }
    if tail.span_ms <= TAIL_GRACE_MS {
        return None;
    }
    let sentence = format!(
        "{} records stand behind the last checkpoint, up to {} s after it: nobody stands for them, and \
         nothing of them is totalled; ask for an export under a newer checkpoint",
        tail.records,
        tail.span_ms / 1_000
    );
    Undecided::of(Gap::Tail, tail.records, sentence)
}
