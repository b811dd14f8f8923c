//! Notes how late lapses were recorded.

use super::Auditor;
use crate::time::lateness::LateLapse;
use x811_protocol::stream::Subject;
use x811_protocol::time::TimestampMs;

impl Auditor {
    /// Takes the lapse of a window of `subject`, in the world before it.
    pub(crate) fn note_lateness(&mut self, position: u64, subject: Subject, at: TimestampMs) {
        let Some(window) = self.world().window_of(subject) else {
            return;
        };
        let deadline = window.ends_at;
        let late_by_ms = at.since(deadline);
        if late_by_ms <= LATE_AFTER_MS {
            return;
        }
        let resumed = self.late_lapses.resumed;
        self.late_lapses.add(LateLapse {
            position,
            window: window.name,
            kind: subject.kind(),
            id: subject.public_id(),
            deadline_at_ms: deadline,
            late_by_ms,
            resumed_at: resumed.and_then(|(at, position)| (at > deadline).then_some(position)),
        });
    }
}

/// Largest lateness of a lapse that is not listed. A running ledger records lapses sooner.
const LATE_AFTER_MS: u64 = 1_000;
