//! `x811.registry/register` (ledger-contract.md section 4).

use serde_json::{Map, Value, json};
use x811_protocol::did::Did;
use x811_protocol::document::DidDocument;
use x811_protocol::envelope::{CustomType, MessageType};
use x811_protocol::key::{AgentKey, Profile};
use x811_protocol::wallet::Wallet;

use super::{ComposeError, Members, Payload};
use crate::identity::Identity;

/// The type of the envelope.
pub const REGISTER_TYPE: &str = "x811.registry/register";

/// Makes an agent known to one ledger: its document, what it can do, and the accounts that are its
/// own. The envelope goes to the ledger's DID, so that it is good for no other ledger.
#[derive(Debug, Clone, PartialEq)]
pub struct Registration {
    did: Did,
    key: AgentKey,
    /// What the agent can do.
    capabilities: Vec<String>,
    /// Where it can be reached.
    service_endpoint: Option<String>,
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
        let wallet = identity.wallet_key.as_ref();
        let wallet = wallet
            .map(|key| key.bind(identity.did, ledger))
            .transpose()?;
        Ok(Registration {
            did: identity.did,
            key: identity.agent_key(),
            capabilities,
            service_endpoint,
            wallets: wallet.into_iter().collect(),
        })
    }
}

impl Payload for Registration {
    fn message_type(&self) -> MessageType {
        #[expect(clippy::expect_used, reason = "a test reads the constant")]
        let custom: CustomType = REGISTER_TYPE
            .parse()
            .expect("the constant is a custom type");
        MessageType::Custom(custom)
    }

    fn members(&self) -> Result<Map<String, Value>, ComposeError> {
        let endpoint = self.service_endpoint.as_deref();
        let document = DidDocument::build(self.did, &[self.key], endpoint);
        let wallets: Vec<Value> = self.wallets.iter().map(wallet_member).collect();
        let profiles = (self.key.profile != Profile::default())
            .then(|| json!({ self.key.key.to_string(): self.key.profile }));
        let members = Members::default()
            .set("document", document)
            .set_some("profiles", profiles)
            .set("capabilities", self.capabilities.clone())
            .set("wallets", wallets);
        Ok(members.0)
    }
}

/// On the wire an address carries its checksum (AX-15).
fn wallet_member(wallet: &Wallet) -> Value {
    json!({
        "address": wallet.address.to_checksum(),
        "kind": wallet.kind,
        "proof": wallet.proof,
    })
}
