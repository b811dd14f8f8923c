//! Papers, which are receipts and bundles, from before the ledger replaced its checkpoint key: how
//! whoever knows the new key alone can hold them for good (ledger-contract.md section 8).
//!
//! Such a paper holds when the old key was in force where its checkpoint stands, as the newest keys
//! statement says, and the newest checkpoint goes on where it ended, as a consistency proof shows.
//! All three are in a [`Refresh`], a file beside the paper. In place of the proof a policy's quorum
//! of witnesses will do, which have cosigned the old checkpoint.

mod build;
mod file;
mod hold;

pub use build::{RefreshError, build};
pub use file::{NotARefresh, REFRESH_VERSION};
pub use hold::{CheckpointHold, Paper, is_same_log, since_replaced};

use crate::keys_statement::SignedKeys;
use x811_eventlog::Hash;

/// What the ledger says now of a paper's checkpoint.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refresh {
    /// The newest keys statement: which key was in force when.
    pub keys: SignedKeys,
    /// That the log goes on where the paper's checkpoint ended; absent in a file that is the ledger's
    /// keys statement alone.
    pub link: Option<Link>,
}

/// That a newer checkpoint goes on where an older one ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Link {
    /// The newer one, as it was signed, with all its signature lines.
    pub checkpoint: String,
    /// The consistency proof, from `size` to the newer checkpoint's size.
    pub hashes: Vec<Hash>,
    /// Records that the older one covers.
    pub size: u64,
}
