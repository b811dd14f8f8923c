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

/// Who a message comes from, seen from the last terms.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Sender {
    /// Who proposed the last terms.
    Author,
    /// The other one of the two.
    Other,
    /// Anybody else.
    Stranger,
}

/// One accepting cell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Transition {
    /// The requirement it comes from.
    pub requirement: &'static str,
    /// State it starts from.
    pub from: StateName,
    /// Message that triggers it.
    pub message: NegotiationVerb,
    /// The one party that may send it.
    pub sender: Sender,
    /// State it leads to, once its guards hold.
    pub to: StateName,
}

/// All accepting cells.
pub const TRANSITIONS: [Transition; 8] = {
    use NegotiationVerb as M;
    use Sender::{Author, Other};
    use StateName as S;
    const fn row(
        requirement: &'static str,
        from: S,
        message: M,
        sender: Sender,
        to: S,
    ) -> Transition {
        Transition {
            requirement,
            from,
            message,
            sender,
            to,
        }
    }
    [
        row("XN-3", S::Pending, M::Counter, Other, S::Countered),
        row("XN-3", S::Pending, M::Accept, Other, S::Accepted),
        row("XN-3", S::Pending, M::Reject, Other, S::Rejected),
        row("XX-2", S::Pending, M::Withdraw, Author, S::Rejected),
        row("XN-3", S::Countered, M::Counter, Other, S::Countered),
        row("XN-3", S::Countered, M::Accept, Other, S::Accepted),
        row("XN-3", S::Countered, M::Reject, Other, S::Rejected),
        row("XX-2", S::Countered, M::Withdraw, Author, S::Rejected),
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
) -> Option<&'static Transition> {
    TRANSITIONS
        .iter()
        .find(|row| row.from == from && row.message == message && row.sender == sender)
}

/// The rule of a window.
pub const fn lapse_of(window: ContractWindow) -> &'static Lapse {
    &LAPSES[window as usize]
}
