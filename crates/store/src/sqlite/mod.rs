//! SQLite through sqlx: one writer connection, a few that read, one file per purpose.

mod chain;
mod commit;
mod connect;
mod copy;
mod data_dir;
mod error;
mod feed;
mod indexes;
mod insert;
mod log;
mod migrations;
mod open_files;
mod own_thread;
mod packed;
mod read_model;
mod readers;
mod row_name;
mod sound;
mod store;
mod tags;
mod turn;
mod wal;
mod wal_file;
mod worker;

pub use chain::{ChainBlock, ChainBlocks};
pub(crate) use data_dir::DataDir;
pub use error::{OpenError, StoreError, UniqueKey};
pub use feed::{AckFile, FeedAck};
pub use log::SqliteLog;
pub(crate) use migrations::{Step, migrator};
pub use open_files::{Displaced, Fate};
pub use read_model::{ReadRows, RowDifference};
pub use store::SqliteStore;

#[cfg(test)]
pub(crate) mod tests;
