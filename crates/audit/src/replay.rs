//! The log replayed by the world's own rules, and what its rows and notices should be.

pub(crate) mod agent_rows;
pub(crate) mod decided;
pub(crate) mod effects;
pub(crate) mod owing;
pub mod rows;
pub(crate) mod state;
