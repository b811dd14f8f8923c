//! Builds receipts. The format is in [`x811_audit::receipt`], which verifies them.

mod agent_keys;
mod build;

pub use build::{Issuer, ReceiptError, build, build_compact};
