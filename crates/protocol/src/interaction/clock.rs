//! What downtime and blindness do to an interaction's clocks (ledger-contract.md sections 1.4
//! and 5): events of other streams that move every live interaction.
//!
//! Ledger windows move with downtime; what a party signed never does. Settlement time is time
//! neither down nor blind: it moves the confirmation window and the looks, not the payment window.

use super::{Schedule, Settlement, Stage, State};
use crate::time::TimestampMs;

impl State {
    /// The state with every ledger window moved by `gap_ms` of downtime.
    #[must_use]
    pub fn after_downtime(mut self, gap_ms: u64) -> State {
        match &mut self {
            State::Pending { deadline, .. }
            | State::Accepted { deadline, .. }
            | State::Delivered { deadline, .. } => *deadline = deadline.saturating_add_ms(gap_ms),
            State::Offered { deadline, .. } => {
                deadline.ledger = deadline.ledger.saturating_add_ms(gap_ms);
            }
            State::Verified {
                settlement: Stage::Awaiting { deadline },
                ..
            } => {
                *deadline = deadline.saturating_add_ms(gap_ms);
            }
            State::Verified {
                settlement: Stage::Watching(settlement),
                ..
            } => {
                settlement.shift(gap_ms);
                settlement.paused_since = settlement
                    .paused_since
                    .map(|since| since.saturating_add_ms(gap_ms));
            }
            State::Completed { .. } | State::Disputed(_) => {
                if let Some(aftermath) = self.aftermath_mut() {
                    aftermath.shift(gap_ms);
                    aftermath.paused_since = aftermath
                        .paused_since
                        .map(|since| since.saturating_add_ms(gap_ms));
                }
            }
            State::Expired(_) | State::Rejected(_) | State::Failed(_) => {}
        }
        self
    }

    /// Stops the settlement clock at `at`, when the payment is on `network`.
    #[must_use]
    pub fn blinded(mut self, network: &str, at: TimestampMs) -> State {
        if let State::Verified {
            settlement: Stage::Watching(settlement),
            ..
        } = &mut self
            && settlement.network == network
        {
            settlement.paused_since.get_or_insert(at);
        }
        if let Some(aftermath) = self.aftermath_mut().filter(|a| a.network == network) {
            aftermath.paused_since.get_or_insert(at);
        }
        self
    }

    /// Lets the settlement clock run again from `at`, where it stood still.
    #[must_use]
    pub fn sighted(mut self, network: &str, at: TimestampMs) -> State {
        if let State::Verified {
            settlement: Stage::Watching(settlement),
            ..
        } = &mut self
            && settlement.network == network
            && let Some(since) = settlement.paused_since.take()
        {
            settlement.shift(at.since(since));
        }
        if let Some(aftermath) = self.aftermath_mut().filter(|a| a.network == network)
            && let Some(since) = aftermath.paused_since.take()
        {
            aftermath.shift(at.since(since));
        }
        self
    }
}

impl Settlement {
    fn shift(&mut self, by_ms: u64) {
        match &mut self.schedule {
            Schedule::Confirmation { deadline } => *deadline = deadline.saturating_add_ms(by_ms),
            Schedule::Look { due, .. } => *due = due.saturating_add_ms(by_ms),
        }
    }
}
