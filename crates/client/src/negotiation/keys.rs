//! Whose key is whose, from a source outside the chain.

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use serde_json::Value;
use x811_protocol::json::{JsonError, Limits, parse_strict};
use x811_protocol::key::PublicKey;

use super::message::AgentId;
use super::xap_sdk;

/// The Ed25519 keys of agents.
#[derive(Debug, Clone, Default)]
pub struct Keys(BTreeMap<AgentId, PublicKey>);

impl Keys {
    /// Reads a JSON object: each agent's id and its public key, 32 bytes in padded base64 or in base64url
    /// without padding, as the two implementations print them; `ed25519:` may stand before it.
    ///
    /// # Errors
    /// Every agent and key that cannot be read, together.
    pub fn read(bytes: &[u8]) -> Result<Keys, KeysError> {
        let Value::Object(members) = parse_strict(bytes, &Limits::default())? else {
            return Err(KeysError::NotAnObject);
        };
        let (mut keys, mut faults) = (BTreeMap::new(), Vec::new());
        for (agent, key) in &members {
            match (AgentId::read(agent), key.as_str().and_then(public_key)) {
                (Some(agent), Some(key)) => _ = keys.insert(agent, key),
                (None, _) => faults.push(format!("{agent:?} is no agent_ and 8 hex digits")),
                (_, None) => faults.push(format!("the key of {agent} is no Ed25519 key in base64")),
            }
        }
        match faults.is_empty() {
            true => Ok(Keys(keys)),
            false => Err(KeysError::Entries { faults }),
        }
    }

    /// The key of an agent, where it is known.
    pub(super) fn of(&self, agent: &AgentId) -> Option<&PublicKey> {
        self.0.get(agent)
    }
}

fn public_key(text: &str) -> Option<PublicKey> {
    let text = text.strip_prefix(xap_sdk::PREFIX).unwrap_or(text);
    let bytes = STANDARD.decode(text);
    let bytes = bytes.or_else(|_| URL_SAFE_NO_PAD.decode(text)).ok()?;
    PublicKey::from_bytes(&bytes.try_into().ok()?).ok()
}

/// Why a file has no keys.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum KeysError {
    /// Not strict JSON, or more than 1 MiB.
    #[error("{0}")]
    Json(#[from] JsonError),
    /// Another JSON value than an object.
    #[error("it is no JSON object of agents and keys")]
    NotAnObject,
    /// Agents or keys that are none.
    #[error("{}", faults.join("; "))]
    Entries {
        /// All of them.
        faults: Vec<String>,
    },
}
