//! What a record is and how anyone checks it: bytes, hash chain, Merkle tree, and the log that
//! holds them. No domain words, no database, no clock, no randomness.

pub mod hash;
pub mod record;

pub use hash::{Hash, HashError};
pub use record::{Draft, FORMAT_VERSION, MAX_LEAF_BYTES, Record, RecordError};
