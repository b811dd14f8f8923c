//! Rows and records in one question, where both databases lie in one directory: to wake a thread of
//! a database and to be woken by it takes longer than its answer.

use std::collections::HashMap;
use std::path::PathBuf;

use sqlx::query_builder::QueryBuilder;
use sqlx::sqlite::SqliteRow;
use sqlx::{Row as _, Sqlite};
use x811_eventlog::{HashTile, ReadError, Record};
use x811_ledger::port::Body;

use super::{MAX_ROWS, tiles};
use crate::sqlite::connect::Database;
use crate::sqlite::data_dir::DataDir;
use crate::sqlite::error::StoreError;
use crate::sqlite::indexes::read_bodies;
use crate::sqlite::log::{WITH_BODIES_COLUMNS, read_records};
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
pub(super) struct Found {
    /// Those of the stream in order, then the others.
    pub(super) records: Vec<Record>,
    pub(super) bodies: HashMap<u64, Body>,
    /// The one in which the last record of the stream is a leaf: who asks for a stream is about to
    /// prove something near its end.
    pub(super) tile: Option<HashTile>,
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
    /// beside the rows.
    pub(super) async fn stream(
        &self,
        stream: &str,
        others: &[u64],
        limit: usize,
    ) -> Result<Option<Found>, ReadError> {
        if !self.ledger.exists() {
            return Ok(None);
        }
        let mut select = question(stream, others, limit);
        let mut reader = self.readers.get().await?;
        let row = select.build().fetch_one(&mut *reader).await;
        drop(reader);
        read(&row.map_err(StoreError::from)?, stream, others).map(Some)
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
        .push("), last AS MATERIALIZED (SELECT max(position) / 256 AS tile FROM places) SELECT ")
        .push(WITH_BODIES_COLUMNS)
        .push(
            ", (SELECT tile FROM last), \
             (SELECT hashes FROM tiles WHERE level = 0 AND tile = (SELECT tile FROM last)) \
             FROM ledger.records LEFT JOIN ledger.bodies USING (position) \
             WHERE position IN (SELECT position FROM places",
        );
    for position in others {
        select
            .push(" UNION ALL SELECT ")
            .push_bind(position.cast_signed());
    }
    select.push(")");
    select
}

fn read(row: &SqliteRow, stream: &str, others: &[u64]) -> Result<Found, ReadError> {
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
    let (tile, hashes): (Option<i64>, Option<&[u8]>) = (row.get(5), row.get(6));
    let tile = tile
        .zip(hashes)
        .map(|(index, hashes)| tiles::stored(0, index, hashes));
    Ok(Found {
        records,
        bodies,
        tile: tile.transpose()?,
    })
}
