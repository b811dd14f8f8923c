//! One step of a chain: the JSON object that one agent signed (XAP 0.2, `NegotiationContract`).

use std::fmt;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value};
use x811_protocol::digest::Digest;
use x811_protocol::json::{JsonError, Limits, parse_strict};
use x811_protocol::time::TimestampMs;

/// The version of XAP that is read, without its patch number.
const VERSION: &str = "0.2.";

/// What a step does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum State {
    /// The first terms.
    Offer,
    /// Other terms in place of the last ones.
    Counter,
    /// Agreement to the terms of the step before.
    Accept,
    /// An end without agreement.
    Reject,
}

impl State {
    /// Whether it says terms of its own.
    pub(super) fn has_terms(self) -> bool {
        matches!(self, State::Offer | State::Counter)
    }

    /// As it stands in a message.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            State::Offer => "OFFER",
            State::Counter => "COUNTER",
            State::Accept => "ACCEPT",
            State::Reject => "REJECT",
        }
    }
}

/// `agent_` and 8 lower-case hex digits.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct AgentId(String);

impl AgentId {
    /// Reads one; `None` for another spelling.
    #[must_use]
    pub fn read(text: &str) -> Option<AgentId> {
        is_alias(text, "agent_").then(|| AgentId(text.to_owned()))
    }
}

impl fmt::Display for AgentId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl<'de> Deserialize<'de> for AgentId {
    fn deserialize<D: Deserializer<'de>>(reader: D) -> Result<AgentId, D::Error> {
        let text = String::deserialize(reader)?;
        AgentId::read(&text).ok_or_else(|| {
            let what = format!("{text:?} is no agent: `agent_` and 8 lower-case hex digits");
            D::Error::custom(what)
        })
    }
}

/// The members of a message that its schema names.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Members {
    #[serde(deserialize_with = "negotiation")]
    pub(super) negotiation_id: String,
    pub(super) state: State,
    pub(super) round_number: u64,
    #[serde(default, deserialize_with = "present")]
    pub(super) max_rounds: Option<u64>,
    pub(super) from_agent: AgentId,
    pub(super) to_agent: AgentId,
    pub(super) task: Map<String, Value>,
    pub(super) pricing: Map<String, Value>,
    pub(super) sla: Map<String, Value>,
    #[serde(deserialize_with = "moment")]
    pub(super) expires_at: TimestampMs,
    #[serde(default, deserialize_with = "link")]
    pub(super) previous_state_hash: Option<Digest>,
    #[serde(default, deserialize_with = "parent")]
    pub(super) parent_negotiation_id: Option<String>,
    #[serde(default, deserialize_with = "present", rename = "identity_snapshot")]
    _identity_snapshot: Option<Map<String, Value>>,
    #[serde(rename = "xap_version", deserialize_with = "version")]
    _xap_version: (),
    #[serde(deserialize_with = "moment")]
    pub(super) created_at: TimestampMs,
    pub(super) signature: String,
}

impl Members {
    /// What an ACCEPT agrees to.
    pub(super) fn terms(&self) -> [&Map<String, Value>; 3] {
        [&self.task, &self.pricing, &self.sla]
    }
}

/// The price of a step.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub(super) struct Price {
    pub(super) amount_minor_units: u64,
    pub(super) currency: String,
}

/// One step, as it was read.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Message {
    /// Every member, for hashes.
    pub(super) whole: Map<String, Value>,
    pub(super) members: Members,
    pub(super) price: Price,
}

impl Message {
    /// Reads one strictly.
    pub(super) fn read(text: &str) -> Result<Message, MessageError> {
        let value = parse_strict(text.as_bytes(), &Limits::default())?;
        if let Some(offset) = float(text) {
            return Err(MessageError::Float { offset });
        }
        if let Some(key) = odd_key(&value) {
            return Err(MessageError::Key {
                key: key.to_owned(),
            });
        }
        let Value::Object(whole) = value else {
            return Err(MessageError::NotAnObject);
        };
        let members = read(Value::Object(whole.clone()))?;
        let members: Members = members;
        let price: Price = read(Value::Object(members.pricing.clone()))?;
        let is_letter = |c: char| c.is_ascii_uppercase();
        if !(3..=6).contains(&price.currency.len()) || !price.currency.chars().all(is_letter) {
            return Err(MessageError::Members {
                why: format!("currency {:?} is not 3 to 6 capitals", price.currency),
            });
        }
        Ok(Message {
            whole,
            members,
            price,
        })
    }

    /// Every member but the signature.
    pub(super) fn without_signature(&self) -> Map<String, Value> {
        let mut members = self.whole.clone();
        members.remove("signature");
        members
    }
}

fn read<T: for<'de> Deserialize<'de>>(value: Value) -> Result<T, MessageError> {
    serde_json::from_value(value).map_err(|error| MessageError::Members {
        why: error.to_string(),
    })
}

/// Where the first number with a fraction or an exponent has it. Python keeps `5.0` and `5` apart,
/// RFC 8785 does not, so no such number has one form. The text is JSON.
fn float(text: &str) -> Option<usize> {
    let (mut is_string, mut is_escaped, mut is_number) = (false, false, false);
    for (offset, byte) in text.bytes().enumerate() {
        if is_string {
            is_string = is_escaped || byte != b'"';
            is_escaped = !is_escaped && byte == b'\\';
            continue;
        }
        match byte {
            b'"' => is_string = true,
            b'.' | b'e' | b'E' if is_number => return Some(offset),
            _ => {}
        }
        is_number = byte.is_ascii_digit();
    }
    None
}

/// The first key that is not ASCII, at any depth: the two orders of keys are the same for ASCII alone.
fn odd_key(value: &Value) -> Option<&str> {
    match value {
        Value::Object(members) => members
            .iter()
            .find_map(|(key, value)| match key.is_ascii() {
                true => odd_key(value),
                false => Some(key.as_str()),
            }),
        Value::Array(elements) => elements.iter().find_map(odd_key),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => None,
    }
}

fn is_alias(text: &str, prefix: &str) -> bool {
    let is_digit = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
    text.strip_prefix(prefix)
        .is_some_and(|digits| digits.len() == 8 && digits.bytes().all(is_digit))
}

/// An optional member is absent, never `null`.
fn present<'de, D: Deserializer<'de>, T: Deserialize<'de>>(
    reader: D,
) -> Result<Option<T>, D::Error> {
    T::deserialize(reader).map(Some)
}

fn negotiation<'de, D: Deserializer<'de>>(reader: D) -> Result<String, D::Error> {
    let text = String::deserialize(reader)?;
    match is_alias(&text, "neg_") {
        true => Ok(text),
        false => Err(D::Error::custom(format!(
            "{text:?} is no negotiation: `neg_` and 8 lower-case hex digits"
        ))),
    }
}

fn parent<'de, D: Deserializer<'de>>(reader: D) -> Result<Option<String>, D::Error> {
    negotiation(reader).map(Some)
}

fn link<'de, D: Deserializer<'de>>(reader: D) -> Result<Option<Digest>, D::Error> {
    let text = String::deserialize(reader)?;
    let digest = text.strip_prefix("sha256:").map(str::parse);
    match digest {
        Some(Ok(digest)) => Ok(Some(digest)),
        _ => Err(D::Error::custom(
            "previous_state_hash is not `sha256:` and 64 lower-case hex digits",
        )),
    }
}

fn moment<'de, D: Deserializer<'de>>(reader: D) -> Result<TimestampMs, D::Error> {
    let text = String::deserialize(reader)?;
    TimestampMs::parse_rfc3339(&text)
        .map_err(|error| D::Error::custom(format!("{text:?}: {error}")))
}

fn version<'de, D: Deserializer<'de>>(reader: D) -> Result<(), D::Error> {
    let text = String::deserialize(reader)?;
    let patch = text.strip_prefix(VERSION);
    match patch.is_some_and(|patch| patch.parse::<u32>().is_ok()) {
        true => Ok(()),
        false => Err(D::Error::custom(format!(
            "xap_version is {text:?}: {VERSION}x is read"
        ))),
    }
}

/// Why a text is no XAP message.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum MessageError {
    /// Ambiguous, too deep, too long, or a number beyond 2^53 - 1.
    #[error("{0}")]
    Json(#[from] JsonError),
    /// A number with a fraction or an exponent.
    #[error("the number around byte {offset} is no plain integer: XAP has no other")]
    Float {
        /// Where in the step its point or exponent stands.
        offset: usize,
    },
    /// A key beyond ASCII.
    #[error("the key {key:?} is not ASCII: implementations sort such keys differently")]
    Key {
        /// Name of the member, at whatever depth.
        key: String,
    },
    /// Another JSON value than an object.
    #[error("it is no JSON object")]
    NotAnObject,
    /// Members that no XAP message has, or without one that each has.
    #[error("{why}")]
    Members {
        /// What is wrong with them.
        why: String,
    },
}
