//! `x811.registry/rotate`.

use serde_json::{Map, Value};
use x811_protocol::did::Did;
use x811_protocol::document::DidDocument;
use x811_protocol::envelope::MessageType;
use x811_protocol::key::{AgentKey, Profile, SecretKey};
use x811_protocol::payload::registry::{Verb, rotation_message};
use x811_protocol::signature::Signature;

use super::super::{ComposeError, Members, Payload};
use crate::identity::Identity;

/// Puts a new key in the place of the one that signs the message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rotation {
    did: Did,
    keys: Vec<AgentKey>,
    new_key: AgentKey,
    proof: Signature,
    service_endpoint: Option<String>,
}

impl Rotation {
    /// Replaces the signing key of `identity`, one of the `registered` keys, by `new_key`, which
    /// proves itself here and signs what the old one signed. `service_endpoint` is that of the
    /// present document, which the message replaces.
    pub fn new(
        identity: &Identity,
        ledger: Did,
        registered: &[AgentKey],
        new_key: &SecretKey,
        service_endpoint: Option<String>,
    ) -> Rotation {
        let old_key = identity.signing_key.public();
        let replacement = AgentKey {
            key: new_key.public(),
            profile: identity.profile,
        };
        let text = rotation_message(identity.did, ledger, old_key, replacement.key);
        let keys = registered.iter().map(|known| match known.key == old_key {
            true => replacement,
            false => *known,
        });
        Rotation {
            did: identity.did,
            keys: keys.collect(),
            new_key: replacement,
            proof: new_key.sign(text.as_bytes()),
            service_endpoint,
        }
    }
}

impl Payload for Rotation {
    fn message_type(&self) -> MessageType {
        Verb::Rotate.message_type()
    }

    fn members(&self) -> Result<Map<String, Value>, ComposeError> {
        let endpoint = self.service_endpoint.as_deref();
        let (key, profile) = (self.new_key.key, self.new_key.profile);
        let profile = (profile != Profile::default()).then(|| profile.to_string());
        let members = Members::default()
            .set(
                "document",
                DidDocument::build(self.did, &self.keys, endpoint),
            )
            .set_text("new_key", key)
            .set_some("profile", profile)
            .set_text("proof", self.proof);
        Ok(members.0)
    }
}
