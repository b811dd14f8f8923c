//! Decides again what the ledger decided.

mod as_recorded;
pub(crate) mod checks;
pub(crate) mod conduct;
pub(crate) mod notices;
pub(crate) mod ordered;
pub(crate) mod routed;
pub(crate) mod signed_terms;
