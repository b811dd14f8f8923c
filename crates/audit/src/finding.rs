//! What is wrong, unchecked, remarkable, or attested by the ledger alone.

pub(crate) mod attested;
pub(crate) mod findings;
pub(crate) mod remarks;
pub(crate) mod unchecked;
pub(crate) mod verdict;
