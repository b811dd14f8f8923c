//! What can be checked of a record without the rules, and what is kept of it.

pub(crate) mod body;
pub(crate) mod erased;
pub(crate) mod examine;
pub(crate) mod links;
pub(crate) mod numbered;
pub mod pages;
pub(crate) mod places;
pub(crate) mod signature;
pub(crate) mod spelling;
pub(crate) mod uniqueness;
