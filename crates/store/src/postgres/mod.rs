//! A ledger in a PostgreSQL database: log, bodies, nonce journal, decision indexes, writer.
//!
//! | file | what is in it |
//! |---|---|
//! | `url` | where the database is, and how it is reached |
//! | `session` | the settings of its sessions, and that they took effect |
//! | `open` | becoming the writer: the lease, the epoch, the sessions of who wrote before |
//! | `line` | the one connection that writes, and what is known of it |
//! | `append` | one commit in one statement |
//! | `beside` | what it keeps beside a log that is in a stream |
//! | `quorum` | that what was committed lies on standbys |
//! | `assured` | that they go on confirming while nothing is committed |
//! | `moment` | how long ago a lease was renewed |
//! | `renewal` | how it is renewed, and what comes before that where it ran out |
//! | `published` | how far that is known, for processes that stand by; who follows |
//! | `reading` | everything that is read |
//! | `checkpoint` | the last signed checkpoint |
//! | `timeline` | whether a standby was promoted since |

mod append;
mod assured;
#[cfg(feature = "eventstore")]
mod beside;
mod checkpoint;
mod error;
mod line;
mod moment;
mod open;
mod published;
mod quorum;
mod reading;
mod renewal;
mod session;
mod store;
#[cfg(test)]
pub(crate) mod tests;
mod timeline;
mod url;

pub(crate) use checkpoint::CheckpointRow;
pub use error::PostgresError;
pub use open::Wait;
pub use published::{DatabaseStandby, Follower, Lease, Published};
pub use quorum::Quorum;
pub use store::PostgresStore;
pub(crate) use timeline::Timeline;
pub use url::StoreUrl;
