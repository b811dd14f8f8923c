//! Finds lapses that were held back.

use super::Auditor;
use super::overdue::due_of;
use crate::finding::findings::{Cause, Findings};
use crate::finding::unchecked::Unchecked;
use crate::record::examine::Whole;
use crate::time::late_lapse::Turn;
use x811_protocol::event::{Event, LedgerEvent};
use x811_protocol::round::RoundWindow;
use x811_protocol::stream::{Stream, Subject};
use x811_protocol::time::TimestampMs;

impl Auditor {
    /// Names the window whose lapse should have come before the record, in the world before it.
    pub(crate) fn late_lapse(&mut self, whole: &Whole, at: TimestampMs, findings: &mut Findings) {
        self.pace.reach(whole.record.position(), at);
        if matches!(&whole.event, Event::Ledger(LedgerEvent::Resumed(_))) {
            self.late_lapses.resumed(whole.record.position(), at);
        }
        let Some(turn) = Turn::of(&whole.event) else {
            return;
        };
        let subject = whole.stream.as_ref().and_then(Stream::subject);
        if let Some(due) = self.first_due(at)
            && !is_about(whole, due.1)
            && self.pace.named != Some(due)
        {
            self.pace.named = Some(due);
            self.held_back(whole, due, findings);
        }
        if turn == Turn::Decision {
            return;
        }
        if let Some(subject) = subject {
            self.note_lateness(whole.record.position(), subject, at);
        }
        let deadline = subject.and_then(|subject| self.world().deadline_of(subject));
        let is_unseen = self.extract.is_some()
            && deadline.is_some_and(|deadline| self.pace.missing_until > deadline);
        findings.leave(Unchecked::LateLapses, u64::from(is_unseen));
        self.pace.lapses += 1;
    }

    /// The window that is due first at that moment, as far as the records here say so.
    fn first_due(&self, at: TimestampMs) -> Option<(TimestampMs, Subject)> {
        let world = self.world();
        let is_due = world
            .next_deadline()
            .is_some_and(|(deadline, _)| at > deadline);
        if !is_due || !self.knows_rules() || !self.replay.has_all() {
            return None;
        }
        let subject = world.due(at).find(|subject| self.is_its_own(*subject))?;
        Some((world.deadline_of(subject)?, subject))
    }

    /// True if records of others move no window of the subject, or all records are here.
    fn is_its_own(&self, subject: Subject) -> bool {
        let Subject::Round(id) = subject else {
            return true;
        };
        let round = self.world().round(id);
        let window = round.and_then(|live| live.state.next_window());
        let is_of_rivals = matches!(window, Some((RoundWindow::Hold | RoundWindow::Draw, _)));
        self.extract.is_none() || !is_of_rivals
    }

    fn held_back(
        &mut self,
        whole: &Whole,
        (deadline, subject): (TimestampMs, Subject),
        findings: &mut Findings,
    ) {
        let Some(window) = self.world().window_of(subject) else {
            return;
        };
        let (name, lapse) = (window.name, due_of(window.end));
        let sentence = format!(
            "{name} of {} {} ended at {}, and {lapse} is not before this record",
            subject.kind(),
            subject.public_id(),
            deadline.to_rfc3339(),
        );
        if self.pace.is_backlog(0) {
            let sentence = format!(
                "{sentence}: at this moment {} other lapses were recorded first",
                self.pace.lapses
            );
            self.remarks.add(whole.spot.position, sentence);
        } else if self.pace.is_backlog(self.pace.missing) {
            findings.leave(Unchecked::LateLapses, 1);
        } else {
            let sentence = format!("{sentence}: it was held back");
            let cause = Cause::ReDecisionDiffers;
            findings.add(&whole.spot, "recorded_at_ms", cause, sentence);
        }
    }
}

/// True if the record is in the stream of the subject or names it; [`super::decision`] holds it to that.
fn is_about(whole: &Whole, subject: Subject) -> bool {
    let is_named = if let Event::EnvelopeAccepted(accepted) = &whole.event {
        accepted.facts.names().any(|named| named == subject)
    } else {
        false
    };
    is_named || whole.stream.as_ref().and_then(Stream::subject) == Some(subject)
}
