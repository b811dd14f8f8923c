//! Events of the `ledger`, `network:<name>` and `roots` streams.

use crate::did::Did;
use crate::digest::Digest;
use crate::key::PublicKey;
use crate::observation::{BlindCause, Block};
use crate::signature::Signature;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

/// Position 0: who this ledger is (record.md section 2).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LedgerOpened {
    /// UUIDv7 of the log.
    pub log_id: Uuid,
    /// The ledger's own DID.
    pub did: Did,
    /// The checkpoint's name, fixed for ever.
    pub origin: String,
    /// The three server keys.
    pub keys: LedgerKeys,
    /// Record format.
    pub format: u64,
    /// Decision rules in force.
    pub rules_version: u64,
}

/// The three separate server keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LedgerKeys {
    /// Signs notices.
    pub envelope: PublicKey,
    /// Signs checkpoints.
    pub checkpoint: PublicKey,
    /// Signs receipts.
    pub receipt: PublicKey,
}

/// `rules_changed`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RulesChanged {
    /// The rules from here on.
    pub rules_version: u64,
}

/// Which server key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LedgerRole {
    /// Signs notices.
    Envelope,
    /// Signs checkpoints.
    Checkpoint,
    /// Signs receipts.
    Receipt,
}

/// `ledger_key_rotated`, with a proof by the old key (ledger-contract.md section 4).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LedgerKeyRotated {
    /// Which key.
    pub role: LedgerRole,
    /// The key that ends.
    pub old_key: PublicKey,
    /// The key that begins.
    pub new_key: PublicKey,
    /// By the old key.
    pub proof: Signature,
}

/// `ledger_resumed`: every live ledger window moves by the gap.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LedgerResumed {
    /// How long the ledger was away.
    pub gap_ms: u64,
}

/// `bodies_erased`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BodiesErased {
    /// Records whose bodies are gone, at most 256.
    pub positions: Vec<u64>,
    /// Who ordered it.
    pub operator: Did,
    /// Why, at most 32 characters.
    pub reason_code: String,
}

/// `network_blind`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NetworkBlind {
    /// Why nothing can be seen.
    pub cause: BlindCause,
    /// The last head that was seen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub head: Option<Block>,
}

/// `network_sighted`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NetworkSighted {
    /// The fresh head.
    pub head: Block,
    /// How long nothing was seen, net of downtime.
    pub blind_ms: u64,
}

/// `state_root`, every 1,000 records.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StateRoot {
    /// The record it covers up to.
    pub position: u64,
    /// Running root.
    pub root: Digest,
    /// Version of the state's form.
    pub schema: u64,
}
