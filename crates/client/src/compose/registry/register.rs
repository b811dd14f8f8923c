//! `x811.registry/register`.

use serde_json::{Map, Value, json};
use x811_protocol::did::Did;
use x811_protocol::document::DidDocument;
use x811_protocol::envelope::MessageType;
use x811_protocol::key::{AgentKey, Profile};
use x811_protocol::payload::registry::Verb;
use x811_protocol::time::TimestampMs;
use x811_protocol::wallet::Wallet;

use super::super::{ComposeError, Members, Payload};
use super::{bound_wallets, wallet_members};
use crate::identity::Identity;

/// Makes an agent known to one ledger: its document, what it can do, and the accounts that are its
/// own.
#[derive(Debug, Clone, PartialEq)]
pub struct Registration {
    did: Did,
    key: AgentKey,
    /// What the agent can do.
    capabilities: Vec<String>,
    /// Where it can be reached.
    service_endpoint: Option<String>,
    /// The moment after which its DID counts as expired (AX-31).
    expires_at_ms: Option<TimestampMs>,
    wallets: Vec<Wallet>,
}

impl Registration {
    /// Registers `identity` with the ledger `ledger`; its wallet key, if it has one, signs the
    /// binding.
    ///
    /// # Errors
    /// [`ComposeError::Wallet`].
    pub fn new(
        identity: &Identity,
        ledger: Did,
        capabilities: Vec<String>,
        service_endpoint: Option<String>,
    ) -> Result<Registration, ComposeError> {
        Ok(Registration {
            did: identity.did,
            key: identity.agent_key(),
            capabilities,
            service_endpoint,
            expires_at_ms: None,
            wallets: bound_wallets(identity, ledger)?,
        })
    }

    /// The same, with a moment after which its DID counts as expired; never without one (AX-31).
    #[must_use]
    pub fn expiring(self, at: Option<TimestampMs>) -> Registration {
        Registration {
            expires_at_ms: at,
            ..self
        }
    }

    /// The same, with more accounts that are the agent's own: contract wallets, whose proofs are
    /// made elsewhere.
    #[must_use]
    pub fn with_wallets(mut self, more: impl IntoIterator<Item = Wallet>) -> Registration {
        self.wallets.extend(more);
        self
    }
}

impl Payload for Registration {
    fn message_type(&self) -> MessageType {
        Verb::Register.message_type()
    }

    fn members(&self) -> Result<Map<String, Value>, ComposeError> {
        let endpoint = self.service_endpoint.as_deref();
        let document = DidDocument::build(self.did, &[self.key], endpoint);
        let profiles = (self.key.profile != Profile::default())
            .then(|| json!({ self.key.key.to_string(): self.key.profile }));
        let members = Members::default()
            .set("document", document)
            .set_some("profiles", profiles)
            .set("capabilities", self.capabilities.clone())
            .set("wallets", wallet_members(&self.wallets))
            .set_some("expires_at_ms", self.expires_at_ms.map(TimestampMs::as_ms));
        Ok(members.0)
    }
}
