//! Rows and records in one question, where both databases lie in one directory: to wake a thread of
//! a database and to be woken by it takes longer than its answer.

use std::collections::HashMap;
use std::path::PathBuf;

use sqlx::Sqlite;
use sqlx::query_builder::QueryBuilder;
use sqlx::sqlite::SqliteRow;
use x811_eventlog::{HashTile, ReadError, Record};
use x811_ledger::port::Body;

use super::known::KEPT_TILES;
use super::{MAX_ROWS, tiles};
use crate::sqlite::connect::Database;
use crate::sqlite::data_dir::DataDir;
use crate::sqlite::error::StoreError;
use crate::sqlite::indexes::read_bodies;
use crate::sqlite::log::{WITH_BODIES_COLUMNS, read_records};
use crate::sqlite::packed::{Packed, blob, places};
use crate::sqlite::readers::Readers;

/// What the ledger's tables are called in these questions.
const SCHEMA: &str = "ledger";

/// Readers of both databases.
#[derive(Debug)]
pub(super) struct AtOnce {
    ledger: PathBuf,
    readers: Readers,
}

/// What one question finds.
#[derive(Debug)]
pub(super) struct FoundAtOnce {
    /// Those of the stream in order, then the others.
    pub(super) records: Vec<Record>,
    pub(super) bodies: HashMap<u64, Body>,
    /// Those in which the records of the stream are leaves, the last of them: who asks for a stream is
    /// about to compare its records with the tree, or to prove one.
    pub(super) tiles: Vec<HashTile>,
}

impl AtOnce {
    pub(super) fn new(data_dir: &DataDir, rows: &Database) -> AtOnce {
        let ledger = data_dir.ledger();
        AtOnce {
            readers: rows.readers().attaching(ledger.clone(), SCHEMA),
            ledger,
        }
    }

    /// A stream with the records at `others` and the bodies of all; `None` where there is no ledger
    /// beside the rows, or the two cannot be opened together, as on a read-only file system.
    pub(super) async fn stream(
        &self,
        stream: &str,
        others: &[u64],
        limit: usize,
    ) -> Result<Option<FoundAtOnce>, ReadError> {
        if !self.ledger.exists() {
            return Ok(None);
        }
        match self.ask(question(stream, others, limit)).await {
            Ok(row) => read(&row, stream, others).map(Some),
            Err(StoreError::NotPermitted(_)) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    async fn ask(&self, mut select: QueryBuilder<Sqlite>) -> Result<SqliteRow, StoreError> {
        let mut reader = self.readers.get().await?;
        Ok(select.build().fetch_one(&mut *reader).await?)
    }

    pub(super) async fn close(&self) {
        self.readers.close().await;
    }
}

fn question(stream: &str, others: &[u64], limit: usize) -> QueryBuilder<Sqlite> {
    let mut select = QueryBuilder::new(
        "WITH places AS MATERIALIZED (SELECT position FROM stream_records WHERE stream = ",
    );
    select
        .push_bind(stream)
        .push(" AND stream_seq >= 0 ORDER BY stream_seq LIMIT +")
        .push_bind(limit.min(MAX_ROWS) as i64)
        .push(
            "), leaves AS (SELECT tile AS position, hashes FROM tiles WHERE level = 0 AND tile IN ",
        )
        .push("(SELECT position / 256 FROM places) ORDER BY tile DESC LIMIT +")
        .push_bind(KEPT_TILES as i64)
        .push(") SELECT * FROM (SELECT ")
        .push(WITH_BODIES_COLUMNS)
        .push(
            " FROM ledger.records LEFT JOIN ledger.bodies USING (position) \
             WHERE position IN (SELECT position FROM places",
        );
    for position in others {
        select
            .push(" UNION ALL SELECT ")
            .push_bind(position.cast_signed());
    }
    select
        .push(")) JOIN (SELECT ")
        .push(concat!(places!("hashes"), ", ", blob!("hashes")))
        .push(" FROM leaves)");
    select
}

fn read(row: &SqliteRow, stream: &str, others: &[u64]) -> Result<FoundAtOnce, ReadError> {
    let mut by_position = HashMap::new();
    read_records(row, &mut by_position)?;
    let mut bodies = HashMap::new();
    read_bodies(row, 2, &mut bodies)?;
    let others: Vec<Record> = others
        .iter()
        .filter_map(|position| by_position.remove(position))
        .collect();
    let of_stream = |record: &Record| record.stream() == stream;
    let mut records: Vec<Record> = by_position.into_values().filter(of_stream).collect();
    records.sort_unstable_by_key(Record::stream_seq);
    records.extend(others);
    let leaves = Packed::read(row, 5, "tiles")?;
    let tiles = leaves.iter();
    let tiles = tiles.map(|(index, hashes)| tiles::stored(0, index.cast_signed(), hashes));
    let tiles: Result<Vec<HashTile>, StoreError> = tiles.collect();
    Ok(FoundAtOnce {
        records,
        bodies,
        tiles: tiles?,
    })
}
