//! How long the ledger says that it was away. Windows move by it on the ledger's word alone
//! (ledger-contract.md section 1.4): no record says when it was up, so an audit can only bound a
//! downtime by the silence before it, and add all of them up.

use serde::Serialize;
use x811_protocol::event::{Event, LedgerEvent};

/// What the records `ledger_resumed` that break no rule add up to. All of it is asserted, and counted
/// beside [`Observations`](super::Observations), not among them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Downtimes {
    /// How many there are; a restart that took no time is one too.
    pub records: u64,
    /// Their gaps together, in milliseconds.
    pub total_ms: u64,
}

impl Downtimes {
    /// Adds the gap of a record, if it is one.
    pub(super) fn note(&mut self, event: &Event) {
        if let Event::Ledger(LedgerEvent::Resumed(resumed)) = event {
            self.records += 1;
            self.total_ms = self.total_ms.saturating_add(resumed.gap_ms);
        }
    }
}
