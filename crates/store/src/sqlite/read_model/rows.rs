//! Rows of deliveries and streams: how they are written and read back.

use sqlx::Row as _;
use sqlx::sqlite::SqliteRow;
use uuid::Uuid;
use x811_ledger::port::Stretch;
use x811_protocol::did::Did;
use x811_protocol::id::EnvelopeId;
use x811_world::row::{DeliveryRow, StreamRow};

use crate::sqlite::error::{StoreError, UniqueKey};
use crate::sqlite::insert::{Row, Statements, Table};
use crate::sqlite::packed::{Packed, blob, places};
use crate::sqlite::row_name::named;

pub(super) static DELIVERIES: Table<DeliveryRow> = Table {
    into: "deliveries (recipient, position, envelope_id)",
    columns: 3,
    on_conflict: "",
    key: UniqueKey::Delivery,
    bind: bind_delivery,
    statements: Statements::new(),
};

pub(super) static STREAM_RECORDS: Table<StreamRow> = Table {
    into: "stream_records (stream, stream_seq, position)",
    columns: 3,
    on_conflict: "",
    key: UniqueKey::StreamPlace,
    bind: bind_stream_record,
    statements: Statements::new(),
};

/// Packed: a row costs more than what it says.
pub(super) const SELECT_DELIVERIES: &str = concat!(
    "SELECT ",
    places!("envelope_id"),
    ", ",
    blob!("envelope_id"),
    " FROM (SELECT position, envelope_id FROM deliveries \
     WHERE recipient = ? AND position >= ? ORDER BY position LIMIT +?)",
);

pub(super) const SELECT_STREAM_POSITIONS: &str = "SELECT position FROM stream_records \
     WHERE stream = ? AND stream_seq >= ? ORDER BY stream_seq LIMIT +?";

/// One row for each stream of the page: a row for each record costs more than what it says.
pub(super) const SELECT_STRETCHES: &str = "SELECT stream, max(stream_seq), \
     group_concat(position, ' ' ORDER BY stream_seq) \
     FROM (SELECT stream, stream_seq, position FROM stream_records \
     WHERE (stream, stream_seq) > (?, ?) AND stream_seq >= 0 \
     ORDER BY stream, stream_seq LIMIT +?) \
     GROUP BY stream ORDER BY stream";

fn bind_delivery(row: &mut Row, delivery: &DeliveryRow) {
    row.push_bind(delivery.recipient.uuid().as_bytes().as_slice())
        .push_bind(delivery.position.cast_signed())
        .push_bind(delivery.envelope_id.uuid().as_bytes().as_slice());
}

fn bind_stream_record(row: &mut Row, record: &StreamRow) {
    row.push_bind(&*record.stream)
        .push_bind(record.stream_seq.cast_signed())
        .push_bind(record.position.cast_signed());
}

/// Deliveries to `recipient` that lie in one row.
pub(super) fn read_deliveries(
    recipient: Did,
    row: &SqliteRow,
) -> Result<Vec<DeliveryRow>, StoreError> {
    let of_recipient = |error: StoreError| error.of_row("deliveries", || format!("of {recipient}"));
    let packed = Packed::read(row, 0, "deliveries").map_err(of_recipient)?;
    let delivery = |(position, id)| {
        let bad = || bad_value("deliveries", "an envelope id that is none");
        let envelope_id = id_of(id).ok_or_else(bad);
        Ok(DeliveryRow {
            recipient,
            position,
            envelope_id: envelope_id.map_err(|error| {
                error.of_row("deliveries", || format!("{recipient} {position}"))
            })?,
        })
    };
    packed.iter().map(delivery).collect()
}

pub(super) fn read_stretch(row: &SqliteRow) -> Result<Stretch, StoreError> {
    read_listed(row).map_err(|error| error.of_row("stream_records", || named(row, 0..2)))
}

fn read_listed(row: &SqliteRow) -> Result<Stretch, StoreError> {
    let positions = row.try_get::<&str, _>(2)?.split(' ');
    let positions: Result<Vec<i64>, _> = positions.map(str::parse).collect();
    let positions =
        positions.map_err(|_| bad_value("stream_records", "a position that is no integer"))?;
    Ok(Stretch {
        stream: row.try_get(0)?,
        last_seq: row.try_get::<i64, _>(1)?.cast_unsigned(),
        positions: positions.into_iter().map(i64::cast_unsigned).collect(),
    })
}

fn id_of(bytes: &[u8]) -> Option<EnvelopeId> {
    EnvelopeId::from_uuid(Uuid::from_slice(bytes).ok()?).ok()
}

fn bad_value(table: &'static str, what: &str) -> StoreError {
    StoreError::BadValue {
        table,
        what: what.to_owned(),
    }
}
