//! The payload of `x811.registry/register`: who an agent is, what it can do and which accounts are
//! its own (ledger-contract.md section 4).
//!
//! Nothing in it is taken on trust: the document names the sender, the envelope is signed by one of
//! the document's keys, and every wallet proves that it belongs to this agent on this ledger.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use super::member::Members;
use crate::canonical::to_canonical;
use crate::code::Code;
use crate::did::Did;
use crate::digest::Digest;
use crate::document::DidDocument;
use crate::evm::EvmAddress;
use crate::facts::is_task_type;
use crate::key::{AgentKey, Profile, PublicKey};
use crate::refusal::{Kind, Refusal, quoted};
use crate::wallet::{Wallet, WalletKind};

/// The most capabilities of an agent (record.md section 4).
const MAX_CAPABILITIES: usize = 64;

/// The most wallets of an agent (record.md section 4).
const MAX_WALLETS: usize = 8;

/// What an agent registers with; every proof in it has been checked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Registration {
    /// The agent's DID document.
    pub document: DidDocument,
    /// The document's keys, each with the profile it signs by.
    pub keys: Vec<AgentKey>,
    /// What the agent can do: at most 64 different names of 1 to 128 characters.
    pub capabilities: Vec<String>,
    /// The accounts that are the agent's own: at most 8, all different.
    pub wallets: Vec<Wallet>,
    /// SHA-256 of the document's RFC 8785 form.
    pub document_digest: Digest,
}

impl Registration {
    /// Reads the payload `{document, profiles?, capabilities, wallets?}` of the agent `from` that
    /// registers with `ledger`.
    ///
    /// `profiles` maps a multibase key of the document to `digest` (the default) or `direct`
    /// (AX-23). A wallet's address may have any letter case: its proof shows that no digit is wrong.
    ///
    /// # Errors
    /// - X811-4001 when a member is missing or of the wrong type;
    /// - X811-1004 for a bad key in the document;
    /// - X811-1005 for every other fault: a malformed document or one of another DID, a profile for
    ///   a key that is not there, a capability or wallet that is malformed, repeated or too many,
    ///   a wallet whose proof does not hold.
    pub fn parse(from: Did, ledger: Did, payload: &Map<String, Value>) -> Result<Self, Refusal> {
        let members = Members::new("registration", payload);
        let written = members.object("document")?;
        let written = Value::Object(written.clone());
        let document = DidDocument::parse(&written)
            .map_err(|fault| Refusal::new(fault.code(), Kind::Shape, fault.to_string()))?;
        if document.id != from {
            return Err(mismatch(
                "the document's id is not the sender; register with your own",
            ));
        }
        let profiles = members.optional_object("profiles")?;
        Ok(Self {
            keys: keys(&document, profiles)?,
            capabilities: capabilities(members.array("capabilities")?)?,
            wallets: wallets(
                members.optional_array("wallets")?.unwrap_or_default(),
                from,
                ledger,
            )?,
            document_digest: Digest::of(&to_canonical(&written)),
            document,
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

fn capabilities(listed: &[Value]) -> Result<Vec<String>, Refusal> {
    if listed.len() > MAX_CAPABILITIES {
        return Err(mismatch(format!(
            "more than {MAX_CAPABILITIES} capabilities; list fewer"
        )));
    }
    let mut seen = BTreeSet::new();
    for capability in listed {
        let name = capability
            .as_str()
            .filter(|name| is_task_type(name))
            .ok_or_else(|| {
                mismatch("a capability is not a string of 1 to 128 printable characters; rename it")
            })?;
        if !seen.insert(name) {
            let name = quoted(name);
            return Err(mismatch(format!(
                "the capability {name} is listed twice; list it once"
            )));
        }
    }
    Ok(listed
        .iter()
        .filter_map(Value::as_str)
        .map(str::to_owned)
        .collect())
}

fn wallets(listed: &[Value], agent: Did, ledger: Did) -> Result<Vec<Wallet>, Refusal> {
    if listed.len() > MAX_WALLETS {
        return Err(mismatch(format!(
            "more than {MAX_WALLETS} wallets; bind fewer"
        )));
    }
    let mut seen = BTreeSet::new();
    let mut wallets = Vec::with_capacity(listed.len());
    for (index, value) in listed.iter().enumerate() {
        let wallet = wallet(value)
            .and_then(|wallet| match wallet.verify_eoa(agent, ledger) {
                Ok(()) => Ok(wallet),
                Err(fault) => Err(fault.to_string()),
            })
            .map_err(|fault| mismatch(format!("wallets[{index}]: {fault}")))?;
        if !seen.insert(wallet.address) {
            let address = wallet.address;
            return Err(mismatch(format!(
                "the wallet {address} is listed twice; list it once"
            )));
        }
        wallets.push(wallet);
    }
    Ok(wallets)
}

/// `{address, kind, proof}`; further members are ignored (AE-39).
fn wallet(value: &Value) -> Result<Wallet, String> {
    let text = |name: &str| {
        let member = value.get(name).and_then(Value::as_str);
        member.ok_or_else(|| format!("{name} is no string; a wallet has address, kind and proof"))
    };
    let address = EvmAddress::parse_lenient(text("address")?).map_err(|fault| fault.to_string())?;
    let kind = match text("kind")? {
        "eoa" => WalletKind::Eoa,
        "erc1271" => WalletKind::Erc1271,
        _ => return Err("kind must be \"eoa\"".to_owned()),
    };
    Ok(Wallet {
        address,
        kind,
        proof: text("proof")?.to_owned(),
    })
}

fn mismatch(message: impl AsRef<str>) -> Refusal {
    Refusal::new(Code::DidDocumentInvalid, Kind::Shape, message)
}
