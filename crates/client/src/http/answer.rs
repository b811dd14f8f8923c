//! The shapes of the ledger's answers that a client alone needs. Unknown members are ignored: a newer
//! ledger may say more.

use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;
use x811_protocol::answer::Accepted;
use x811_protocol::canonical::to_canonical;
use x811_protocol::digest::Digest;
use x811_protocol::event::Event;
use x811_protocol::time::TimestampMs;

use super::error::ClientError;

/// `GET /api/v1/interactions/{id}/history` and `GET /api/v1/agents/{uuid}/keys`.
#[derive(Debug, Deserialize)]
pub(super) struct History {
    pub(super) records: Vec<HistoryRecord>,
    /// Present while there are more.
    pub(super) next: Option<u64>,
}

/// One record of an interaction.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct HistoryRecord {
    /// Place in the log.
    pub position: u64,
    /// Hash of the record.
    pub record_hash: Digest,
    /// When it was decided.
    pub recorded_at_ms: TimestampMs,
    /// Place in the interaction.
    pub stream_seq: u64,
    /// The leaf (record.md section 1).
    pub leaf: Value,
}

impl HistoryRecord {
    /// The event.
    ///
    /// # Errors
    /// [`ClientError::Untrusted`] when this version does not know it.
    pub fn event(&self) -> Result<Event, ClientError> {
        let event = self.leaf.get("event").unwrap_or(&Value::Null);
        Event::from_value(event).map_err(|error| ClientError::Untrusted {
            cause: format!(
                "record {} holds an event that this version cannot read ({error})",
                self.position
            ),
        })
    }

    /// Holds the record against its own leaf: hash, place and stream.
    pub(super) fn check(&self, stream: &str) -> Result<(), ClientError> {
        let hash = Digest::of_parts(&[&[0], &to_canonical(&self.leaf)]);
        let is = |name: &str, value: Value| self.leaf.get(name) == Some(&value);
        if hash != self.record_hash {
            Err(self.fault("its hash is not that of its leaf"))
        } else if !is("position", self.position.into())
            || !is("stream_seq", self.stream_seq.into())
            || !is("recorded_at_ms", self.recorded_at_ms.as_ms().into())
        {
            Err(self.fault("its leaf says another place or time"))
        } else if !is("stream", stream.into()) {
            Err(self.fault("it belongs somewhere else"))
        } else {
            Ok(())
        }
    }

    /// That this record must not be believed.
    pub(super) fn fault(&self, fault: &str) -> ClientError {
        let position = self.position;
        ClientError::Untrusted {
            cause: format!("record {position}: {fault}"),
        }
    }
}

/// The answer of `GET /api/v1/messages/by-id/{id}`.
#[derive(Debug, Deserialize)]
pub(super) struct StoredMessage {
    pub(super) first: Accepted,
    pub(super) envelope: Option<Box<RawValue>>,
    pub(super) erased_at: Option<u64>,
}

/// The answer of `GET /api/v1/agents/{uuid}/capabilities`.
#[derive(Debug, Deserialize)]
pub(super) struct FoundDescriptor {
    pub(super) position: u64,
    pub(super) envelope: Box<RawValue>,
}
