//! Events that follow from a record of another stream: what one subject does to another
//! (machines.md section 4). They stand directly behind their cause, in the same commit.

use crate::id::InteractionId;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// An effect of one record on another subject.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Effect {
    /// A contract opened its interaction.
    Engaged(Engaged),
}

impl Effect {
    /// The `type` of every effect.
    pub const TYPES: [&str; 1] = ["engaged"];

    /// Whether `value` has the `type` of an effect.
    pub(super) fn is_named_by(value: &Value) -> bool {
        let name = value.get("type").and_then(Value::as_str);
        name.is_some_and(|name| Effect::TYPES.contains(&name))
    }

    /// The `type` member.
    pub const fn type_name(&self) -> &'static str {
        match self {
            Effect::Engaged(_) => "engaged",
        }
    }

    /// Position of the record it follows from.
    pub const fn cause(&self) -> u64 {
        match self {
            Effect::Engaged(engaged) => engaged.cause,
        }
    }
}

/// `engaged`, in a contract's stream: its REQUEST was recorded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Engaged {
    /// Position of the REQUEST.
    pub cause: u64,
    /// The interaction it opened.
    pub interaction: InteractionId,
}
