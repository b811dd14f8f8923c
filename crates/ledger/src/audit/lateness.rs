//! Lapses that were recorded later than their windows ended. That a ledger was slow, or down, breaks no rule where
//! nothing was decided meanwhile (`late_lapse`); who waited for the lapse wants to see how long.

use serde::Serialize;
use x811_protocol::stream::Subject;
use x811_protocol::time::TimestampMs;

use super::auditor::Auditor;

/// A lapse that comes so much after its deadline is listed; a ledger that is up takes less.
const LATE_AFTER_MS: u64 = 1_000;

/// Most that are listed.
const MAX_LISTED: usize = 1_000;

/// A lapse that was recorded more than a second after the deadline of its window.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct LateLapse {
    /// Position of the lapse.
    pub position: u64,
    /// What ended, for people, as in `the window for an OFFER`.
    pub window: &'static str,
    /// The kind of the subject, as in `interaction`.
    pub kind: &'static str,
    /// Its id.
    pub id: String,
    /// The deadline, with all that downtime and blindness added to it.
    pub deadline_at_ms: TimestampMs,
    /// How much later the lapse was recorded.
    pub late_by_ms: u64,
    /// Position of the record that says that the ledger was down at the deadline; absent if it was not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resumed_at: Option<u64>,
}

/// Late lapses so far.
#[derive(Debug, Clone, Default)]
pub(super) struct LateLapses {
    pub(super) list: Vec<LateLapse>,
    pub(super) left_out: u64,
    /// Time and position of the last record that says that the ledger was down.
    resumed: Option<(TimestampMs, u64)>,
}

impl LateLapses {
    /// Takes a record by which the ledger says that it was down until then.
    pub(super) const fn resumed(&mut self, position: u64, at: TimestampMs) {
        self.resumed = Some((at, position));
    }

    fn add(&mut self, late: LateLapse) {
        if self.list.len() < MAX_LISTED {
            self.list.push(late);
        } else {
            self.left_out += 1;
        }
    }
}

impl Auditor {
    /// Takes the lapse of a window of `subject`, in the world before it.
    pub(super) fn note_lateness(&mut self, position: u64, subject: Subject, at: TimestampMs) {
        let deadline = self.world().deadline_of(subject);
        let late_by_ms = deadline.map_or(0, |deadline| at.since(deadline));
        let (Some(deadline), Some((window, _))) = (deadline, self.window_of(subject)) else {
            return;
        };
        if late_by_ms <= LATE_AFTER_MS {
            return;
        }
        let resumed = self.late_lapses.resumed;
        self.late_lapses.add(LateLapse {
            position,
            window,
            kind: subject.kind(),
            id: subject.public_id(),
            deadline_at_ms: deadline,
            late_by_ms,
            resumed_at: resumed.and_then(|(at, position)| (at > deadline).then_some(position)),
        });
    }
}
