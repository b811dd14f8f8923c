//! The names of an interaction's states, read off its events alone: what a history shows beside each
//! record. It decides nothing; the machine does, and a test holds the two together.

use super::settlement::FAILURES_TO_DISPUTE;
use super::{StateName, state_after, table};
use crate::event::{Event, LapsedWindow, SettlementEvent};

/// Follows one interaction's events, in order.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Outline {
    state: Option<StateName>,
    failures: u64,
}

impl Outline {
    /// Takes the next event of the stream and returns the state after it; `None` before the REQUEST.
    pub fn follow(&mut self, event: &Event) -> Option<StateName> {
        match event {
            Event::EnvelopeAccepted(accepted) => {
                self.state = state_after(&accepted.facts).or(self.state);
            }
            Event::Lapsed(lapsed) => {
                if let LapsedWindow::Interaction(window) = lapsed.window {
                    self.state = Some(table::lapse_of(window).to);
                }
            }
            Event::Settlement(SettlementEvent::Refuted(_)) => self.fail(),
            Event::Settlement(SettlementEvent::Looked(looked)) if !looked.is_pending() => {
                self.fail()
            }
            Event::Settlement(SettlementEvent::Confirmed(_)) => {
                self.state = Some(StateName::Completed)
            }
            Event::Settlement(
                SettlementEvent::Looked(_)
                | SettlementEvent::Seen(_)
                | SettlementEvent::Unseen(_)
                | SettlementEvent::Final(_)
                | SettlementEvent::Reversed(_)
                | SettlementEvent::Returned(_)
                | SettlementEvent::Late(_),
            )
            | Event::NoticeIssued(_)
            | Event::Ledger(_)
            | Event::Network(_)
            | Event::Agent(_)
            | Event::CycleDrawn(_)
            | Event::StateRoot(_)
            | Event::Effect(_) => {}
        }
        self.state
    }

    /// Negative looks and refutations so far.
    pub fn failures(&self) -> u64 {
        self.failures
    }

    fn fail(&mut self) {
        self.failures += 1;
        if self.failures >= FAILURES_TO_DISPUTE {
            self.state = Some(StateName::Disputed);
        }
    }
}
