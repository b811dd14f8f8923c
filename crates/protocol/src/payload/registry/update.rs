//! The payload of `x811.registry/update`: everything registered of an agent but its keys.

use serde_json::{Map, Value};

use super::super::member::Members;
use super::{Entry, lists, mismatch};
use crate::did::Did;
use crate::key::AgentKey;
use crate::refusal::Refusal;

/// What takes the place of all that was registered; every proof in it has been checked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Update {
    /// All of it: what is left out here is gone.
    pub entry: Entry,
}

impl Update {
    /// Reads the payload `{document, capabilities, wallets?, expires_at_ms?}`.
    ///
    /// # Errors
    /// As [`super::Registration::parse`]; X811-1005 for `profiles`, which belong to keys.
    pub fn parse(from: Did, ledger: Did, payload: &Map<String, Value>) -> Result<Self, Refusal> {
        if payload.contains_key("profiles") {
            return Err(mismatch(
                "an update touches neither keys nor their profiles; leave profiles out, and \
                 replace a key with x811.registry/rotate",
            ));
        }
        let entry = Entry::read(Members::new("update", payload), from, ledger)?;
        Ok(Self { entry })
    }

    /// Checks that the document lists exactly the agent's `keys`.
    ///
    /// # Errors
    /// X811-1005.
    pub fn keeps(&self, keys: &[AgentKey]) -> Result<(), Refusal> {
        if lists(&self.entry.document.keys, keys) {
            return Ok(());
        }
        Err(mismatch(
            "the document's keys are not those registered, and an update never touches keys; \
             replace a key with x811.registry/rotate",
        ))
    }
}
