//! The names of an interaction's states, read off its events alone: what a history shows beside each
//! record. It decides nothing; the machine does, and a test holds the two together.

use super::settlement::FAILURES_TO_DISPUTE;
use super::{StateName, state_after, table};
use crate::event::{Event, LapsedWindow};

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
            Event::Refuted(_) => self.fail(),
            Event::Looked(looked) if !looked.is_pending() => self.fail(),
            Event::Confirmed(_) => self.state = Some(StateName::Completed),
            Event::Looked(_)
            | Event::Seen(_)
            | Event::Unseen(_)
            | Event::Final(_)
            | Event::Reversed(_)
            | Event::Returned(_)
            | Event::Late(_)
            | Event::NoticeIssued(_)
            | Event::ExclusionLifted(_)
            | Event::LedgerOpened(_)
            | Event::ParametersSet(_)
            | Event::RulesChanged(_)
            | Event::LedgerKeyRotated(_)
            | Event::LedgerResumed(_)
            | Event::BodiesErased(_)
            | Event::NetworkBlind(_)
            | Event::NetworkSighted(_)
            | Event::AgentRegistered(_)
            | Event::AgentUpdated(_)
            | Event::KeyRotated(_)
            | Event::AgentDeactivated(_)
            | Event::AgentReactivated(_)
            | Event::AgentRevoked(_)
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
