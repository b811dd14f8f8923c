//! The world as of some record, so that a restart replays the tail of the log alone.
//!
//! A snapshot is a hint and never the truth. One that cannot be written is logged; one that does
//! not hold is found, logged and ignored, and the log says it all again. It holds what
//! [`World::apply`](x811_world::World::apply) adds up to, bound to this ledger's log by the record hash at its head and to
//! this ledger by a signature: whoever cannot sign as the ledger cannot plant a state.
//!
//! | file | what is in it |
//! |---|---|
//! | `format` | the bytes, and everything that is checked before they are believed |
//! | `packed` | what was seen lately, in rows of fixed width |
//! | `check` | what differs from the world that the log adds up to |
//! | `memory` | a place to keep them, for tests |

mod check;
mod format;
mod memory;
mod packed;
mod rejection;

pub use check::{Difference, check};
pub use format::{EncodeError, FORMAT, SCHEMA, Snapshot, decode, encode};
pub use memory::{MemorySnapshots, SaveFault};
pub use rejection::Rejection;

use std::io;
use std::sync::Arc;

/// How many records lie between two snapshots unless told otherwise.
pub const DEFAULT_EVERY_RECORDS: u64 = 100_000;

/// Where snapshots lie, by the size of the log they are of. Calls may block: they are never made
/// on the sequencer's task.
pub trait SnapshotStore: std::fmt::Debug + Send + Sync + 'static {
    /// Keeps the snapshot of `size`, durably and whole or not at all, and the newest older one.
    ///
    /// # Errors
    /// Nothing of it may be used then.
    fn save(&self, size: u64, bytes: &[u8]) -> io::Result<()>;

    /// The sizes there are, the largest first.
    ///
    /// # Errors
    /// As the place reports.
    fn sizes(&self) -> io::Result<Vec<u64>>;

    /// The bytes of a snapshot.
    ///
    /// # Errors
    /// As the place reports.
    fn load(&self, size: u64) -> io::Result<Vec<u8>>;
}

/// How a ledger uses snapshots.
#[derive(Debug, Clone)]
pub struct Snapshots {
    /// Where they lie.
    pub store: Arc<dyn SnapshotStore>,
    /// Records between two of them.
    pub every_records: u64,
    /// One of a longer log than this is ignored: what follows the last signed checkpoint is
    /// replayed, so that the root at the checkpoint can be checked.
    pub max_size: Option<u64>,
}

impl Snapshots {
    /// Snapshots in `store`, one every [`DEFAULT_EVERY_RECORDS`].
    pub fn new(store: Arc<dyn SnapshotStore>) -> Snapshots {
        Snapshots {
            store,
            every_records: DEFAULT_EVERY_RECORDS,
            max_size: None,
        }
    }
}
