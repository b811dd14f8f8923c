//! `x811.registry/update`.

use serde_json::{Map, Value};
use x811_protocol::did::Did;
use x811_protocol::document::DidDocument;
use x811_protocol::envelope::MessageType;
use x811_protocol::key::AgentKey;
use x811_protocol::payload::registry::Verb;
use x811_protocol::time::TimestampMs;
use x811_protocol::wallet::Wallet;

use super::super::{ComposeError, Members, Payload};
use super::{bound_wallets, wallet_members};
use crate::identity::Identity;

/// What an agent says of itself besides its keys and accounts.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Entry {
    /// What it can do.
    pub capabilities: Vec<String>,
    /// Where it can be reached.
    pub service_endpoint: Option<String>,
    /// The moment after which its DID counts as expired (AX-31); never without one.
    pub expires_at_ms: Option<TimestampMs>,
}

/// Replaces everything registered of an agent but its keys: what is not in it is gone.
#[derive(Debug, Clone, PartialEq)]
pub struct Update {
    did: Did,
    keys: Vec<AgentKey>,
    entry: Entry,
    wallets: Vec<Wallet>,
}

impl Update {
    /// `keys` are those registered, which an update must repeat; the wallet key of `identity`, if
    /// it has one, signs its binding anew.
    ///
    /// # Errors
    /// [`ComposeError::Wallet`].
    pub fn new(
        identity: &Identity,
        ledger: Did,
        keys: Vec<AgentKey>,
        entry: Entry,
    ) -> Result<Update, ComposeError> {
        Ok(Update {
            did: identity.did,
            keys,
            entry,
            wallets: bound_wallets(identity, ledger)?,
        })
    }

    /// The same, with more accounts, as [`Registration::with_wallets`].
    ///
    /// [`Registration::with_wallets`]: super::Registration::with_wallets
    #[must_use]
    pub fn with_wallets(mut self, more: impl IntoIterator<Item = Wallet>) -> Update {
        self.wallets.extend(more);
        self
    }
}

impl Payload for Update {
    fn message_type(&self) -> MessageType {
        Verb::Update.message_type()
    }

    fn members(&self) -> Result<Map<String, Value>, ComposeError> {
        let endpoint = self.entry.service_endpoint.as_deref();
        let expires_at_ms = self.entry.expires_at_ms.map(TimestampMs::as_ms);
        let members = Members::default()
            .set(
                "document",
                DidDocument::build(self.did, &self.keys, endpoint),
            )
            .set("capabilities", self.entry.capabilities.clone())
            .set("wallets", wallet_members(&self.wallets))
            .set_some("expires_at_ms", expires_at_ms);
        Ok(members.0)
    }
}
