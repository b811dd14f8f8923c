//! Transition tables of the machines in which two take turns, `contract` and `session`.

/// Who a message comes from, seen from the last step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Sender {
    /// Whose the last step was.
    Author,
    /// The other one of the two.
    Other,
    /// Somebody who is neither party.
    Stranger,
}

/// One accepting cell, of states `S` and messages `M`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Transition<S, M> {
    /// The requirement it comes from.
    pub requirement: &'static str,
    /// State it starts from.
    pub from: S,
    /// Message that triggers it.
    pub message: M,
    /// Who may send it.
    pub sender: Sender,
    /// State it leads to, once its guards hold.
    pub to: S,
}

impl<S: Copy + PartialEq, M: Copy + PartialEq> Transition<S, M> {
    pub(crate) const fn row(
        requirement: &'static str,
        from: S,
        message: M,
        sender: Sender,
        to: S,
    ) -> Transition<S, M> {
        Transition {
            requirement,
            from,
            message,
            sender,
            to,
        }
    }

    /// Whether it is the cell of (state, message, sender).
    pub(crate) fn is_of(&self, from: S, message: M, sender: Sender) -> bool {
        self.from == from && self.message == message && self.sender == sender
    }
}
