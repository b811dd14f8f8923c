//! Whose log it is, by which keys.

pub(crate) mod agent_keys;
pub(crate) mod checkpoints;
pub(crate) mod noted;
pub(crate) mod trust;
