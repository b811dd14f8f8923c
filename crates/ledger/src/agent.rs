//! Who is registered: what the `agent:<did>` streams add up to.

use crate::quota;
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use x811_protocol::digest::Digest;
use x811_protocol::event::{AgentRegistered, Event, LedgerOpened};
use x811_protocol::evm::EvmAddress;
use x811_protocol::key::{AgentKey, Profile, PublicKey};
use x811_protocol::time::TimestampMs;
use x811_protocol::wallet::Wallet;

/// Status of a DID (AX-31).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// In use.
    Active,
    /// May come back.
    Deactivated,
    /// Never comes back.
    Revoked,
}

impl Status {
    /// The word shown.
    pub fn as_str(self) -> &'static str {
        match self {
            Status::Active => "active",
            Status::Deactivated => "deactivated",
            Status::Revoked => "revoked",
        }
    }
}

/// A registered DID as of some position. Cloning shares the lists.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Agent {
    /// Its keys, at most 8.
    pub keys: Arc<[AgentKey]>,
    /// Accounts bound to it, at most 8.
    pub wallets: Arc<[Wallet]>,
    /// Task types it offers.
    pub capabilities: Arc<[String]>,
    /// SHA-256 of its canonical DID document.
    pub document_digest: Digest,
    /// Whether it may act.
    pub status: Status,
    /// When it registered.
    pub registered_at_ms: TimestampMs,
    /// Position of the record that registered it.
    pub position: u64,
    /// Next place in its `agent:` stream.
    pub identity_seq: u64,
    /// Next place in its `mail:` stream.
    pub mail_seq: u64,
    /// Receipts it was given as a provider.
    pub receipts: u64,
    /// Record hash of the last one.
    pub last_receipt: Option<Digest>,
    /// REQUESTs it sent that are still open.
    pub open_requests: u64,
    /// Bytes of the bodies accepted from it on the day of `accepted_day`.
    pub accepted_bytes: u64,
    /// The last day of UTC on which a body was accepted from it, counted from the Unix epoch.
    pub accepted_day: u64,
}

impl Agent {
    /// What a registration makes of an unknown DID.
    pub(crate) fn registered(
        registered: &AgentRegistered,
        position: u64,
        at: TimestampMs,
    ) -> Agent {
        Agent {
            keys: registered.keys.clone().into(),
            wallets: registered.wallets.clone().into(),
            capabilities: registered.capabilities.clone().into(),
            document_digest: registered.document_digest,
            status: Status::Active,
            registered_at_ms: at,
            position,
            identity_seq: 1,
            mail_seq: 0,
            receipts: 0,
            last_receipt: None,
            open_requests: 0,
            accepted_bytes: 0,
            accepted_day: 0,
        }
    }

    /// The ledger's own identity, registered by the log's first record (AX-32).
    pub(crate) fn of_ledger(opened: &LedgerOpened, position: u64, at: TimestampMs) -> Agent {
        let key = AgentKey {
            key: opened.keys.envelope,
            profile: Profile::Digest,
        };
        Agent {
            keys: Arc::new([key]),
            wallets: Arc::new([]),
            capabilities: Arc::new([]),
            document_digest: Digest::ZERO,
            status: Status::Active,
            registered_at_ms: at,
            position,
            identity_seq: 0,
            mail_seq: 0,
            receipts: 0,
            last_receipt: None,
            open_requests: 0,
            accepted_bytes: 0,
            accepted_day: 0,
        }
    }

    /// The agent after a later event of its stream; `None` when the event does not belong there.
    #[expect(clippy::wildcard_enum_match_arm, reason = "refuses every other event")]
    pub(crate) fn after(&self, event: &Event) -> Option<Agent> {
        if self.status == Status::Revoked {
            return None;
        }
        let mut agent = self.clone();
        agent.identity_seq += 1;
        match event {
            Event::AgentUpdated(updated) => {
                agent.wallets = updated.wallets.clone().into();
                agent.capabilities = updated.capabilities.clone().into();
                agent.document_digest = updated.document_digest;
            }
            Event::KeyRotated(rotated) => {
                let mut keys = agent.keys.to_vec();
                let old = keys.iter_mut().find(|known| known.key == rotated.old_key)?;
                *old = rotated.new_key;
                agent.keys = keys.into();
                agent.document_digest = rotated.document_digest;
            }
            Event::AgentDeactivated(_) => agent.status = Status::Deactivated,
            Event::AgentReactivated(_) => agent.status = Status::Active,
            Event::AgentRevoked(_) => agent.status = Status::Revoked,
            _ => return None,
        }
        Some(agent)
    }

    /// Notes a body of `bytes` accepted from it. Only the present day is held.
    pub(crate) fn count_body(&mut self, bytes: u64, at: TimestampMs) {
        let before = self.accepted_bytes_on(at);
        self.accepted_day = quota::day(at);
        self.accepted_bytes = before.saturating_add(bytes);
    }

    /// Bytes of the bodies accepted from it so far on the day of `at`.
    pub fn accepted_bytes_on(&self, at: TimestampMs) -> u64 {
        if self.accepted_day == quota::day(at) {
            self.accepted_bytes
        } else {
            0
        }
    }

    /// Its key of that value, if it has it now.
    pub fn key(&self, key: &PublicKey) -> Option<&AgentKey> {
        self.keys.iter().find(|known| known.key == *key)
    }

    /// Whether the account is bound to it.
    pub fn owns(&self, address: EvmAddress) -> bool {
        self.wallets.iter().any(|wallet| wallet.address == address)
    }
}
