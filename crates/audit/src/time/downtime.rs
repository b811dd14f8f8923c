//! How long the ledger says that it was away. Windows move by it on the ledger's word alone
//! (ledger-contract.md section 1.4): no record says when it was up, so an audit can only bound a
//! downtime by the silence before it, and add all of them up. What rests on one is a remark: a round that was
//! aborted for it, and a message that was made while nobody can have known what it is about.

use serde::Serialize;
use x811_protocol::event::{Effect, Event, LedgerEvent};
use x811_protocol::round::Reason;
use x811_protocol::stream::Subject;
use x811_protocol::time::TimestampMs;

use crate::finding::remarks::Remarks;
use crate::replay::decided::Decided;

/// What the records `ledger_resumed` that break no rule add up to. All of it is asserted, and counted
/// beside [`Observations`](crate::Observations), not among them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Downtimes {
    /// How many there are; a restart that took no time is one too.
    pub records: u64,
    /// Their gaps together, in milliseconds.
    pub total_ms: u64,
}

impl Downtimes {
    /// Adds the gap of a record, if it is one.
    pub(crate) fn note(&mut self, event: &Event) {
        if let Event::Ledger(LedgerEvent::Resumed(resumed)) = event {
            self.records += 1;
            self.total_ms = self.total_ms.saturating_add(resumed.gap_ms);
        }
    }
}

/// How far the clock of an agent may be behind without a remark, in milliseconds.
const BEHIND_MS: u64 = 5_000;

/// The last downtime of some length, and what rests on it.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Away {
    back_at: Option<TimestampMs>,
}

impl Away {
    /// Takes the next record.
    pub(crate) fn take(&mut self, decided: &Decided<'_>, remarks: &mut Remarks) {
        let position = decided.spot.position;
        if let Event::Ledger(LedgerEvent::Resumed(resumed)) = decided.event {
            if resumed.checkpoint_adopted {
                let sentence = "the last checkpoint before this record was lost, and the operator went on \
                                without it: that no acknowledged record is missing before it is unproven";
                remarks.add(position, sentence);
            }
            self.back_at = Some(decided.at)
                .filter(|_| resumed.gap_ms > 0)
                .or(self.back_at);
        } else if let Event::Effect(Effect::RoundDecided(decided)) = decided.event
            && decided.reason == Reason::LedgerDown
        {
            let sentence = "a round of which silence is consent was aborted since the ledger says that \
                            it was away: nobody else knows that";
            remarks.add(position, sentence);
        } else if let Some(early_ms) = self.early_ms(decided) {
            let sentence = format!(
                "the message was made {early_ms} ms before the ledger says that it was back, and is \
                 about what was recorded only behind that: the sender's clock is behind, or the ledger \
                 was not away"
            );
            remarks.add(position, sentence);
        }
    }

    /// How long before the end of a downtime a message was made that is about something of behind it.
    fn early_ms(&self, decided: &Decided<'_>) -> Option<u64> {
        let Event::EnvelopeAccepted(accepted) = decided.event else {
            return None;
        };
        let back_at = self.back_at?;
        let subject = decided.stream.subject()?;
        // Whoever says more of himself needs to have read nothing.
        if matches!(subject, Subject::Descriptor(_) | Subject::Conduct(_)) {
            return None;
        }
        let opened_at = decided.before.opened_at(subject)?;
        let early_ms = back_at.since(accepted.envelope.created_ms);
        (opened_at >= back_at && early_ms > BEHIND_MS).then_some(early_ms)
    }
}
