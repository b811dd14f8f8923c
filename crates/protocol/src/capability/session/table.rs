//! The transition table as data: it drives the machine, its tests and its documentation.
//!
//! Of 6 states × 7 messages × 3 senders the cells below accept; every other cell answers CCN-4001,
//! CCN-4002 or CCN-4003. A request opens a session, so it stands in no cell.
//!
//! Source: capability.md ("session"), CC-76 to CC-84, CX-38, CX-39.

use crate::code::Code;
use crate::event::SessionWindow;
use crate::facts::CapabilityVerb;
use serde::{Deserialize, Serialize};

/// Names of the six states.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StateName {
    /// The target has not answered.
    Requested,
    /// It is willing; terms are awaited.
    Open,
    /// Terms were offered.
    Offered,
    /// Other terms were offered.
    Countered,
    /// The last terms are accepted; signatures are awaited.
    Agreeing,
    /// It has ended.
    Closed,
}

impl StateName {
    /// All six.
    pub const ALL: [StateName; 6] = [
        StateName::Requested,
        StateName::Open,
        StateName::Offered,
        StateName::Countered,
        StateName::Agreeing,
        StateName::Closed,
    ];

    /// The word in answers and rows.
    pub const fn as_str(self) -> &'static str {
        match self {
            StateName::Requested => "requested",
            StateName::Open => "open",
            StateName::Offered => "offered",
            StateName::Countered => "countered",
            StateName::Agreeing => "agreeing",
            StateName::Closed => "closed",
        }
    }

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

impl std::fmt::Display for StateName {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Who a message comes from, seen from the last step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Sender {
    /// Whose the last step was.
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
    pub message: CapabilityVerb,
    /// Who may send it.
    pub sender: Sender,
    /// State it leads to, once its guards hold; an unwilling response and a second signature lead to
    /// [`StateName::Closed`] instead.
    pub to: StateName,
}

/// All accepting cells.
pub const TRANSITIONS: [Transition; 20] = {
    use CapabilityVerb as M;
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
        row("CC-77", S::Requested, M::Response, Other, S::Open),
        row("CC-80", S::Open, M::Offer, Other, S::Offered),
        row("CC-81", S::Offered, M::Counter, Other, S::Countered),
        row("CC-81", S::Offered, M::Accept, Other, S::Agreeing),
        row("CC-82", S::Offered, M::Reject, Other, S::Closed),
        row("CC-81", S::Countered, M::Counter, Other, S::Countered),
        row("CC-81", S::Countered, M::Accept, Other, S::Agreeing),
        row("CC-82", S::Countered, M::Reject, Other, S::Closed),
        row("CC-84", S::Agreeing, M::Agree, Author, S::Agreeing),
        row("CC-84", S::Agreeing, M::Agree, Other, S::Agreeing),
        row("CC-79", S::Requested, M::Close, Author, S::Closed),
        row("CC-79", S::Requested, M::Close, Other, S::Closed),
        row("CC-79", S::Open, M::Close, Author, S::Closed),
        row("CC-79", S::Open, M::Close, Other, S::Closed),
        row("CC-79", S::Offered, M::Close, Author, S::Closed),
        row("CC-79", S::Offered, M::Close, Other, S::Closed),
        row("CC-79", S::Countered, M::Close, Author, S::Closed),
        row("CC-79", S::Countered, M::Close, Other, S::Closed),
        row("CC-79", S::Agreeing, M::Close, Author, S::Closed),
        row("CC-79", S::Agreeing, M::Close, Other, S::Closed),
    ]
};

/// The accepting cell of (state, message, sender), if it is one.
pub fn transition(
    from: StateName,
    message: CapabilityVerb,
    sender: Sender,
) -> Option<&'static Transition> {
    TRANSITIONS
        .iter()
        .find(|row| row.from == from && row.message == message && row.sender == sender)
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
