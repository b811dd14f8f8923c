//! Audits what a ledger's store holds, and compares its rows with what the log adds up to. The audit itself is
//! [`x811_audit`], which reads files alone.

mod agents;
mod compare;
mod from_store;
mod hashes;

pub use from_store::audit_store;
pub use hashes::hash_store;
