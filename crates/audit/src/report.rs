//! What an audit says in the end.

pub(crate) mod document;
pub(crate) mod outcome;
pub(crate) mod parameters;
pub(crate) mod prefix;
