//! Which bodies of a machine's messages may be erased.

/// When bodies about a subject may be erased, in the words of refusals and audits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Erasable {
    /// Never, for this reason.
    Never(&'static str),
    /// Once nothing about the subject can be recorded any more.
    WhenOver(ErasureWords),
}

/// Why bodies of a subject stay whose messages are all that is recorded about it.
pub(crate) const ONCE_CLOSED: &str =
    ": bodies are erased once it is closed, and nothing is owed to its parties";

/// The words in which an erasure is refused. The first three follow on a noun with a state or an id.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ErasureWords {
    /// Why bodies stay while the subject is in that state.
    pub live: &'static str,
    /// The same once the state is terminal and something is still owed or watched.
    pub settling: &'static str,
    /// The form in which a subject is named, as a hint after an unknown id; may be empty.
    pub unknown: &'static str,
    /// Why bodies of that subject stay, as a clause about the past.
    pub kept: &'static str,
}
