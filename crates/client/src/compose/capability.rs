//! `x811.capability/…`: what an agent can do (capability.md).

use serde_json::{Map, Value};
use x811_protocol::did::Did;
use x811_protocol::envelope::{CustomType, MessageType};
use x811_protocol::facts::CapabilityVerb;

use super::{ComposeError, Members, Payload};

/// A descriptor, addressed to the ledger.
#[derive(Debug, Clone, PartialEq)]
pub struct Advert {
    /// Who publishes it.
    pub agent: Did,
    /// One more than that of the descriptor in force; 1 for the first.
    pub revision: u64,
    /// The other members, as connect.md has them.
    pub descriptor: Map<String, Value>,
}

impl Payload for Advert {
    #[expect(clippy::expect_used, reason = "the name is a type of a message")]
    fn message_type(&self) -> MessageType {
        let name = CapabilityVerb::Advertise.as_str();
        let custom: CustomType = name.parse().expect("a type of a message");
        MessageType::Custom(custom)
    }

    fn members(&self) -> Result<Map<String, Value>, ComposeError> {
        let members = Members(self.descriptor.clone())
            .set_text("agent_id", self.agent)
            .set("revision", self.revision);
        Ok(members.0)
    }
}
