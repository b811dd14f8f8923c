//! Who a ledger is, and how it is.

use super::written::checksummed;
use crate::did::Did;
use crate::digest::Digest;
use crate::evm::{ChainId, EvmAddress};
use crate::parameters::{FinalBy, PayerBindingRule, Windows};
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

/// Who a ledger is: `GET /.well-known/x811.json`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct LedgerInfo {
    /// DID of the ledger.
    pub did: Did,
    /// Names the log.
    pub log_id: String,
    /// The log's name in checkpoints.
    pub origin: String,
    /// Major versions of the protocol that it speaks (AE-121).
    pub protocol_versions: Vec<String>,
    /// Where payments may be made.
    pub networks: Vec<NetworkInfo>,
    /// How long each message is waited for.
    pub windows: Windows,
    /// Time between looks for a payment, in milliseconds.
    pub looks_ms: [u64; 4],
    /// The key of its checkpoints, as verifiers are given it (C2SP signed-note).
    #[cfg_attr(feature = "openapi", schema(required, nullable = false))]
    pub checkpoint_vkey: Option<String>,
    /// Whether a payer has to be a registered wallet.
    pub payer_binding: PayerBindingRule,
}

impl LedgerInfo {
    /// The network of that name; without a name, the only one there is.
    pub fn network(&self, name: Option<&str>) -> Option<&NetworkInfo> {
        match (name, self.networks.as_slice()) {
            (Some(name), networks) => networks.iter().find(|network| network.name == name),
            (None, [only]) => Some(only),
            (None, _) => None,
        }
    }
}

/// A network that payments may be made on.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = LedgerNetwork))]
pub struct NetworkInfo {
    /// The name a PAYMENT uses.
    pub name: String,
    /// EIP-155 chain id.
    pub chain_id: ChainId,
    /// The USDC contract.
    #[serde(with = "checksummed")]
    pub token: EvmAddress,
    /// Where protocol fees may go.
    #[serde(default, with = "checksummed::option")]
    pub treasury: Option<EvmAddress>,
    /// Blocks at which a transfer counts as confirmed.
    pub confirmed_depth: u64,
    /// Endpoints that must agree before anything is concluded.
    pub endpoint_quorum: Option<u64>,
    /// Condition for *safe* and *final* blocks.
    pub final_by: Option<FinalBy>,
}

/// Whether a ledger takes messages, and what it sees: `GET /ready`.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = ReadyAnswer))]
pub struct Readiness {
    /// Whether it takes messages.
    pub ready: bool,
    /// Why not; absent when it does.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub why: Vec<String>,
    /// What the operator has to look after, though messages are taken.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub attention: Vec<String>,
    /// `alone`, `writer`, or `standby`: one that follows the log, and passes on what it is sent.
    #[cfg_attr(feature = "openapi", schema(required, nullable = false))]
    pub role: Option<String>,
    /// How old the last published head is that a standby knows of.
    pub published_age_ms: Option<u64>,
    /// Who writes and who follows, where the log lies in a database.
    pub store: Option<StoreSight>,
    /// Records in the log.
    #[cfg_attr(feature = "openapi", schema(required, nullable = false))]
    pub size: Option<u64>,
    /// Hash of the last record.
    #[cfg_attr(feature = "openapi", schema(required, nullable = false))]
    pub head_hash: Option<Digest>,
    /// `settled` or `unsettled`.
    #[cfg_attr(feature = "openapi", schema(required, nullable = false))]
    pub clock: Option<String>,
    /// Durable records that its rows for readers do not reflect yet.
    #[cfg_attr(feature = "openapi", schema(required, nullable = false))]
    pub rows_lag: Option<u64>,
    /// How far the log, and what lies beside it, has been read again since the start.
    #[cfg_attr(feature = "openapi", schema(required, nullable = false))]
    pub log_check: Option<LogCheck>,
    /// Records that the last signed checkpoint covers; absent until one was signed since the start.
    pub checkpoint_size: Option<u64>,
    /// How long ago that was; it grows while nothing is recorded.
    pub checkpoint_age_ms: Option<u64>,
    /// Bytes that may still be written on its disk.
    pub free_bytes: Option<u64>,
    /// The version that runs.
    #[cfg_attr(feature = "openapi", schema(required, nullable = false))]
    pub version: Option<String>,
    /// What it sees of each network.
    #[serde(default)]
    #[cfg_attr(feature = "openapi", schema(required))]
    pub networks: Vec<NetworkSight>,
}

/// Who writes to a log in a database, who follows it, and how far.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = StoreAnswer))]
pub struct StoreSight {
    /// Number of the present writer's lease.
    pub epoch: u64,
    /// What that writer calls itself in the database; `null` before there was one.
    #[cfg_attr(feature = "openapi", schema(required))]
    pub holder: Option<String>,
    /// How long ago it renewed its lease.
    pub lease_age_ms: u64,
    /// Records that lie wherever they must.
    pub published: u64,
    /// The database's clock against that of the process that was asked.
    pub clock_ahead_ms: i64,
    /// Processes that follow.
    pub followers: Vec<FollowerSight>,
    /// Standbys of the database.
    pub standbys: Vec<StandbySight>,
}

/// A process that follows the log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = FollowerAnswer))]
pub struct FollowerSight {
    /// Where it listens.
    pub name: String,
    /// Records that it shows.
    pub size: u64,
    /// Published records that it does not show yet.
    pub behind: u64,
    /// How long ago it said so.
    pub seen_ms: u64,
}

/// A standby of the database.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = StandbyAnswer))]
pub struct StandbySight {
    /// What the standby calls itself to the database (`application_name`).
    pub name: String,
    /// `streaming` when all is well; `null` where the ledger may not see it.
    #[cfg_attr(feature = "openapi", schema(required))]
    pub state: Option<String>,
    /// Bytes of the database's log that it has not on disk yet.
    #[cfg_attr(feature = "openapi", schema(required))]
    pub behind_bytes: Option<u64>,
}

/// How far the log, and what lies beside it, has been read again since the start.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = LogCheckAnswer))]
pub struct LogCheck {
    /// `running`, `sound` or `damaged`.
    pub state: String,
    /// Records that were read.
    pub checked: u64,
    /// Records that there were at the start.
    pub of: u64,
}

/// What a ledger sees of one network.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct NetworkSight {
    /// Name of the network.
    pub name: String,
    /// `fresh`, `stale`, `blind` or `unknown`.
    pub sight: String,
    /// Height of the newest block it knows.
    pub head_number: Option<u64>,
    /// Age of that block, in milliseconds.
    pub head_age_ms: Option<u64>,
    /// For how long nothing has been seen, in milliseconds, downtime left out; absent unless it is blind.
    pub blind_ms: Option<u64>,
    /// The RPC endpoints it is watched through; absent for a network that is not watched any more.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub endpoints: Vec<EndpointSight>,
    /// Whether as many of them as must agree carry one head.
    pub agreed: Option<bool>,
    /// Labels of those that give no usable answer.
    pub silent: Option<Vec<String>>,
}

/// How one RPC endpoint of a ledger behaves.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct EndpointSight {
    /// Its configured label.
    pub label: String,
    /// `unknown`, `good`, `lagging`, `failing` or `misfit` (another chain or token).
    pub state: String,
    /// Whether its branch is followed: headers and transfers are asked of it.
    pub leads: bool,
    /// Height of the newest block it named.
    pub head_number: Option<u64>,
    /// Age of that block, in milliseconds.
    pub head_age_ms: Option<u64>,
    /// Times it gave no usable answer.
    pub failures: u64,
    /// Transactions of which it said something else than another endpoint.
    pub disagreements: u64,
    /// Why it last failed.
    pub last_error: Option<String>,
}
