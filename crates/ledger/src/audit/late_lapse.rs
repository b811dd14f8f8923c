//! Lapses that come long after their deadlines, while the ledger went on with other business: whoever
//! holds the ledger's keys can keep a window open for somebody (ledger-contract.md section 1.3).
//!
//! The sequencer ends every batch with the lapses that are due. Where a batch ends the log does not
//! say, so a lapse is late only if something was decided [`LATE_MS`] behind its deadline, and
//! [`BATCH_MS`] before the lapse itself: then a batch ended in between without it. Both are far
//! longer than any batch takes. Excused is what a ledger could not help: time it was away, and a
//! backlog, which shows in the other lapses of the last minute, late as well.
//!
//! A window that never lapsed is named at the end, by [`super::overdue`]. A start of the ledger is such an
//! end too: what was decided before it is whole. Otherwise starts without a pause would excuse a lapse for as
//! long as they are said to go on.

use std::collections::VecDeque;

use x811_protocol::event::{Event, LedgerEvent, SettlementEvent};
use x811_protocol::time::TimestampMs;

use super::auditor::Auditor;
use super::examine::Whole;
use super::finding::{Cause, Findings};
use super::overdue::FEW_LAPSES;
use super::unchecked::Unchecked;
use x811_protocol::stream::Stream;

/// How long after a deadline its lapse may come, whatever else is decided, in milliseconds.
const LATE_MS: u64 = 30_000;

/// Longer than a batch is gathered: as long as the one before is being written.
const BATCH_MS: u64 = 30_000;

/// For how long a late lapse excuses others.
const BACKLOG_MS: u64 = 60_000;

/// Moments less than this apart count as one.
const STEP_MS: u64 = 1_000;

/// When the ledger decided something lately, and how late its lapses were.
#[derive(Debug, Clone, Default)]
pub(super) struct Pace {
    /// Moments within [`BATCH_MS`], at least [`STEP_MS`] apart.
    decided: VecDeque<TimestampMs>,
    /// The last moment before those.
    ended: Option<TimestampMs>,
    /// When something lapsed within [`BACKLOG_MS`], and how late, in milliseconds.
    lapses: VecDeque<(TimestampMs, u64)>,
    /// When the ledger last said that it had been away.
    resumed_at: Option<TimestampMs>,
}

impl Pace {
    /// Takes the next record; `late_ms` says how late it is, where it is a lapse.
    pub(super) fn note(
        &mut self,
        stream: Option<&Stream>,
        event: &Event,
        at: TimestampMs,
        late_ms: Option<u64>,
    ) {
        if matches!(stream, None | Some(Stream::Ledger | Stream::Roots)) {
            if let Event::Ledger(LedgerEvent::Resumed(_)) = event {
                self.resumed_at = Some(at);
            }
            return;
        }
        self.forget(at);
        let last = self.decided.back();
        if last.is_none_or(|last| at.since(*last) >= STEP_MS) {
            self.decided.push_back(at);
        }
        if let Some(late_ms) = late_ms {
            self.lapses.push_back((at, late_ms));
        }
    }

    fn forget(&mut self, at: TimestampMs) {
        let batch = at.saturating_sub_ms(BATCH_MS);
        while let Some(moment) = self.decided.pop_front_if(|moment| *moment < batch) {
            self.ended = Some(moment);
        }
        let backlog = at.saturating_sub_ms(BACKLOG_MS);
        while self.lapses.pop_front_if(|(at, _)| *at < backlog).is_some() {}
    }

    /// The last moment known to be of a batch that had ended at `at`.
    fn ended_before(&self, at: TimestampMs) -> Option<TimestampMs> {
        let batch = at.saturating_sub_ms(BATCH_MS);
        let decided = self.decided.iter().rev();
        let ended = decided.copied().find(|moment| *moment < batch);
        ended.or(self.ended)
    }

    /// How late others were lately, where there were so many that more had to wait.
    fn backlog_ms(&self, at: TimestampMs) -> u64 {
        let since = at.saturating_sub_ms(BACKLOG_MS);
        let lapses = self.lapses.iter().filter(|(at, _)| *at >= since);
        if lapses.clone().count() < FEW_LAPSES {
            return 0;
        }
        lapses.map(|(_, late_ms)| *late_ms).max().unwrap_or(0)
    }

    /// Whether a lapse at `at` should have come in a batch before.
    fn is_late(&self, deadline: TimestampMs, at: TimestampMs) -> bool {
        let due = self.resumed_at.map_or(deadline, |up| deadline.max(up));
        let latest = due
            .saturating_add_ms(LATE_MS)
            .saturating_add_ms(self.backlog_ms(at));
        self.ended_before(at).is_some_and(|ended| ended > latest)
    }
}

impl Auditor {
    /// How late the record is in the world before it, in milliseconds, where time caused it; names it
    /// where that is too late, and a start of the ledger before which it should have come.
    pub(super) fn late_lapse(
        &self,
        whole: &Whole,
        at: TimestampMs,
        findings: &mut Findings,
    ) -> Option<u64> {
        if let Event::Ledger(LedgerEvent::Resumed(_)) = whole.event
            && let Some(sentence) = self.left_before_start()
        {
            findings.add(&whole.spot, "event", Cause::ReDecisionDiffers, sentence);
        }
        let subject = whole.stream.as_ref()?.subject()?;
        let is_of_time = matches!(whole.event, Event::Lapsed(_)) || is_free(&whole.event);
        let deadline = self.world().deadline_of(subject).filter(|_| is_of_time)?;
        let rules_are_known = self.knows_rules();
        // In a bundle the records of others are not there, nor is every word on downtime in a log with
        // gaps.
        let is_late_alone = self.extract.is_some() && at.since(deadline) > LATE_MS;
        findings.leave(Unchecked::LateLapses, u64::from(is_late_alone));
        let is_judged = rules_are_known
            && self.extract.is_none()
            && self.replay.knows(&Stream::Ledger)
            && self.sees_clocks_of(subject);
        if is_judged && self.pace.is_late(deadline, at) {
            let sentence = format!(
                "the window ended at {}, and other records were made long before this one: its \
                 lapse was held back",
                deadline.to_rfc3339()
            );
            let cause = Cause::ReDecisionDiffers;
            findings.add(&whole.spot, "recorded_at_ms", cause, sentence);
        }
        Some(at.since(deadline))
    }
}

/// Whether the event is the confirmation that nothing is due, which time brings.
fn is_free(event: &Event) -> bool {
    matches!(event, Event::Settlement(SettlementEvent::Confirmed(confirmed)) if confirmed.claims.is_empty())
}
