//! Notices about an interaction.

use super::{State, StateName};
use crate::code::Code;
use crate::event::{Event, SettlementEvent};

/// The code that both parties are notified with of an event, if they are notified.
pub(super) fn code(event: &Event, after: &State) -> Option<Code> {
    match event {
        Event::Lapsed(lapsed) => Some(lapsed.code),
        Event::Settlement(SettlementEvent::Refuted(refuted)) => Some(refuted.code),
        Event::Settlement(SettlementEvent::Looked(_)) => disputed_by(after),
        // No code says that a confirmed payment disappeared; this one is the nearest.
        Event::Settlement(SettlementEvent::Reversed(_)) => Some(Code::PaymentFailed),
        Event::Ledger(_)
        | Event::Network(_)
        | Event::Agent(_)
        | Event::EnvelopeAccepted(_)
        | Event::Settlement(
            SettlementEvent::Seen(_)
            | SettlementEvent::Unseen(_)
            | SettlementEvent::Confirmed(_)
            | SettlementEvent::Final(_)
            | SettlementEvent::Returned(_)
            | SettlementEvent::Late(_),
        )
        | Event::NoticeIssued(_)
        | Event::CycleDrawn(_)
        | Event::StateRoot(_)
        | Event::Effect(_) => None,
    }
}

/// The code of a dispute that a look led to.
fn disputed_by(after: &State) -> Option<Code> {
    after
        .closing_code()
        .filter(|_| after.name() == StateName::Disputed)
}
