//! The tables of the read model: how a row is written and read back.

use sqlx::Row as _;
use sqlx::sqlite::SqliteRow;
use uuid::Uuid;
use x811_ledger::port::Stretch;
use x811_ledger::row::{DeliveryRow, InteractionRow, StreamRow};
use x811_protocol::did::Did;
use x811_protocol::id::{EnvelopeId, InteractionId};
use x811_protocol::money::MicroUsdc;
use x811_protocol::time::TimestampMs;

use crate::sqlite::error::{StoreError, UniqueKey};
use crate::sqlite::insert::{Row, Statements, Table};
use crate::sqlite::packed::{Packed, blob, places};
pub(super) static INTERACTIONS: Table<InteractionRow<String>> = Table {
    into: "interactions (id, initiator, provider, state, total_micro_usdc, \
             deadline_at_ms, opened_at_ms, updated_at_ms, last_position, detail)",
    columns: 10,
    on_conflict: " ON CONFLICT (id) DO UPDATE SET initiator = excluded.initiator, \
                  provider = excluded.provider, state = excluded.state, \
                  total_micro_usdc = excluded.total_micro_usdc, \
                  deadline_at_ms = excluded.deadline_at_ms, \
                  opened_at_ms = excluded.opened_at_ms, updated_at_ms = excluded.updated_at_ms, \
                  last_position = excluded.last_position, detail = excluded.detail",
    key: UniqueKey::EnvelopeId,
    bind: bind_interaction,
    statements: Statements::new(),
};

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

pub(super) const SELECT_INTERACTION: &str = "SELECT id, initiator, provider, state, total_micro_usdc, deadline_at_ms, opened_at_ms, \
     updated_at_ms, last_position, detail FROM interactions WHERE id = ?";

pub(super) const SELECT_INTERACTIONS: &str = "SELECT id, initiator, provider, state, total_micro_usdc, deadline_at_ms, opened_at_ms, \
     updated_at_ms, last_position, detail FROM interactions WHERE id > ? ORDER BY id LIMIT +?";

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

/// The key of an interaction's row: UUID bytes, whose order is the order of ids.
pub(super) fn interaction_key(id: InteractionId) -> Vec<u8> {
    id.request_id().uuid().into_bytes().to_vec()
}

fn bind_interaction(row: &mut Row, interaction: &InteractionRow<String>) {
    let optional_ms = |at: Option<TimestampMs>| at.map(|at| at.as_ms().cast_signed());
    row.push_bind(interaction_key(interaction.id))
        .push_bind(interaction.initiator.uuid().as_bytes().as_slice())
        .push_bind(interaction.provider.uuid().as_bytes().as_slice())
        .push_bind(&*interaction.state)
        .push_bind(
            interaction
                .total
                .map(|total| total.as_micro_usdc().cast_signed()),
        )
        .push_bind(optional_ms(interaction.deadline_at_ms))
        .push_bind(interaction.opened_at_ms.as_ms().cast_signed())
        .push_bind(interaction.updated_at_ms.as_ms().cast_signed())
        .push_bind(interaction.last_position.cast_signed())
        .push_bind(&*interaction.detail);
}

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

pub(super) fn read_interaction(row: &SqliteRow) -> Result<InteractionRow, StoreError> {
    let bad = |what: &str| bad_value("interactions", what);
    let unsigned = |column| row.get::<i64, _>(column).cast_unsigned();
    let total = row
        .get::<Option<i64>, _>(4)
        .map(|total| MicroUsdc::from_micro_usdc(total.cast_unsigned()))
        .transpose()
        .map_err(|_| bad("an impossible amount"))?;
    Ok(InteractionRow {
        id: envelope_id(row, 0)
            .map(InteractionId::from)
            .ok_or_else(|| bad("an id that is none"))?,
        initiator: did(row, 1).ok_or_else(|| bad("an initiator that is no DID"))?,
        provider: did(row, 2).ok_or_else(|| bad("a provider that is no DID"))?,
        state: row.get(3),
        total,
        deadline_at_ms: row
            .get::<Option<i64>, _>(5)
            .map(|at_ms| TimestampMs::new(at_ms.cast_unsigned())),
        opened_at_ms: TimestampMs::new(unsigned(6)),
        updated_at_ms: TimestampMs::new(unsigned(7)),
        last_position: unsigned(8),
        detail: serde_json::from_str(row.get(9)).map_err(|_| bad("a detail that is no JSON"))?,
    })
}

/// Deliveries to `recipient` that lie in one row.
pub(super) fn read_deliveries(
    recipient: Did,
    row: &SqliteRow,
) -> Result<Vec<DeliveryRow>, StoreError> {
    let packed = Packed::read(row, 0, "deliveries")?;
    let delivery = |(position, id)| {
        Ok(DeliveryRow {
            recipient,
            position,
            envelope_id: id_of(id)
                .ok_or_else(|| bad_value("deliveries", "an envelope id that is none"))?,
        })
    };
    packed.iter().map(delivery).collect()
}

pub(super) fn read_stretch(row: &SqliteRow) -> Result<Stretch, StoreError> {
    let positions = row.get::<&str, _>(2).split(' ');
    let positions: Result<Vec<i64>, _> = positions.map(str::parse).collect();
    let positions =
        positions.map_err(|_| bad_value("stream_records", "a position that is no integer"))?;
    Ok(Stretch {
        stream: row.get(0),
        last_seq: row.get::<i64, _>(1).cast_unsigned(),
        positions: positions.into_iter().map(i64::cast_unsigned).collect(),
    })
}

fn envelope_id(row: &SqliteRow, column: usize) -> Option<EnvelopeId> {
    id_of(row.get(column))
}

fn id_of(bytes: &[u8]) -> Option<EnvelopeId> {
    EnvelopeId::from_uuid(Uuid::from_slice(bytes).ok()?).ok()
}

fn did(row: &SqliteRow, column: usize) -> Option<Did> {
    Did::from_uuid(Uuid::from_slice(row.get(column)).ok()?).ok()
}

fn bad_value(table: &'static str, what: &str) -> StoreError {
    StoreError::BadValue {
        table,
        what: what.to_owned(),
    }
}
