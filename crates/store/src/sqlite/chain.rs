//! The blocks that watchers hold, across a restart, in a file of their own that may be thrown away.

use std::ops::Range;
use std::path::Path;

use sqlx::QueryBuilder;
use sqlx::sqlite::SqliteSynchronous;

use super::connect::Database;
use super::data_dir::DataDir;
use super::error::{OpenError, StoreError};
use super::migrations::CHAIN;
use super::readers::Readers;
use super::turn::{Turn, Writer};

/// What a block adds to the write-ahead log besides its transfers, about.
const BLOCK_BYTES: u64 = 8_192;

/// Rows of one statement, within SQLite's limit of 32,766 variables.
const ROWS: usize = 1_000;

/// One block of a network.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChainBlock {
    /// Height of the block.
    pub number: u64,
    /// Hash of the block.
    pub hash: [u8; 32],
    /// The hash of the block below.
    pub parent: [u8; 32],
    /// Its own timestamp, whole seconds since the Unix epoch.
    pub timestamp_s: u64,
    /// What moved in it, as whoever stores it writes it.
    pub moved: Vec<u8>,
}

/// Blocks in `chain.db` of a data directory. Whoever owns the ledger of the directory writes it.
#[derive(Debug)]
pub struct ChainBlocks {
    readers: Readers,
    writer: Writer,
}

impl ChainBlocks {
    /// Opens the blocks for writing; `data_dir` and the file are made if they do not exist.
    ///
    /// # Errors
    ///
    /// [`OpenError::File`], [`OpenError::Database`] or [`OpenError::Migration`].
    pub async fn open(data_dir: &Path) -> Result<ChainBlocks, OpenError> {
        let data_dir = DataDir::create(data_dir)?;
        // The newest commits may be lost: the watcher then asks for a few blocks again.
        let database = Database::new(&data_dir.chain(), SqliteSynchronous::Normal, &CHAIN);
        data_dir.create_database(database.file())?;
        let connection = database.migrated_writer().await?;
        Ok(ChainBlocks {
            readers: database.readers(),
            writer: Writer::new(database, connection),
        })
    }

    /// Throws the blocks away. Nobody may have them open.
    ///
    /// # Errors
    ///
    /// [`OpenError::File`].
    pub fn remove(data_dir: &Path) -> Result<(), OpenError> {
        DataDir::remove_database(&DataDir::at(data_dir).chain())
    }

    /// All blocks of `network`, the lowest first.
    ///
    /// # Errors
    ///
    /// When they cannot be read.
    pub async fn blocks(&self, network: &str) -> Result<Vec<ChainBlock>, StoreError> {
        type Row = (i64, Vec<u8>, Vec<u8>, i64, Vec<u8>);
        let rows: Vec<Row> = sqlx::query_as(
            "SELECT number, hash, parent, timestamp_s, moved FROM blocks WHERE network = ? \
             ORDER BY number",
        )
        .bind(network)
        .fetch_all(&mut *self.readers.get().await?)
        .await?;
        let blocks = rows
            .into_iter()
            .map(|(number, hash, parent, timestamp_s, moved)| {
                Some(ChainBlock {
                    number: number.cast_unsigned(),
                    hash: hash.try_into().ok()?,
                    parent: parent.try_into().ok()?,
                    timestamp_s: timestamp_s.cast_unsigned(),
                    moved,
                })
            });
        // The table's checks make hashes 32 bytes long; a block without one is as good as none.
        Ok(blocks.collect::<Option<_>>().unwrap_or_default())
    }

    /// Keeps only the blocks of `network` whose heights are in `keep`, and adds `added`, in one
    /// transaction.
    ///
    /// # Errors
    ///
    /// When they cannot be written; then nothing has changed.
    pub async fn change(
        &self,
        network: &str,
        keep: Range<u64>,
        added: &[ChainBlock],
    ) -> Result<(), StoreError> {
        let mut turn = self.writer.begin().await?;
        let moved_bytes: usize = added.iter().map(|block| block.moved.len()).sum();
        match write(&mut turn, network, keep, added).await {
            Ok(()) => turn.commit(moved_bytes as u64 + BLOCK_BYTES).await,
            Err(error) => {
                turn.roll_back().await;
                Err(error)
            }
        }
    }

    /// Closes the file in order. Dropping the blocks does so too, only later and without waiting.
    pub async fn close(&self) {
        self.writer.close().await;
        self.readers.close().await;
    }
}

async fn write(
    turn: &mut Turn<'_>,
    network: &str,
    keep: Range<u64>,
    added: &[ChainBlock],
) -> Result<(), StoreError> {
    sqlx::query("DELETE FROM blocks WHERE network = ? AND (number < ? OR number >= ?)")
        .bind(network)
        .bind(keep.start.cast_signed())
        .bind(keep.end.cast_signed())
        .execute(turn.connection())
        .await?;
    for rows in added.chunks(ROWS) {
        let mut insert = QueryBuilder::new(
            "INSERT INTO blocks (network, number, hash, parent, timestamp_s, moved) ",
        );
        insert.push_values(rows, |mut row, block| {
            row.push_bind(network)
                .push_bind(block.number.cast_signed())
                .push_bind(&block.hash[..])
                .push_bind(&block.parent[..])
                .push_bind(block.timestamp_s.cast_signed())
                .push_bind(&block.moved);
        });
        insert.build().execute(turn.connection()).await?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn block(number: u64, branch: u8) -> ChainBlock {
        ChainBlock {
            number,
            hash: [branch; 32],
            parent: [branch; 32],
            timestamp_s: 2 * number,
            moved: vec![branch; 3],
        }
    }

    #[tokio::test]
    async fn blocks_are_replaced_trimmed_and_there_after_a_restart() {
        let folder = tempfile::tempdir().unwrap();
        let chain = ChainBlocks::open(folder.path()).await.unwrap();
        assert_eq!(chain.blocks("base").await.unwrap(), []);
        let first: Vec<_> = (10..2_500).map(|number| block(number, 1)).collect();
        chain.change("base", 0..u64::MAX / 2, &first).await.unwrap();
        chain.change("other", 0..0, &first[..2]).await.unwrap();
        let branch = [block(2_400, 2), block(2_401, 2)];
        chain.change("base", 2_398..2_400, &branch).await.unwrap();
        chain.close().await;
        let chain = ChainBlocks::open(folder.path()).await.unwrap();
        let due = [
            block(2_398, 1),
            block(2_399, 1),
            block(2_400, 2),
            block(2_401, 2),
        ];
        assert_eq!(chain.blocks("base").await.unwrap(), due);
        assert_eq!(chain.blocks("other").await.unwrap(), first[..2]);
        chain.close().await;
        ChainBlocks::remove(folder.path()).unwrap();
        let chain = ChainBlocks::open(folder.path()).await.unwrap();
        assert_eq!(chain.blocks("base").await.unwrap(), []);
    }

    #[tokio::test]
    async fn a_change_that_fails_changes_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let chain = ChainBlocks::open(folder.path()).await.unwrap();
        chain.change("base", 0..9, &[block(1, 1)]).await.unwrap();
        let twice = [block(2, 1), block(2, 2)];
        chain.change("base", 0..0, &twice).await.unwrap_err();
        assert_eq!(chain.blocks("base").await.unwrap(), [block(1, 1)]);
    }
}
