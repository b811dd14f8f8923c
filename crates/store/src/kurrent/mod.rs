//! A ledger whose log is a stream of EventStoreDB or KurrentDB, with a PostgreSQL database beside it
//! for everything that a stream cannot hold (stores.md section 4, eventstore.md section 1.5).
//!
//! | file | what is in it |
//! |---|---|
//! | `client` | calls by the vendor's client, and all that is known of its faults |
//! | `probe` | the address of a cluster, and the cause why none of its nodes can be used |
//! | `stream` | the log: appending at an expected revision, reading without a gap |
//! | `metadata` | settings of the stream by which a server hides records |
//! | `lookout` | a look at these settings from time to time |
//! | `ahead` | the page that is read before it is asked for |
//! | `beside` | what the database has and has not yet of the stream |
//! | `store` | both as one store |
//!
//! A commit is, in this order: its bodies staged in the database, under position and digest; its
//! records in the stream, in one append; everything else, and the leaves once more, in one statement
//! of the database. Nobody is answered before the last. What a crash leaves in between is made good
//! from the stream and the staged bodies when the ledger is opened, before anything is decided.
//!
//! The epoch cannot be in the append: the expected revision alone decides who writes. A writer that
//! was replaced may still place the records that it had staged; it acknowledges none of them, and
//! the one that replaced it then meets a revision that it did not expect, and ends.

mod ahead;
mod beside;
mod client;
mod error;
mod lookout;
mod metadata;
mod probe;
mod store;
mod stream;
#[cfg(test)]
mod tests;

pub use error::KurrentError;
pub use store::KurrentStore;
