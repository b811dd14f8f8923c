//! Who there is, what an agent has earned, and what it answers for.

use super::written::checksummed;
use crate::did::Did;
use crate::digest::Digest;
use crate::evm::EvmAddress;
use crate::key::AgentKey;
use crate::time::TimestampMs;
use crate::trust::TrustCounters;
use crate::wallet::WalletKind;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

/// What is registered of an agent: `GET /api/v1/agents/{uuid}`.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = AgentAnswer))]
pub struct Agent {
    /// DID of the agent.
    pub did: Did,
    /// Whether it may act.
    pub status: AgentStatus,
    /// Past it the DID counts as expired; absent when it does not expire.
    pub expires_at_ms: Option<TimestampMs>,
    /// Task types it offers.
    #[cfg_attr(feature = "openapi", schema(max_items = 64))]
    pub capabilities: Vec<String>,
    /// The accounts that are its own.
    #[cfg_attr(feature = "openapi", schema(max_items = 8))]
    pub wallets: Vec<BoundWallet>,
    /// Its keys and what each signs.
    #[cfg_attr(feature = "openapi", schema(max_items = 8))]
    pub keys: Vec<AgentKey>,
    /// When it registered.
    pub registered_at_ms: TimestampMs,
    /// Where its registration stands in the log.
    pub position: u64,
}

/// Whether a DID may act (AX-31).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub enum AgentStatus {
    /// It may send messages.
    Active,
    /// It asked to be left out for a while.
    Deactivated,
    /// It is active but past the expiry that it registered.
    Expired,
    /// It never comes back.
    Revoked,
}

impl AgentStatus {
    /// The word shown.
    pub const fn as_str(self) -> &'static str {
        match self {
            AgentStatus::Active => "active",
            AgentStatus::Deactivated => "deactivated",
            AgentStatus::Expired => "expired",
            AgentStatus::Revoked => "revoked",
        }
    }
}

/// An account that belongs to an agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = RegisteredWallet))]
pub struct BoundWallet {
    /// Address of the account, with its checksum (EIP-55).
    #[serde(with = "checksummed")]
    pub address: EvmAddress,
    /// What kind of account it is.
    pub kind: WalletKind,
}

/// An agent that may act.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct FoundAgent {
    /// DID of the agent.
    pub did: Did,
    /// Place of its registration in the log.
    pub position: u64,
    /// Task types it offers, in the order of their names.
    #[cfg_attr(feature = "openapi", schema(max_items = 64))]
    pub capabilities: Vec<String>,
    /// Whether it is there, as far as the server knows.
    pub availability: Availability,
    /// What it has earned.
    pub trust: TrustShown,
}

/// Whether an agent is there, as far as the server knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub enum Availability {
    /// It said so, and that is still good.
    Online,
    /// The same, and that it has much to do. It may be addressed.
    Busy,
    /// Its last heartbeat is good no more.
    Offline,
    /// It never sent one to this process.
    Unknown,
}

impl Availability {
    /// As queries and answers write it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Availability::Online => "online",
            Availability::Busy => "busy",
            Availability::Offline => "offline",
            Availability::Unknown => "unknown",
        }
    }
}

/// A score, and always beside it what it was made of, and how much of that may be made up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = TrustMembers))]
pub struct TrustShown {
    /// 0 to 100; 50 without history.
    #[cfg_attr(feature = "openapi", schema(maximum = 100))]
    pub score_hundredths: u8,
    /// Successes: how many interactions ended well.
    pub s: u32,
    /// Failures: how many ended because its RESULT or VERIFY did not come in time.
    pub f: u32,
    /// Disputes: how many ended in a dispute that counts against it.
    pub d: u32,
    /// Those of `d` that rest on the word of the other party alone.
    pub contested: u32,
    /// Accounts that confirmed payments to it came from; 1,000 are 1,000 or more.
    #[cfg_attr(feature = "openapi", schema(maximum = 1_000))]
    pub distinct_payers: u64,
}

impl TrustShown {
    /// What these counters say.
    pub fn of(trust: TrustCounters, distinct_payers: u64) -> TrustShown {
        TrustShown {
            score_hundredths: trust.score_hundredths(),
            s: trust.s,
            f: trust.f,
            d: trust.d,
            contested: trust.contested,
            distinct_payers,
        }
    }
}

/// Breaches of agreements that an agent answers for: `GET /api/v1/agents/{uuid}/conduct`.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = ConductAnswer))]
pub struct Conduct {
    /// The agent that answers for them.
    pub agent_id: Did,
    /// How many were recorded.
    pub breaches: u64,
    /// Positions of those that count towards an exclusion.
    #[cfg_attr(feature = "openapi", schema(max_items = 64))]
    pub counted: Vec<u64>,
    /// Whether it is excluded from new sessions and rounds now.
    pub is_excluded: bool,
    /// The last exclusion; absent when there was none.
    pub exclusion: Option<Exclusion>,
    /// Position of the last record; absent when there is none.
    pub last_position: Option<u64>,
}

/// An exclusion from new sessions and rounds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = ExclusionShown))]
pub struct Exclusion {
    /// Whether an operator lifted it.
    pub is_lifted: bool,
    /// Position of its record.
    pub position: u64,
    /// It holds before this moment.
    pub until_ms: TimestampMs,
}

/// That an exclusion holds no longer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = LiftedAnswer))]
pub struct Lifted {
    /// Who may open sessions again.
    pub agent_id: Did,
    /// Position of the `excluded` that holds no longer.
    pub excluded: u64,
    /// Place of the record that says so.
    pub position: u64,
    /// Hash of that record.
    pub record_hash: Digest,
}
