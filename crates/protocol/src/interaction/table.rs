//! The transition table as data: it drives the machine, its tests and its documentation.
//!
//! Six cells of 10 states × 6 messages × 3 senders accept (VERIFY's splits in two); every other
//! cell answers X811-4001. Six windows say where silence leads.
//!
//! Source: AE-9…37 and AE-98; AX-7, AX-9, AX-11.
//!
#![doc = include_str!("TABLE.md")]

use super::StateName;
use crate::code::Code;
use crate::envelope::CoreType;
use crate::event::Window;

/// Who a message comes from, seen from the interaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Sender {
    /// Consumer and payer.
    Initiator,
    /// Worker and payee.
    Provider,
    /// Somebody who is neither party.
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
    pub message: CoreType,
    /// The one party that may send it.
    pub sender: Sender,
    /// State it leads to, once its guards hold.
    pub to: StateName,
    /// Where it leads instead, for a VERIFY that says `verified=false`.
    pub otherwise: Option<StateName>,
}

/// All accepting cells.
pub const TRANSITIONS: [Transition; 6] = {
    use CoreType as M;
    use Sender::{Initiator, Provider};
    use StateName as S;
    #[rustfmt::skip]
    const fn row(requirement: &'static str, from: S, message: M, sender: Sender, to: S, otherwise: Option<S>) -> Transition {
        Transition { requirement, from, message, sender, to, otherwise }
    }
    #[rustfmt::skip]
    let rows = [
        row("AE-11", S::Pending,   M::Offer,   Provider,  S::Offered,   None),
        row("AE-12", S::Offered,   M::Accept,  Initiator, S::Accepted,  None),
        row("AE-13", S::Offered,   M::Reject,  Initiator, S::Rejected,  None),
        row("AE-14", S::Accepted,  M::Result,  Provider,  S::Delivered, None),
        row("AE-15", S::Delivered, M::Verify,  Initiator, S::Verified,  Some(S::Disputed)),
        // AX-7: a PAYMENT is recorded and watched; the confirmation completes.
        row("AE-17", S::Verified,  M::Payment, Initiator, S::Verified,  None),
    ];
    rows
};

/// Where silence leads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lapse {
    /// The requirement it comes from.
    pub requirement: &'static str,
    /// State it starts from.
    pub from: StateName,
    /// The window that passes.
    pub window: Window,
    /// State it leads to.
    pub to: StateName,
    /// The code both parties are told.
    pub code: Code,
}

/// What the end of each of the six windows leads to.
pub const LAPSES: [Lapse; 6] = {
    use StateName as S;
    #[rustfmt::skip]
    const fn row(requirement: &'static str, from: S, window: Window, to: S, code: Code) -> Lapse {
        Lapse { requirement, from, window, to, code }
    }
    #[rustfmt::skip]
    let rows = [
        row("AE-18",  S::Pending,   Window::Offer,        S::Expired,  Code::RequestTimeout),
        row("AE-19",  S::Offered,   Window::Accept,       S::Expired,  Code::OfferExpired),
        row("AE-20",  S::Accepted,  Window::Result,       S::Expired,  Code::ResultTimeout),
        row("AE-21",  S::Delivered, Window::Verify,       S::Failed,   Code::VerifyTimeout),
        row("AE-22",  S::Verified,  Window::Payment,      S::Disputed, Code::PaymentTimeout),
        row("AE-104", S::Verified,  Window::Confirmation, S::Verified, Code::PaymentConfirmationTimeout),
    ];
    rows
};

/// The accepting cell of (state, message, sender), if it is one.
pub fn transition(
    from: StateName,
    message: CoreType,
    sender: Sender,
) -> Option<&'static Transition> {
    TRANSITIONS
        .iter()
        .find(|row| row.from == from && row.message == message && row.sender == sender)
}

/// The rule of a window.
pub fn lapse_of(window: Window) -> &'static Lapse {
    // One row per window, in the order of the enum; the tests hold it to that.
    &LAPSES[window as usize]
}
