//! The payload of `x811.registry/register`: who an agent is, what it can do and which accounts are
//! its own (ledger-contract.md section 4).

use serde_json::{Map, Value};

use super::super::member::Members;
use super::{Entry, mismatch};
use crate::did::Did;
use crate::document::DidDocument;
use crate::event::ReferenceSdk;
use crate::key::{AgentKey, Profile, PublicKey};
use crate::refusal::{Refusal, quoted};

/// What an agent registers with; every proof in it has been checked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Registration {
    /// The document's keys, each with the profile it signs by.
    pub keys: Vec<AgentKey>,
    /// Everything registered besides the keys.
    pub entry: Entry,
    /// There where it is in the form of the published SDK.
    pub reference_sdk: Option<ReferenceSdk>,
}

impl Registration {
    /// Reads the payload `{document, profiles?, capabilities, wallets?, expires_at_ms?}` of the
    /// agent `from` that registers with `ledger`.
    ///
    /// `profiles` maps a multibase key of the document to `digest` (the default) or `direct`
    /// (AX-23).
    ///
    /// # Errors
    /// - X811-4001 when a member is missing or of the wrong type;
    /// - X811-1004 for a bad key in the document;
    /// - X811-1005 for every other fault: a malformed document or one of another DID, a profile for
    ///   a key that is not there, a capability or wallet that is malformed, repeated or too many,
    ///   a wallet whose proof does not hold.
    pub fn parse(from: Did, ledger: Did, payload: &Map<String, Value>) -> Result<Self, Refusal> {
        let members = Members::new("registration", payload);
        let entry = Entry::read(members, from, ledger)?;
        let profiles = members.optional_object("profiles")?;
        Ok(Self {
            keys: keys(&entry.document, profiles)?,
            entry,
            reference_sdk: None,
        })
    }
}

fn keys(
    document: &DidDocument,
    profiles: Option<&Map<String, Value>>,
) -> Result<Vec<AgentKey>, Refusal> {
    let digest = |key: &PublicKey| AgentKey {
        key: *key,
        profile: Profile::Digest,
    };
    let mut keys: Vec<AgentKey> = document.keys.iter().map(digest).collect();
    for (name, profile) in profiles.into_iter().flatten() {
        let profile = profile
            .as_str()
            .and_then(|text| text.parse().ok())
            .ok_or_else(|| {
                mismatch(
                    "a member of profiles is neither \"digest\" nor \"direct\"; write one of them",
                )
            })?;
        let key = keys
            .iter_mut()
            .find(|agent_key| agent_key.key.to_string() == *name);
        let key = key.ok_or_else(|| {
            let name = quoted(name);
            mismatch(format!(
                "profiles names {name}, which is no Ed25519 key of the document"
            ))
        })?;
        key.profile = profile;
    }
    Ok(keys)
}
