//! The promises of the SQLite backend.

mod agents;
mod at_once;
mod commit;
mod conformance;
mod damaged_rows;
mod erasure;
mod guards;
mod log;
mod read_model;
mod read_only;
mod readers;
pub(crate) mod sample;
mod tags;
mod tiles;
mod wal;
mod wrong_types;
