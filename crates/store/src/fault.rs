//! States of a store in which its ledger must not go on.

/// A state of a store that keeps its ledger from acknowledging anything. The text is a whole sentence for
/// the operator.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StoreFault {
    /// Nothing may be acknowledged until somebody repairs it.
    Suspended(String),
    /// Nothing can ever be stored again: the process has to end.
    Lost(String),
}

impl StoreFault {
    /// Returns the sentence.
    #[must_use]
    pub fn sentence(&self) -> &str {
        match self {
            StoreFault::Suspended(sentence) | StoreFault::Lost(sentence) => sentence,
        }
    }
}
