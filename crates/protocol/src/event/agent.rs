//! Events of the `agent:<did>` streams: identity only.

use super::group::event_group;
use crate::digest::Digest;
use crate::envelope::AcceptedHeader;
use crate::evm::EvmAddress;
use crate::key::{AgentKey, PublicKey};
use crate::signature::Signature;
use crate::time::TimestampMs;
use crate::wallet::Wallet;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

event_group! {
    /// Who an agent is, and whether it takes part.
    #[expect(
        clippy::large_enum_variant,
        reason = "its place is in `Event`, which holds the largest of all groups"
    )]
    AgentEvent {
        /// A DID, its keys, wallets and capabilities.
        "agent_registered" => Registered(AgentRegistered),
        /// Other wallets or capabilities.
        "agent_updated" => Updated(AgentUpdated),
        /// One key replaced by another.
        "key_rotated" => KeyRotated(KeyRotated),
        /// The DID may come back.
        "agent_deactivated" => Deactivated(AgentStatusChanged),
        /// The DID is back.
        "agent_reactivated" => Reactivated(AgentStatusChanged),
        /// The DID never comes back.
        "agent_revoked" => Revoked(AgentStatusChanged),
    }
}

impl AgentEvent {
    /// The envelope that said it.
    pub const fn envelope(&self) -> &AcceptedHeader {
        match self {
            AgentEvent::Registered(registered) => &registered.envelope,
            AgentEvent::Updated(updated) => &updated.envelope,
            AgentEvent::KeyRotated(rotated) => &rotated.envelope,
            AgentEvent::Deactivated(changed)
            | AgentEvent::Reactivated(changed)
            | AgentEvent::Revoked(changed) => &changed.envelope,
        }
    }
}

/// `agent_registered` (record.md section 4, ledger-contract.md section 4).
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AgentRegistered {
    /// The document's keys, at most 8, each with its profile.
    pub keys: Vec<AgentKey>,
    /// Accounts bound to the DID, at most 8.
    pub wallets: Vec<Wallet>,
    /// Task types the agent offers, at most 64.
    pub capabilities: Vec<String>,
    /// SHA-256 of the canonical DID document.
    pub document_digest: Digest,
    /// The moment after which the DID counts as expired, if there is one (AX-31).
    pub expires_at_ms: Option<TimestampMs>,
    /// There where the agent registered in the form of the published SDK.
    pub reference_sdk: Option<ReferenceSdk>,
    /// The registering envelope.
    pub envelope: AcceptedHeader,
}

/// What is kept of a registration in the form of the published SDK (decision 0190). Its agent signs
/// whole bodies with one key, has proven no account, and pays from accounts that nobody checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReferenceSdk {
    /// The account that it is paid to where its OFFER names none, by its word alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub payment_address: Option<EvmAddress>,
}

/// `agent_updated`: never touches keys.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AgentUpdated {
    /// All wallets from here on.
    pub wallets: Vec<Wallet>,
    /// All capabilities from here on.
    pub capabilities: Vec<String>,
    /// SHA-256 of the canonical DID document.
    pub document_digest: Digest,
    /// The moment after which the DID counts as expired from here on, if there is one (AX-31).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at_ms: Option<TimestampMs>,
    /// The updating envelope.
    pub envelope: AcceptedHeader,
}

/// `key_rotated`: replaces exactly the key that signed the envelope.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KeyRotated {
    /// The key that ends.
    pub old_key: PublicKey,
    /// The key that begins.
    pub new_key: AgentKey,
    /// By the new key (ledger-contract.md section 4).
    pub proof: Signature,
    /// SHA-256 of the canonical DID document.
    pub document_digest: Digest,
    /// The rotating envelope.
    pub envelope: AcceptedHeader,
}

/// `agent_deactivated`, `agent_reactivated`, `agent_revoked`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AgentStatusChanged {
    /// The envelope that asked for it.
    pub envelope: AcceptedHeader,
}
