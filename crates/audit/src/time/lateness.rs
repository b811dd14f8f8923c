//! Lateness of lapses: the time between the deadline of a window and the record of its lapse. A late lapse breaks no
//! rule if nothing was decided in between (`late_lapse`). It is listed for the party that waited for it.

use serde::Serialize;
use x811_protocol::time::TimestampMs;

/// Largest number of late lapses that are listed.
const MAX_LISTED: usize = 1_000;

/// A lapse that was recorded more than a second after the deadline of its window.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct LateLapse {
    /// Position of the lapse.
    pub position: u64,
    /// Name of the window for people, as in `the window for an OFFER`.
    pub window: &'static str,
    /// Kind of the subject, as in `interaction`.
    pub kind: &'static str,
    /// Id of the subject.
    pub id: String,
    /// Deadline of the window, including downtime and blindness.
    pub deadline_at_ms: TimestampMs,
    /// Lateness of the record.
    pub late_by_ms: u64,
    /// Position of the record by which the ledger reports that it was down at the deadline; absent if there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resumed_at: Option<u64>,
}

/// Late lapses so far.
#[derive(Debug, Clone, Default)]
pub(crate) struct LateLapses {
    pub(crate) list: Vec<LateLapse>,
    pub(crate) left_out: u64,
    /// Time and position of the last record by which the ledger reports a downtime.
    pub resumed: Option<(TimestampMs, u64)>,
}

impl LateLapses {
    /// Takes a record by which the ledger reports a downtime that ended then.
    pub(crate) const fn resumed(&mut self, position: u64, at: TimestampMs) {
        self.resumed = Some((at, position));
    }

    pub(crate) fn add(&mut self, late: LateLapse) {
        if self.list.len() < MAX_LISTED {
            self.list.push(late);
        } else {
            self.left_out += 1;
        }
    }
}
