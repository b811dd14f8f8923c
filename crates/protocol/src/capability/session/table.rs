//! The transition table as data: it drives the machine, its tests and its documentation.
//!
//! Of 6 states × 7 messages × 3 senders the cells below accept; every other cell answers CCN-4001,
//! CCN-4002 or CCN-4003. A request opens a session, so it stands in no cell.
//!
//! Source: capability.md ("session"), CC-76 to CC-84, CX-38, CX-39.

use crate::code::Code;
use crate::event::SessionWindow;
use crate::facts::CapabilityVerb;
pub use crate::turns::{Sender, Transition};
use serde::{Deserialize, Serialize};

named! {
    /// Names of the six states.
    #[derive(Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    pub enum StateName {
        /// The target has not answered.
        Requested = "requested",
        /// It is willing; terms are awaited.
        Open = "open",
        /// Terms were offered.
        Offered = "offered",
        /// Other terms were offered.
        Countered = "countered",
        /// The last terms are accepted; signatures are awaited.
        Agreeing = "agreeing",
        /// It has ended.
        Closed = "closed",
    }
}

impl StateName {
    /// The window that is open in it.
    pub const fn window(self) -> Option<SessionWindow> {
        match self {
            StateName::Requested => Some(SessionWindow::Response),
            StateName::Open | StateName::Offered | StateName::Countered => {
                Some(SessionWindow::Session)
            }
            StateName::Agreeing => Some(SessionWindow::Agree),
            StateName::Closed => None,
        }
    }
}

/// All accepting cells. Where its guards hold, an unwilling response and a second signature lead to
/// [`StateName::Closed`] instead.
pub const TRANSITIONS: [Transition<StateName, CapabilityVerb>; 20] = {
    use CapabilityVerb as M;
    use Sender::{Author, Other};
    use StateName as S;
    use Transition as T;
    [
        T::row("CC-77", S::Requested, M::Response, Other, S::Open),
        T::row("CC-80", S::Open, M::Offer, Other, S::Offered),
        T::row("CC-81", S::Offered, M::Counter, Other, S::Countered),
        T::row("CC-81", S::Offered, M::Accept, Other, S::Agreeing),
        T::row("CC-82", S::Offered, M::Reject, Other, S::Closed),
        T::row("CC-81", S::Countered, M::Counter, Other, S::Countered),
        T::row("CC-81", S::Countered, M::Accept, Other, S::Agreeing),
        T::row("CC-82", S::Countered, M::Reject, Other, S::Closed),
        T::row("CC-84", S::Agreeing, M::Agree, Author, S::Agreeing),
        T::row("CC-84", S::Agreeing, M::Agree, Other, S::Agreeing),
        T::row("CC-79", S::Requested, M::Close, Author, S::Closed),
        T::row("CC-79", S::Requested, M::Close, Other, S::Closed),
        T::row("CC-79", S::Open, M::Close, Author, S::Closed),
        T::row("CC-79", S::Open, M::Close, Other, S::Closed),
        T::row("CC-79", S::Offered, M::Close, Author, S::Closed),
        T::row("CC-79", S::Offered, M::Close, Other, S::Closed),
        T::row("CC-79", S::Countered, M::Close, Author, S::Closed),
        T::row("CC-79", S::Countered, M::Close, Other, S::Closed),
        T::row("CC-79", S::Agreeing, M::Close, Author, S::Closed),
        T::row("CC-79", S::Agreeing, M::Close, Other, S::Closed),
    ]
};

/// The accepting cell of (state, message, sender), if it is one.
pub fn transition(
    from: StateName,
    message: CapabilityVerb,
    sender: Sender,
) -> Option<&'static Transition<StateName, CapabilityVerb>> {
    let mut rows = TRANSITIONS.iter();
    rows.find(|row| row.is_of(from, message, sender))
}

/// The code both are told when a window passes, and what they are told to do. Audits hold notices to
/// it: changed, it takes new rules.
pub const fn lapse_of(window: SessionWindow) -> (Code, &'static str) {
    match window {
        SessionWindow::Response => (
            Code::ResponseTimeout,
            "send a new request: the target did not say in time whether it negotiates",
        ),
        SessionWindow::Session => (
            Code::SessionTimeout,
            "send a new request: no terms were accepted in time",
        ),
        SessionWindow::Agree => (
            Code::SessionTimeout,
            "send a new request: the agreement was not signed by both in time",
        ),
    }
}
