//! Decisions that were recorded while the lapse of a window was due (ledger-contract.md section 1.3). Whoever
//! holds the ledger's keys can settle a vote, a rivalry or an exclusion by holding a lapse back.
//!
//! The sequencer records what is due before it decides anything, in the order of deadlines. So while a window
//! is past its deadline, by a millisecond or more, there is no record of a decision, and none of a lapse that
//! is due later. The one exception is a backlog: after [`LAPSES_AT_A_TIME`] lapses that were recorded at one
//! moment the sequencer decides something else at that moment. What a ledger records while it starts
//! decides nothing, nor do notices, effects and roots of states.
//!
//! Of a bundle the records that are not there may be lapses of that moment. Where they are too few for a
//! backlog the decision is broken, otherwise it is counted. A bundle does not show what was decided between a
//! deadline and its lapse, either; that is counted too.
//!
//! A window whose lapse is missing at the end is named by [`super::overdue`].

use x811_protocol::event::{Event, LedgerEvent, SettlementEvent};
use x811_protocol::round::RoundWindow;
use x811_protocol::stream::{Stream, Subject};
use x811_protocol::time::TimestampMs;

use super::auditor::Auditor;
use super::examine::Whole;
use super::finding::{Cause, Findings};
use super::unchecked::Unchecked;
use crate::watch::LAPSES_AT_A_TIME;

/// How many lapses were recorded at the moment of the last record, and which records are missing.
#[derive(Debug, Clone, Default)]
pub(super) struct Pace {
    at: TimestampMs,
    /// Position after the last record.
    next: u64,
    /// Number of lapses at that moment.
    lapses: u64,
    /// Number of missing records that may be of that moment.
    missing: u64,
    /// No record that is missing was recorded after this moment.
    missing_until: TimestampMs,
    /// The window that was named last, so that each is named once.
    named: Option<(TimestampMs, Subject)>,
}

impl Pace {
    fn reach(&mut self, position: u64, at: TimestampMs) {
        if at != self.at {
            (self.at, self.lapses, self.missing) = (at, 0, 0);
        }
        let missing = position.saturating_sub(self.next);
        if missing > 0 {
            self.missing = self.missing.saturating_add(missing);
            self.missing_until = at;
        }
        self.next = position.saturating_add(1);
    }

    /// True if the lapses before the last record, with these, are a backlog.
    const fn is_backlog(&self, more: u64) -> bool {
        self.lapses.saturating_add(more) >= LAPSES_AT_A_TIME as u64
    }
}

/// A record that what is due comes before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Turn {
    /// A lapse, or what time causes in its place.
    Lapse,
    /// A message, an observation or an order of an operator.
    Decision,
}

impl Turn {
    fn of(event: &Event) -> Option<Turn> {
        match event {
            Event::Lapsed(_) => Some(Turn::Lapse),
            Event::Settlement(SettlementEvent::Confirmed(confirmed))
                if confirmed.claims.is_empty() =>
            {
                Some(Turn::Lapse)
            }
            Event::EnvelopeAccepted(_)
            | Event::Agent(_)
            | Event::Settlement(_)
            | Event::Network(_)
            | Event::CycleDrawn(_)
            | Event::Ledger(LedgerEvent::BodiesErased(_) | LedgerEvent::ExclusionLifted(_)) => {
                Some(Turn::Decision)
            }
            Event::Ledger(
                LedgerEvent::Opened(_)
                | LedgerEvent::ParametersSet(_)
                | LedgerEvent::RulesChanged(_)
                | LedgerEvent::KeyRotated(_)
                | LedgerEvent::Resumed(_),
            )
            | Event::NoticeIssued(_)
            | Event::Effect(_)
            | Event::StateRoot(_) => None,
        }
    }
}

impl Auditor {
    /// Names the window whose lapse should have come before the record, in the world before it.
    pub(super) fn late_lapse(&mut self, whole: &Whole, at: TimestampMs, findings: &mut Findings) {
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
        let Some((window, lapse)) = self.window_of(subject) else {
            return;
        };
        let sentence = format!(
            "{window} of {} {} ended at {}, and {lapse} is not before this record",
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
