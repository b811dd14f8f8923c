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
//! A window whose lapse is missing at the end is named by [`crate::time::overdue`].

use x811_protocol::event::{Event, LedgerEvent, SettlementEvent};
use x811_protocol::stream::Subject;
use x811_protocol::time::TimestampMs;

use x811_world::LAPSES_AT_A_TIME;

/// How many lapses were recorded at the moment of the last record, and which records are missing.
#[derive(Debug, Clone, Default)]
pub(crate) struct Pace {
    at: TimestampMs,
    /// Position after the last record.
    next: u64,
    /// Number of lapses at that moment.
    pub lapses: u64,
    /// Number of missing records that may be of that moment.
    pub missing: u64,
    /// No record that is missing was recorded after this moment.
    pub missing_until: TimestampMs,
    /// The window that was named last, so that each is named once.
    pub named: Option<(TimestampMs, Subject)>,
}

impl Pace {
    pub(crate) fn reach(&mut self, position: u64, at: TimestampMs) {
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
    pub(crate) const fn is_backlog(&self, more: u64) -> bool {
        self.lapses.saturating_add(more) >= LAPSES_AT_A_TIME as u64
    }
}

/// A record that what is due comes before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Turn {
    /// A lapse, or what time causes in its place.
    Lapse,
    /// A message, an observation or an order of an operator.
    Decision,
}

impl Turn {
    pub(crate) fn of(event: &Event) -> Option<Turn> {
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
