//! Papers, which are receipts and bundles, from before the ledger replaced its checkpoint key: how
//! whoever knows the new key alone can hold them for good (ledger-contract.md section 8).
//!
//! Such a paper holds when the old key was in force where its checkpoint stands, as the newest keys
//! statement says, and the newest checkpoint goes on where it ended, as a consistency proof shows.
//! All three are in a [`Refresh`], a file beside the paper. In place of the proof a policy's quorum
//! of witnesses will do, which have cosigned the old checkpoint.

mod file;
mod hold;

pub use file::{Link, NotARefresh, REFRESH_VERSION, Refresh};
pub use hold::{CheckpointHold, Paper, is_same_log, since_replaced};
