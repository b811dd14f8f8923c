//! What is stored, as it goes out: leaves and envelopes byte for byte.

mod envelope_parts;

pub(crate) use envelope_parts::EnvelopeParts;

use crate::app::App;
use crate::error::ApiError;
use serde::Serialize;
use serde_json::value::RawValue;
use utoipa::ToSchema;
use x811_eventlog::{Hash, Record};
use x811_ledger::clock::Clock;
use x811_ledger::port::LedgerStore as _;
use x811_ledger::whole;
use x811_protocol::digest::Digest;
use x811_protocol::event::Event;

/// A record of a history, as it is stored.
#[derive(Serialize, ToSchema)]
pub(crate) struct HistoryRecord {
    /// Place in the log.
    position: u64,
    /// SHA-256(0x00 ‖ leaf).
    #[schema(value_type = Digest)]
    record_hash: Hash,
    /// ms since the Unix epoch.
    recorded_at_ms: u64,
    /// Place in its stream.
    pub(crate) stream_seq: u64,
    /// The leaf as it is stored.
    #[schema(value_type = Object)]
    leaf: Box<RawValue>,
}

impl HistoryRecord {
    /// How `record` goes out.
    pub(crate) fn of(record: &Record) -> Result<HistoryRecord, ApiError> {
        Ok(HistoryRecord {
            position: record.position(),
            record_hash: record.hash(),
            recorded_at_ms: record.recorded_at_ms(),
            stream_seq: record.stream_seq(),
            leaf: leaf(record)?,
        })
    }
}

/// The record at `position`, which has to exist, as it was appended.
pub(crate) async fn record<C: Clock>(app: &App<C>, position: u64) -> Result<Record, ApiError> {
    let head = app.ledger.world().head();
    let record = whole::record(app.ledger.store().log(), position, head).await?;
    record.ok_or_else(|| ApiError::damaged(position))
}

/// The records at `positions`, which the rows name as those of `stream` from place `from_seq` on.
pub(crate) async fn records_of<C: Clock>(
    app: &App<C>,
    stream: &str,
    from_seq: u64,
    positions: &[u64],
) -> Result<Vec<Record>, ApiError> {
    let mut records = Vec::with_capacity(positions.len());
    for (seq, position) in (from_seq..).zip(positions) {
        let record = record(app, *position).await?;
        // The rows are not believed: one that lost a record would pass for a shorter history.
        if record.stream() != stream || record.stream_seq() != seq {
            return Err(ApiError::damaged(*position));
        }
        records.push(record);
    }
    Ok(records)
}

/// The event of the record, read.
pub(crate) fn event(record: &Record) -> Result<Event, ApiError> {
    Event::from_json(record.event_json()).map_err(|_| ApiError::damaged(record.position()))
}

/// The leaf of a record.
fn leaf(record: &Record) -> Result<Box<RawValue>, ApiError> {
    verbatim(record.bytes().to_vec()).ok_or_else(|| ApiError::damaged(record.position()))
}

/// Bytes of JSON that go out as they are.
fn verbatim(json: Vec<u8>) -> Option<Box<RawValue>> {
    let text = String::from_utf8(json).ok()?;
    RawValue::from_string(text).ok()
}
