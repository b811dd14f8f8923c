//! The transition table as data: it drives the machine, its tests and its documentation.
//!
//! Eight cells of 5 states × 4 messages × 3 senders accept; every other cell answers X811-4001. Two
//! windows say where silence leads.
//!
//! Source: contract.md ("Machine"), XN-3, XN-4, XX-2.

use super::StateName;
use crate::code::Code;
use crate::event::ContractWindow;
use crate::facts::NegotiationVerb;
pub use crate::turns::{Sender, Transition};

/// All accepting cells.
pub const TRANSITIONS: [Transition<StateName, NegotiationVerb>; 8] = {
    use NegotiationVerb as M;
    use Sender::{Author, Other};
    use StateName as S;
    use Transition as T;
    [
        T::row("XN-3", S::Pending, M::Counter, Other, S::Countered),
        T::row("XN-3", S::Pending, M::Accept, Other, S::Accepted),
        T::row("XN-3", S::Pending, M::Reject, Other, S::Rejected),
        T::row("XX-2", S::Pending, M::Withdraw, Author, S::Rejected),
        T::row("XN-3", S::Countered, M::Counter, Other, S::Countered),
        T::row("XN-3", S::Countered, M::Accept, Other, S::Accepted),
        T::row("XN-3", S::Countered, M::Reject, Other, S::Rejected),
        T::row("XX-2", S::Countered, M::Withdraw, Author, S::Rejected),
    ]
};

/// Where silence leads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lapse {
    /// The window that passes.
    pub window: ContractWindow,
    /// The code both parties are told.
    pub code: Code,
    /// What they are told to do. Audits hold notices to it: changed, it takes new rules.
    pub what_to_do: &'static str,
}

/// Both windows, in the order of the enum.
pub const LAPSES: [Lapse; 2] = [
    Lapse {
        window: ContractWindow::Contract,
        code: Code::OfferExpired,
        what_to_do: "offer terms anew, and name this negotiation as parent_negotiation_id",
    },
    Lapse {
        window: ContractWindow::Engagement,
        code: Code::RequestTimeout,
        what_to_do: "negotiate anew: no REQUEST named the agreed contract in time",
    },
];

/// The accepting cell of (state, message, sender), if it is one.
pub fn transition(
    from: StateName,
    message: NegotiationVerb,
    sender: Sender,
) -> Option<&'static Transition<StateName, NegotiationVerb>> {
    let mut rows = TRANSITIONS.iter();
    rows.find(|row| row.is_of(from, message, sender))
}

/// The rule of a window.
pub const fn lapse_of(window: ContractWindow) -> &'static Lapse {
    &LAPSES[window as usize]
}
