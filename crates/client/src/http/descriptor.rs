//! What an agent says that it can do, as the ledger gave it and its signature holds.

use serde_json::{Map, Value};
use x811_protocol::did::Did;
use x811_protocol::envelope::VerifiedEnvelope;
use x811_protocol::facts::{AdvertiseFacts, CapabilityFacts, Facts};
use x811_protocol::payload::{self, PayloadRules};

use super::error::ClientError;

/// What an agent says that it can do; the signature of its envelope was checked.
#[derive(Debug, Clone)]
pub struct Descriptor {
    /// The agent that published it.
    pub agent: Did,
    /// Place of its record in the log.
    pub position: u64,
    /// What of it decides.
    pub facts: AdvertiseFacts,
    /// All of it, as it was signed.
    pub payload: Map<String, Value>,
}

impl Descriptor {
    /// Holds an envelope to be the descriptor of that agent.
    pub(super) fn of(
        agent: Did,
        position: u64,
        envelope: VerifiedEnvelope,
    ) -> Result<Descriptor, ClientError> {
        let header = envelope.header();
        let rules = PayloadRules::default();
        let facts = payload::facts(
            &header.message_type,
            header.from,
            envelope.payload(),
            &rules,
        );
        match facts {
            Ok(Facts::Capability(CapabilityFacts::Advertise(facts))) if header.from == agent => {
                Ok(Descriptor {
                    agent,
                    position,
                    facts: *facts,
                    payload: envelope.payload().clone(),
                })
            }
            Ok(_) | Err(_) => Err(ClientError::Untrusted {
                cause: format!(
                    "it gave envelope {} as the descriptor of {agent}",
                    header.id
                ),
            }),
        }
    }
}
