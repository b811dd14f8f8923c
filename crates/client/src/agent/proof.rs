//! Proofs that what was acknowledged is in the log (`.tlog-proof`, transparency-log.md).
//!
//! The 202 of a ledger is unsigned: it could take a RESULT and record its lapse. So a loop fetches
//! the proof of each record that binds somebody from the next checkpoint, and keeps it.

use serde::{Deserialize, Serialize};
use x811_protocol::digest::Digest;
use x811_protocol::id::{EnvelopeId, InteractionId};
use x811_protocol::time::TimestampMs;

use super::outbox::Act;

/// How long a proof may be missing before a person is told, in milliseconds.
pub(crate) const ALARM_AFTER_MS: u64 = 60_000;

/// Between one try and the next, in milliseconds.
pub(crate) const RETRY_MS: u64 = 5_000;

/// A proof that is to be fetched.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProofDue {
    /// Of which interaction.
    pub interaction: InteractionId,
    /// Of which message.
    pub act: Act,
    /// The envelope that the record must hold.
    pub envelope_id: EnvelopeId,
    /// SHA-256 of the envelope's body, which the record must hold too.
    pub digest: Digest,
    /// Where the ledger said the record is.
    pub position: u64,
    /// What the ledger said its hash is.
    pub record_hash: Digest,
    /// When it was acknowledged.
    pub since_ms: TimestampMs,
    /// The next try.
    pub try_at_ms: TimestampMs,
    /// Whether a person was told.
    #[serde(default)]
    pub is_alarmed: bool,
}

impl ProofDue {
    /// The name of the file it is kept in.
    pub fn file_name(&self) -> String {
        format!("{}-{}.tlog-proof", self.interaction, self.act.as_str())
    }

    /// Whether it is time to tell a person.
    pub fn is_overdue(&self, now: TimestampMs) -> bool {
        !self.is_alarmed && now.since(self.since_ms) >= ALARM_AFTER_MS
    }
}

/// Holds a proof file against what it must prove; the caller's part, because the log's format is not
/// this crate's business.
pub type ProofCheck = dyn Fn(&ProofDue, &str) -> Result<(), String> + Send + Sync;
