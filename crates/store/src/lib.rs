//! Where records live: SQLite, or PostgreSQL, or a stream of EventStoreDB with PostgreSQL beside it;
//! and read rows: SQLite; and snapshots: files.
//!
//! Bytes go in and come out as they are; no rule of the protocol is decided here. The ledger is
//! written through [`Backend`], which is one of [`SqliteStore`] and [`PostgresStore`], rows for
//! reading through [`ReadRows`].
//!
//! # The data directory
//!
//! | file | what it is | may it be lost? |
//! |---|---|---|
//! | `LOCK` | held by the one process that writes; empty | yes, while no ledger runs |
//! | `ledger.db` | log, bodies, nonce journal, decision indexes, writer epoch | never |
//! | `ledger.db-wal` | the newest commits, not yet moved into `ledger.db` | never: it *is* part of the ledger until then |
//! | `ledger.db-shm` | index of the WAL, made anew when it is missing | yes |
//! | `read.db`, `read.db-wal`, `read.db-shm` | rows for reading | yes: they are rebuilt from the log, also where a start finds them damaged |
//! | `chain.db`, `chain.db-wal`, `chain.db-shm` | blocks that the watcher holds | yes: it asks the RPC endpoints again |
//! | `feed.db`, `feed.db-wal`, `feed.db-shm` | how far agents have acknowledged their feeds | yes: what was acknowledged is delivered again |
//! | `store-url` | where the log is, when it is in a PostgreSQL database and not in `ledger.db`; a second line names the cluster, when it is in EventStoreDB | no: a start notes it again, until then nothing else finds the log |
//! | `snapshots/<size>.x811` | the state after so many records, signed by the ledger; the last two | yes: a start then replays the whole log |
//!
//! While a ledger runs nobody may remove, move or replace its files: what it writes then is in a file
//! without a name. [`Backend::displaced`] and [`ReadRows::displaced`] tell, every commit looks, and the
//! ledger ends.
//!
//! The directory is made with mode 0700 and every file with mode 0600; what exists keeps its mode.
//! To copy a ledger while nobody writes, copy `ledger.db` and `ledger.db-wal` together. While
//! somebody writes, use [`SqliteStore::copy_to`], never `cp`.
//!
//! # The checkpoint
//!
//! [`FileCheckpointStore`] keeps the last signed checkpoint in a directory of its own, outside the data
//! directory and never restored with it: it is what tells that a copy is older.
//!
//! | file | what it is | may it be lost? |
//! |---|---|---|
//! | `checkpoint` | the last signed checkpoint, a C2SP signed note | yes, and with it the knowledge that records are missing |
//! | `LOCK` | held during a swap; empty | yes |
//!
//! # Reading without owning
//!
//! [`SqliteStore::open_read_only`] takes no lock, raises no epoch, migrates nothing and changes
//! neither `ledger.db` nor its WAL, so an auditor may use it beside a running ledger, and on what a
//! killed one left. Whoever reads must be able to read `ledger.db`, and `ledger.db-wal` and
//! `ledger.db-shm` where they exist. On a read-only file system, or in a directory that the reader may
//! not write, SQLite cannot make a missing `-shm`. A database without a write-ahead log is then read as
//! it is, and one with a log through an index in the reader's memory. No ledger may be started there
//! meanwhile, by way of a writable mount for example: nothing would tell the reader.
//!
//! # Durability
//!
//! A commit is one SQLite transaction with `synchronous=FULL`: when it is answered, the WAL is on
//! the disk. The read model uses `NORMAL`, for it can be rebuilt.

mod access;
mod asking;
mod backend;
mod checkpoint;
mod checkpoints;
mod fault;
mod file_fault;
#[cfg(feature = "eventstore")]
mod kurrent;
mod leaves;
mod log_url;
mod postgres;
mod purpose;
mod snapshots;
mod sole;
mod sqlite;

pub use access::Access;
pub use backend::{Backend, Database};
pub use checkpoint::{FileCheckpointStore, NoCheckpointDir};
pub use checkpoints::CheckpointPlaces;
pub use fault::StoreFault;
pub use file_fault::{FileFault, next_step};
#[cfg(feature = "eventstore")]
pub use kurrent::{KurrentError, KurrentStore};
pub use log_url::{LogUrl, NotALogUrl};
pub use postgres::{
    DatabaseStandby, Follower, Lease, PostgresError, PostgresStore, Published, Quorum, StoreUrl,
    Wait,
};
pub use purpose::Sealed;
pub use snapshots::FileSnapshots;
pub use sqlite::{
    AckFile, ChainBlock, ChainBlocks, Displaced, Fate, FeedAck, OpenError, ReadRows, RowDifference,
    SqliteLog, SqliteStore, StoreError, UniqueKey,
};
