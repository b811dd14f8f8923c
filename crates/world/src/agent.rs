//! Who is registered: what the `agent:<did>` streams add up to.

use serde::{Deserialize, Serialize};
use std::sync::Arc;
/// What a DID counts as at some moment: its status, and whether its time is over (AX-31).
pub use x811_protocol::answer::AgentStatus as AgentStanding;
use x811_protocol::digest::Digest;
use x811_protocol::document::DidDocument;
use x811_protocol::event::{
    AgentEvent, AgentRegistered, Event, KeyRotated, LedgerOpened, ReferenceSdk,
};
use x811_protocol::evm::EvmAddress;
use x811_protocol::key::{AgentKey, Profile, PublicKey};
use x811_protocol::named;
use x811_protocol::time::TimestampMs;
use x811_protocol::wallet::Wallet;

named! {
    /// Status of a DID as its stream says it (AX-31).
    #[derive(Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    pub enum Status {
        /// The DID is in use.
        Active = "active",
        /// May come back.
        Deactivated = "deactivated",
        /// Never comes back.
        Revoked = "revoked",
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
    /// There where it registered in the form of the published SDK.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reference_sdk: Option<ReferenceSdk>,
    /// What it asked to be.
    pub status: Status,
    /// The moment after which it counts as expired, if there is one (AX-31).
    pub expires_at_ms: Option<TimestampMs>,
    /// Position of the record whose body holds its present DID document.
    pub document_position: u64,
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
    /// REQUESTs it sent that are still open. A state root has them; limits count the subjects themselves.
    pub open_requests: u64,
    /// Bytes of the bodies accepted from it on the day of `accepted_day`.
    pub accepted_bytes: u64,
    /// The last day of UTC on which a body was accepted from it, counted from the Unix epoch.
    pub accepted_day: u64,
}

fn keys_of_ledger(key: PublicKey) -> Arc<[AgentKey]> {
    let profile = Profile::Digest;
    Arc::new([AgentKey { key, profile }])
}

impl Agent {
    /// What a registration makes of an unknown DID; `None` for one without keys or with too many.
    pub(crate) fn registered(
        registered: &AgentRegistered,
        position: u64,
        at: TimestampMs,
    ) -> Option<Agent> {
        if !(1..=DidDocument::MAX_KEYS).contains(&registered.keys.len()) {
            return None;
        }
        Some(Agent {
            keys: registered.keys.clone().into(),
            wallets: registered.wallets.clone().into(),
            capabilities: registered.capabilities.clone().into(),
            document_digest: registered.document_digest,
            reference_sdk: registered.reference_sdk,
            status: Status::Active,
            expires_at_ms: registered.expires_at_ms,
            document_position: position,
            registered_at_ms: at,
            position,
            identity_seq: 1,
            mail_seq: 0,
            receipts: 0,
            last_receipt: None,
            open_requests: 0,
            accepted_bytes: 0,
            accepted_day: 0,
        })
    }

    /// The ledger's own identity, registered by the log's first record (AX-32).
    pub(crate) fn of_ledger(opened: &LedgerOpened, position: u64, at: TimestampMs) -> Agent {
        Agent {
            keys: keys_of_ledger(opened.keys.envelope),
            wallets: Arc::new([]),
            capabilities: Arc::new([]),
            document_digest: Digest::ZERO,
            reference_sdk: None,
            status: Status::Active,
            expires_at_ms: None,
            document_position: position,
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

    /// The ledger's own identity signs with another key from now on.
    pub(crate) fn sign_with(&mut self, key: PublicKey) {
        self.keys = keys_of_ledger(key);
    }

    /// The agent after a later event of its stream, recorded at `position`; `None` when the event
    /// does not belong there. Whether the DID had expired is the decision's to look at.
    pub(crate) fn after(&self, event: &Event, position: u64) -> Option<Agent> {
        let mut agent = self.clone();
        agent.identity_seq += 1;
        match (self.status, event) {
            (Status::Active, Event::Agent(AgentEvent::Updated(updated))) => {
                agent.wallets = updated.wallets.clone().into();
                agent.capabilities = updated.capabilities.clone().into();
                agent.expires_at_ms = updated.expires_at_ms;
                agent.document_digest = updated.document_digest;
                agent.document_position = position;
            }
            (Status::Active, Event::Agent(AgentEvent::KeyRotated(rotated))) => {
                agent.keys = self.with_key_replaced(rotated)?;
                agent.document_digest = rotated.document_digest;
                agent.document_position = position;
            }
            (Status::Active, Event::Agent(AgentEvent::Deactivated(_))) => {
                agent.status = Status::Deactivated
            }
            (Status::Deactivated, Event::Agent(AgentEvent::Reactivated(_))) => {
                agent.status = Status::Active
            }
            (Status::Active | Status::Deactivated, Event::Agent(AgentEvent::Revoked(_))) => {
                agent.status = Status::Revoked;
            }
            _ => return None,
        }
        Some(agent)
    }

    /// Notes a body of `bytes` accepted from it. Only the present day is held.
    pub(crate) fn count_body(&mut self, bytes: u64, at: TimestampMs) {
        let before = self.accepted_bytes_on(at);
        self.accepted_day = at.day();
        self.accepted_bytes = before.saturating_add(bytes);
    }

    /// Bytes of the bodies accepted from it so far on the day of `at`.
    pub fn accepted_bytes_on(&self, at: TimestampMs) -> u64 {
        if self.accepted_day == at.day() {
            self.accepted_bytes
        } else {
            0
        }
    }

    fn with_key_replaced(&self, rotated: &KeyRotated) -> Option<Arc<[AgentKey]>> {
        if self.key(&rotated.new_key.key).is_some() {
            return None;
        }
        let mut keys = self.keys.to_vec();
        let old = keys.iter_mut().find(|known| known.key == rotated.old_key)?;
        *old = rotated.new_key;
        Some(keys.into())
    }

    /// What it counts as at `at`.
    pub fn standing(&self, at: TimestampMs) -> AgentStanding {
        let expired = self.expires_at_ms.is_some_and(|expires| at > expires);
        match self.status {
            Status::Revoked => AgentStanding::Revoked,
            Status::Deactivated => AgentStanding::Deactivated,
            Status::Active if expired => AgentStanding::Expired,
            Status::Active => AgentStanding::Active,
        }
    }

    /// Its key of that value, if it has it now.
    pub fn key(&self, key: &PublicKey) -> Option<&AgentKey> {
        self.keys.iter().find(|known| known.key == *key)
    }

    /// The account that it is paid to where its OFFER names none: the first that it has proven, else
    /// the one that it named in a registration of the published SDK.
    pub fn default_payee(&self) -> Option<EvmAddress> {
        let bound = self.wallets.first().map(|wallet| wallet.address);
        bound.or_else(|| self.reference_sdk?.payment_address)
    }

    /// Whether the account is bound to it.
    pub fn owns(&self, address: EvmAddress) -> bool {
        self.wallets.iter().any(|wallet| wallet.address == address)
    }
}
