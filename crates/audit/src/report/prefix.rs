//! The records that are judged: those under the last checkpoint. What stands behind it, the *tail*, is
//! nobody's word (ledger-contract.md section 9): whoever has the file may have put it there. It is read
//! and held against what was before, so that a contradiction shows, but nothing of it is totalled.
//!
//! Which checkpoint is the last is known at the end alone. So the audit goes on behind each, and once
//! a record follows keeps a copy of itself as it was there. A log as it is exported ends with its
//! checkpoint, and needs none.

use serde::Serialize;
use x811_protocol::time::TimestampMs;

use crate::report::outcome::{Gap, Undecided};

/// How much younger than the last record under a checkpoint a tail may be.
pub(crate) const TAIL_GRACE_MS: u64 = 10_000;

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

impl Tail {
    /// What stands behind `judged`, of so many records, the last of them recorded then.
    pub(crate) fn behind(judged: Option<AsOf>, records: u64, last_at: TimestampMs) -> Option<Tail> {
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
pub(crate) fn undecided(judged: Option<AsOf>, tail: Option<Tail>) -> Option<Undecided> {
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
