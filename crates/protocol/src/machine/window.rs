//! The window that is open of a subject.

use crate::event::{Event, Lapsed};
use crate::time::TimestampMs;

/// A window in which an agent is to act, and what its end causes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OpenWindow {
    /// The last moment before time alone acts.
    pub ends_at: TimestampMs,
    /// The name of the window in sentences of an audit.
    pub name: &'static str,
    /// What its end causes.
    pub end: WindowEnd,
}

/// What the end of a window causes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WindowEnd {
    /// The window lapses: this is recorded.
    Lapse(Lapsed),
    /// The confirmation that nothing is due.
    NothingDue,
}

impl OpenWindow {
    /// Returns the lapse that its end causes, if it causes one.
    pub fn lapse(self) -> Option<Event> {
        match self.end {
            WindowEnd::Lapse(lapsed) => Some(Event::Lapsed(lapsed)),
            WindowEnd::NothingDue => None,
        }
    }
}
