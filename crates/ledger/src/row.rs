//! The rows of the read model and how they change: what `store` writes and `server` reads.

use serde_json::Value;
use x811_eventlog::Hash;
use x811_protocol::did::Did;
use x811_protocol::id::{EnvelopeId, InteractionId};
use x811_protocol::money::MicroUsdc;
use x811_protocol::time::TimestampMs;

/// One interaction as a person or a program wants to see it.
#[derive(Debug, Clone, PartialEq)]
pub struct InteractionRow {
    /// Envelope id of its REQUEST.
    pub id: InteractionId,
    /// Who asked.
    pub initiator: Did,
    /// Who was asked.
    pub provider: Did,
    /// One of the ten state names of AE-9.
    pub state: String,
    /// What is to be paid in all; absent before an OFFER.
    pub total: Option<MicroUsdc>,
    /// End of the window that is open; absent when none is.
    pub deadline_at_ms: Option<TimestampMs>,
    /// When its REQUEST was recorded.
    pub opened_at_ms: TimestampMs,
    /// When its last record was recorded.
    pub updated_at_ms: TimestampMs,
    /// Position of its last record.
    pub last_position: u64,
    /// Everything else that is shown, as one JSON object.
    pub detail: Value,
}

/// An envelope on its way to somebody.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DeliveryRow {
    /// To whom.
    pub recipient: Did,
    /// Position of the record that carries it.
    pub position: u64,
    /// Its id.
    pub envelope_id: EnvelopeId,
}

/// One change of the read model.
#[derive(Debug, Clone, PartialEq)]
pub enum RowChange {
    /// Insert or replace by id.
    Interaction(Box<InteractionRow>),
    /// Insert.
    Delivery(DeliveryRow),
    /// Insert: the place of a record in its stream.
    StreamRecord {
        /// Stream name.
        stream: String,
        /// Place in it.
        stream_seq: u64,
        /// Place in the log.
        position: u64,
    },
    /// Append to the tree's tiles: the hash of a record. They come in order, without gaps.
    Leaf {
        /// Place in the log.
        position: u64,
        /// Its record hash.
        hash: Hash,
    },
}
