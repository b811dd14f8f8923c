//! The tables of the read model: how a row is written and read back.

use sqlx::Row as _;
use sqlx::sqlite::SqliteRow;
use uuid::Uuid;
use x811_ledger::port::Stretch;
use x811_protocol::did::Did;
use x811_protocol::digest::Digest;
use x811_protocol::id::{EnvelopeId, InteractionId};
use x811_protocol::money::MicroUsdc;
use x811_protocol::time::TimestampMs;
use x811_world::row::{DeliveryRow, InteractionRow, StreamRow};

use crate::sqlite::error::{StoreError, UniqueKey};
use crate::sqlite::insert::{Row, Statements, Table};
use crate::sqlite::packed::{Packed, blob, places};
use crate::sqlite::row_name::named;

pub(super) static INTERACTIONS: Table<InteractionRow<String>> = Table {
    into: "interactions (id, initiator, provider, state, total_micro_usdc, \
             deadline_at_ms, opened_at_ms, updated_at_ms, last_position, detail, sum)",
    columns: 11,
    on_conflict: " ON CONFLICT (id) DO UPDATE SET initiator = excluded.initiator, \
                  provider = excluded.provider, state = excluded.state, \
                  total_micro_usdc = excluded.total_micro_usdc, \
                  deadline_at_ms = excluded.deadline_at_ms, \
                  opened_at_ms = excluded.opened_at_ms, updated_at_ms = excluded.updated_at_ms, \
                  last_position = excluded.last_position, detail = excluded.detail, sum = excluded.sum",
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
     updated_at_ms, last_position, detail, sum FROM interactions WHERE id = ?";

pub(super) const SELECT_INTERACTIONS: &str = "SELECT id, initiator, provider, state, total_micro_usdc, deadline_at_ms, opened_at_ms, \
     updated_at_ms, last_position, detail, sum FROM interactions WHERE id > ? ORDER BY id LIMIT +?";

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

/// An interaction as its row has it.
struct Columns<'a> {
    /// Id, initiator and provider.
    uuids: [&'a [u8]; 3],
    state: &'a str,
    total_micro_usdc: Option<i64>,
    deadline_at_ms: Option<i64>,
    /// When it was opened and updated, and its last position.
    numbers: [i64; 3],
    detail: &'a str,
}

impl Columns<'_> {
    /// Sixteen bytes of SHA-256 over all of them, each of its own length or behind it.
    fn sum(&self) -> [u8; 16] {
        let number = |number: i64| number.to_be_bytes();
        let optional = |value: Option<i64>| {
            [
                number(i64::from(value.is_some())),
                number(value.unwrap_or_default()),
            ]
            .concat()
        };
        let [id, initiator, provider] = self.uuids;
        let digest = Digest::of_parts(&[
            id,
            initiator,
            provider,
            &optional(self.total_micro_usdc),
            &optional(self.deadline_at_ms),
            &self.numbers.map(number).concat(),
            &self.state.len().to_be_bytes(),
            self.state.as_bytes(),
            self.detail.as_bytes(),
        ]);
        let bytes = digest.as_bytes();
        std::array::from_fn(|at| bytes[at])
    }
}

fn bind_interaction(row: &mut Row, interaction: &InteractionRow<String>) {
    let optional_ms = |at: Option<TimestampMs>| at.map(|at| at.as_ms().cast_signed());
    let id = interaction_key(interaction.id);
    let (initiator, provider) = (interaction.initiator.uuid(), interaction.provider.uuid());
    let total = interaction.total;
    let columns = Columns {
        uuids: [&id, initiator.as_bytes(), provider.as_bytes()],
        state: &interaction.state,
        total_micro_usdc: total.map(|total| total.as_micro_usdc().cast_signed()),
        deadline_at_ms: optional_ms(interaction.deadline_at_ms),
        numbers: [
            interaction.opened_at_ms.as_ms().cast_signed(),
            interaction.updated_at_ms.as_ms().cast_signed(),
            interaction.last_position.cast_signed(),
        ],
        detail: &interaction.detail,
    };
    let sum = columns.sum();
    for uuid in columns.uuids {
        row.push_bind(uuid);
    }
    row.push_bind(columns.state)
        .push_bind(columns.total_micro_usdc)
        .push_bind(columns.deadline_at_ms);
    for number in columns.numbers {
        row.push_bind(number);
    }
    row.push_bind(columns.detail).push_bind(&sum[..]);
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
    read_columns(row).map_err(|error| error.of_row("interactions", || named(row, 0..1)))
}

fn read_columns(row: &SqliteRow) -> Result<InteractionRow, StoreError> {
    let bad = |what: &str| bad_value("interactions", what);
    let columns = columns(row)?;
    if row.try_get::<&[u8], _>(10)? != columns.sum() {
        return Err(bad("a row that is not as it was written"));
    }
    let at = |at_ms: i64| TimestampMs::new(at_ms.cast_unsigned());
    let [id, initiator, provider] = columns.uuids;
    let [opened_at_ms, updated_at_ms, last_position] = columns.numbers;
    let total = columns.total_micro_usdc;
    let total = total.map(|total| MicroUsdc::from_micro_usdc(total.cast_unsigned()));
    Ok(InteractionRow {
        id: id_of(id)
            .map(InteractionId::from)
            .ok_or_else(|| bad("an id that is none"))?,
        initiator: did(initiator).ok_or_else(|| bad("an initiator that is no DID"))?,
        provider: did(provider).ok_or_else(|| bad("a provider that is no DID"))?,
        state: columns.state.to_owned(),
        total: total.transpose().map_err(|_| bad("an impossible amount"))?,
        deadline_at_ms: columns.deadline_at_ms.map(at),
        opened_at_ms: at(opened_at_ms),
        updated_at_ms: at(updated_at_ms),
        last_position: last_position.cast_unsigned(),
        detail: serde_json::from_str(columns.detail)
            .map_err(|_| bad("a detail that is no JSON"))?,
    })
}

fn columns(row: &SqliteRow) -> Result<Columns<'_>, StoreError> {
    Ok(Columns {
        uuids: [row.try_get(0)?, row.try_get(1)?, row.try_get(2)?],
        state: row.try_get(3)?,
        total_micro_usdc: row.try_get(4)?,
        deadline_at_ms: row.try_get(5)?,
        numbers: [row.try_get(6)?, row.try_get(7)?, row.try_get(8)?],
        detail: row.try_get(9)?,
    })
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

fn did(bytes: &[u8]) -> Option<Did> {
    Did::from_uuid(Uuid::from_slice(bytes).ok()?).ok()
}

fn bad_value(table: &'static str, what: &str) -> StoreError {
    StoreError::BadValue {
        table,
        what: what.to_owned(),
    }
}
