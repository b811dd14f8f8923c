//! What a record is and how anyone checks it: bytes, hash chain, Merkle tree, and the log that
//! holds them. No domain words, no database, no clock, no randomness.
//!
//! [`record`] seals and reads leaves, [`chain`] checks that they follow one another, [`merkle`]
//! keeps the tree over them, [`checkpoint`] says what it was at a size, as a signed [`note`].
//! [`inclusion`] and [`consistency`] prove that a record is in a tree and that a tree goes on where
//! an earlier one ended, from the hashes of [`subtree`]s, [`multiproof`] that several records are
//! in one; [`tile`] keeps these hashes in files that never change. [`tlog_proof`] is a proof as a
//! file, [`cose`] as a signed message, [`policy`] says whose checkpoints are trusted.
//! [`log`] is what a place for records implements, [`memory`] the plainest one, [`conformance`] the
//! promises that all of them are held to.
//!
//! ---
//!
#![doc = include_str!("../FORMAT.md")]

pub mod chain;
pub mod checkpoint;
pub mod conformance;
pub mod consistency;
pub mod cose;
mod decimal;
pub mod hash;
pub mod inclusion;
pub mod log;
pub mod memory;
pub mod merkle;
pub mod multiproof;
pub mod note;
pub mod policy;
pub mod record;
pub mod subtree;
pub mod tile;
pub mod tlog_proof;

pub use chain::{Break, Cause, ChainVerifier, Head, LinkVerifier, Linked};
pub use checkpoint::{Checkpoint, CheckpointError};
pub use consistency::{ConsistencyError, ConsistencyProof};
pub use cose::{CoseError, CoseReceipt, CoseStatement};
pub use hash::{Hash, HashError};
pub use inclusion::{InclusionError, InclusionProof};
pub use log::{AppendError, BackendError, EventLog, MAX_BATCH_BYTES, ReadError, check_batch};
pub use memory::MemoryLog;
pub use merkle::{Frontier, FrontierError, root_of};
pub use multiproof::{Multiproof, MultiproofError, ProvenLeaf};
pub use policy::{Policy, PolicyError};
pub use record::{Draft, FORMAT_VERSION, MAX_LEAF_BYTES, Record, RecordError, write_canonical};
pub use subtree::{Node, Subtree};
pub use tile::{HashTile, Tile, TileEdge};
pub use tlog_proof::{TlogProof, TlogProofError};
