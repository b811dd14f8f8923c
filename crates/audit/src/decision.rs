//! Decides again what the ledger decided.

pub(crate) mod checks;
pub(crate) mod conduct;
pub(crate) mod notices;
pub(crate) mod ordered;
pub(crate) mod routed;
pub(crate) mod signed_terms;
