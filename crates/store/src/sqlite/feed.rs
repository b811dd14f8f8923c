//! How far agents have acknowledged their feeds, in a file of its own that may be thrown away: what
//! was acknowledged is then delivered again.

use std::path::Path;

use sqlx::QueryBuilder;
use sqlx::sqlite::SqliteSynchronous;
use x811_protocol::did::Did;
use x811_protocol::time::TimestampMs;

use super::connect::Database;
use super::data_dir::DataDir;
use super::error::{OpenError, StoreError};
use super::migrations::FEED;
use super::readers::Readers;
use super::turn::{Turn, Writer};

/// What a row adds to the write-ahead log, about: a page.
const ROW_BYTES: u64 = 8_192;

/// Rows of one statement, within SQLite's limit of 32,766 variables.
const ROWS: usize = 1_000;

/// How far one agent has acknowledged its feed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FeedAck {
    /// The agent whose feed it is.
    pub recipient: Did,
    /// Everything up to this position, itself included, is acknowledged.
    pub through_position: u64,
    /// When, by the ledger's clock.
    pub at: TimestampMs,
}

/// Acknowledgements in `feed.db` of a data directory. Whoever owns the ledger of the directory
/// writes it.
#[derive(Debug)]
pub struct AckFile {
    readers: Readers,
    writer: Writer,
}

impl AckFile {
    /// Opens the acknowledgements beside a log of `size` records; `data_dir` and the file are made if
    /// they do not exist. Acknowledgements of positions that the log does not have are removed: they
    /// are of another copy of it, and the records that come to these positions were not delivered.
    ///
    /// # Errors
    ///
    /// [`OpenError::File`], [`OpenError::Database`] or [`OpenError::Migration`].
    pub async fn open(data_dir: &Path, size: u64) -> Result<AckFile, OpenError> {
        let data_dir = DataDir::create(data_dir)?;
        // The newest commits may be lost: the messages are then delivered again.
        let database = Database::new(&data_dir.feed(), SqliteSynchronous::Normal, &FEED);
        data_dir.create_database(database.file())?;
        let mut connection = database.migrated_writer().await?;
        sqlx::query("DELETE FROM feed_acks WHERE through_position >= ?")
            .bind(size.cast_signed())
            .execute(&mut connection)
            .await
            .map_err(|error| database.failed(error.into()))?;
        Ok(AckFile {
            readers: database.readers(),
            writer: Writer::new(database, connection),
        })
    }

    /// Throws the acknowledgements away. Nobody may have them open.
    ///
    /// # Errors
    ///
    /// [`OpenError::File`].
    pub fn remove(data_dir: &Path) -> Result<(), OpenError> {
        DataDir::remove_database(&DataDir::at(data_dir).feed())
    }

    /// The position through which `recipient` has acknowledged; `None` before its first.
    ///
    /// # Errors
    ///
    /// When it cannot be read.
    pub async fn through(&self, recipient: Did) -> Result<Option<u64>, StoreError> {
        let through: Option<i64> =
            sqlx::query_scalar("SELECT through_position FROM feed_acks WHERE recipient = ?")
                .bind(recipient.uuid().as_bytes().as_slice())
                .fetch_optional(&mut *self.readers.get().await?)
                .await?;
        Ok(through.map(i64::cast_unsigned))
    }

    /// Notes acknowledgements in one transaction. One that is behind what is noted changes nothing.
    ///
    /// # Errors
    ///
    /// When they cannot be written; then nothing has changed.
    pub async fn save(&self, acks: &[FeedAck]) -> Result<(), StoreError> {
        let mut turn = self.writer.begin().await?;
        match write(&mut turn, acks).await {
            Ok(()) => turn.commit(ROW_BYTES * acks.len() as u64).await,
            Err(error) => {
                turn.roll_back().await;
                Err(error)
            }
        }
    }

    /// Closes the file in order. Dropping it does so too, only later and without waiting.
    pub async fn close(&self) {
        self.writer.close().await;
        self.readers.close().await;
    }
}

async fn write(turn: &mut Turn<'_>, acks: &[FeedAck]) -> Result<(), StoreError> {
    for rows in acks.chunks(ROWS) {
        let mut insert =
            QueryBuilder::new("INSERT INTO feed_acks (recipient, through_position, at_ms) ");
        insert.push_values(rows, |mut row, ack| {
            row.push_bind(ack.recipient.uuid().as_bytes().as_slice())
                .push_bind(ack.through_position.cast_signed())
                .push_bind(ack.at.as_ms().cast_signed());
        });
        insert.push(
            " ON CONFLICT (recipient) DO UPDATE SET through_position = excluded.through_position, \
             at_ms = excluded.at_ms WHERE excluded.through_position > feed_acks.through_position",
        );
        insert.build().execute(turn.connection()).await?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ack(last: u8, through_position: u64) -> FeedAck {
        FeedAck {
            recipient: did(last),
            through_position,
            at: TimestampMs::new(7),
        }
    }

    fn did(last: u8) -> Did {
        format!("did:x811:a1b2c3d4-e5f6-4890-abcd-ef12345678{last:02x}")
            .parse()
            .unwrap()
    }

    #[tokio::test]
    async fn ax_44_an_acknowledgement_goes_forward_alone_and_is_there_after_a_restart() {
        let folder = tempfile::tempdir().unwrap();
        let feed = AckFile::open(folder.path(), 1_000).await.unwrap();
        assert_eq!(feed.through(did(1)).await.unwrap(), None);
        feed.save(&[ack(1, 7), ack(2, 0)]).await.unwrap();
        feed.save(&[ack(1, 6)]).await.unwrap();
        assert_eq!(feed.through(did(1)).await.unwrap(), Some(7));
        feed.save(&[ack(1, 8)]).await.unwrap();
        feed.close().await;
        let feed = AckFile::open(folder.path(), 1_000).await.unwrap();
        assert_eq!(feed.through(did(1)).await.unwrap(), Some(8));
        assert_eq!(feed.through(did(2)).await.unwrap(), Some(0));
        feed.close().await;
        AckFile::remove(folder.path()).unwrap();
        let feed = AckFile::open(folder.path(), 1_000).await.unwrap();
        assert_eq!(feed.through(did(1)).await.unwrap(), None);
    }

    #[tokio::test]
    async fn ax_44_what_a_shorter_log_does_not_have_is_not_acknowledged() {
        let folder = tempfile::tempdir().unwrap();
        let feed = AckFile::open(folder.path(), 1_000).await.unwrap();
        feed.save(&[ack(1, 8), ack(2, 9), ack(3, 10)])
            .await
            .unwrap();
        feed.close().await;
        let feed = AckFile::open(folder.path(), 9).await.unwrap();
        assert_eq!(feed.through(did(1)).await.unwrap(), Some(8));
        assert_eq!(feed.through(did(2)).await.unwrap(), None);
        assert_eq!(feed.through(did(3)).await.unwrap(), None);
    }

    #[cfg(unix)]
    #[tokio::test]
    async fn nobody_else_may_read_the_file() {
        use std::os::unix::fs::PermissionsExt as _;

        let folder = tempfile::tempdir().unwrap();
        let feed = AckFile::open(folder.path(), 9).await.unwrap();
        feed.save(&[ack(1, 8)]).await.unwrap();
        for name in ["feed.db", "feed.db-wal"] {
            let mode = std::fs::metadata(folder.path().join(name)).unwrap();
            assert_eq!(mode.permissions().mode() & 0o777, 0o600, "{name}");
        }
    }
}
