//! What an operator does to a ledger that is not settling: examine, back up, restore.

mod agent_keys;
mod backup;
mod doctor;
mod endpoints;
mod log_copy;
pub(crate) mod place;
mod postgres;
mod reopen;
mod rotation;
mod secrets;
mod settings;
mod status;
mod traces;
mod trust;
