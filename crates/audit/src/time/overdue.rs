//! What was due before the log's last record and is not in it: whoever holds the ledger's keys can
//! leave a record out and sign everything anew, but not without a gap in what time must have caused
//! (ledger-contract.md sections 1.3 and 5, design.md section 4).
//!
//! The sequencer records the lapses that are due before it decides anything and at the end of every batch,
//! and a batch is whole in the log or not there. So at the end no deadline before the last decision is
//! still open, but for two reasons that a ledger may have: more were due than a batch may
//! hold, which shows in the lapses of the last moments; and the batch in which a ledger says that it
//! is up again, or what its keys and parameters are, which lapses nothing. Downtime and blindness
//! have moved the deadlines already, as the replay has them. In a whole log [`crate::time::late_lapse`] names
//! the decision before which the lapse is missing, too.
//!
//! Looks are not decided so. A look is answered only by a head that is fresh, younger than
//! `fresh_ms`, and as long as one younger than `blind_after_ms` is seen, nothing is recorded: heads
//! are seen, not recorded, and a watcher may fail to ask for one transaction while it answers for
//! others.
//!
//! What is due longer than its grace leaves an audit *incomplete*, not *broken* (section 9): the log
//! may have been copied there, or its ledger may have been slow.

use std::collections::VecDeque;

use x811_protocol::event::{Event, LedgerEvent};
use x811_protocol::time::TimestampMs;

use x811_protocol::stream::Stream;

/// Fewer lapses than this at a time leave room for more in any batch.
const FEW_LAPSES: usize = 64;

/// How long a ledger may take for all that are due at a time.
const BACKLOG_MS: u64 = 60_000;

/// What of the records so far says how late a lapse may be.
#[derive(Debug, Clone, Default)]
pub(crate) struct Turns {
    /// When the last record was decided that the ledger did not make while it started.
    last_at: Option<TimestampMs>,
    /// When deadlines lapsed, within [`BACKLOG_MS`] of the last of them.
    lapses: VecDeque<TimestampMs>,
    /// When the ledger last said that it had been away.
    resumed_at: Option<TimestampMs>,
}

impl Turns {
    pub(crate) fn note(&mut self, stream: Option<&Stream>, event: &Event, at: TimestampMs) {
        if matches!(stream, None | Some(Stream::Ledger | Stream::Roots)) {
            if matches!(event, Event::Ledger(LedgerEvent::Resumed(_))) {
                self.resumed_at = Some(at);
            }
            return;
        }
        self.last_at = Some(at);
        if matches!(event, Event::Lapsed(_)) {
            let old = at.saturating_sub_ms(BACKLOG_MS);
            while self.lapses.pop_front_if(|lapse| *lapse < old).is_some() {}
            self.lapses.push_back(at);
        }
    }

    /// The moment before which nothing may be due any more.
    pub(crate) fn nothing_due_before(&self) -> Option<TimestampMs> {
        let at = self.last_at?;
        let recent = at.saturating_sub_ms(BACKLOG_MS);
        let lapses = self.lapses.iter().filter(|lapse| **lapse >= recent);
        if lapses.count() < FEW_LAPSES {
            return Some(at);
        }
        // What parties signed is not moved by downtime, and all of it lapses after one.
        let is_up = self.resumed_at.is_none_or(|resumed| resumed < recent);
        is_up.then_some(recent)
    }
}
