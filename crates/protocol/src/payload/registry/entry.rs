//! What a registration and an update both say of an agent.
//!
//! Nothing in it is taken on trust: the document names the sender, and every wallet proves that it
//! belongs to this agent on this ledger. Whether a contract wallet does is not known here: its
//! contract must be asked before the entry is recorded.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use super::super::member::Members;
use super::mismatch;
use crate::canonical::to_canonical;
use crate::did::Did;
use crate::digest::Digest;
use crate::document::DidDocument;
use crate::evm::EvmAddress;
use crate::facts::is_task_type;
use crate::refusal::{Kind, Refusal, quoted};
use crate::time::TimestampMs;
use crate::wallet::{Wallet, WalletKind};

/// The most capabilities of an agent (record.md section 4).
const MAX_CAPABILITIES: usize = 64;

/// The most wallets of an agent (record.md section 4).
const MAX_WALLETS: usize = 8;

/// Everything registered of an agent besides its keys' profiles; every proof has been checked as far
/// as it can be without a chain.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// The agent's DID document.
    pub document: DidDocument,
    /// SHA-256 of the document's RFC 8785 form.
    pub document_digest: Digest,
    /// What the agent can do: at most 64 different names of 1 to 128 characters.
    pub capabilities: Vec<String>,
    /// The accounts that are the agent's own: at most 8, all different.
    pub wallets: Vec<Wallet>,
    /// The moment after which the DID counts as expired (AX-31); never without one.
    pub expires_at_ms: Option<TimestampMs>,
}

impl Entry {
    /// Reads `{document, capabilities, wallets?, expires_at_ms?}`. A wallet's address may have any
    /// letter case: its proof shows that no digit is wrong.
    pub(super) fn read(members: Members<'_>, from: Did, ledger: Did) -> Result<Self, Refusal> {
        let (document, document_digest) = own_document(members.object("document")?, from)?;
        let wallets_given = members.optional_array("wallets")?.unwrap_or_default();
        Ok(Self {
            document,
            document_digest,
            capabilities: capabilities(members.array("capabilities")?)?,
            wallets: wallets(wallets_given, from, ledger)?,
            expires_at_ms: members
                .optional_integer("expires_at_ms")?
                .map(TimestampMs::new),
        })
    }
}

/// The refusal of the wallet at place `index`, as for a proof that does not hold.
pub fn wallet_refused(index: usize, fault: impl std::fmt::Display) -> Refusal {
    mismatch(format!("wallets[{index}]: {fault}"))
}

/// The sender's document and the SHA-256 of its RFC 8785 form.
pub(super) fn own_document(
    written: &Map<String, Value>,
    from: Did,
) -> Result<(DidDocument, Digest), Refusal> {
    let written = Value::Object(written.clone());
    let document = DidDocument::parse(&written)
        .map_err(|fault| Refusal::new(fault.code(), Kind::Shape, fault.to_string()))?;
    if document.id != from {
        return Err(mismatch(
            "the document's id is not the sender; give the document of your own DID",
        ));
    }
    Ok((document, Digest::of(&to_canonical(&written))))
}

pub(super) fn capabilities(listed: &[Value]) -> Result<Vec<String>, Refusal> {
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
            .and_then(|wallet| match wallet.verify_offline(agent, ledger) {
                Ok(()) => Ok(wallet),
                Err(fault) => Err(fault.to_string()),
            })
            .map_err(|fault| wallet_refused(index, fault))?;
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
        _ => return Err("kind must be \"eoa\" or \"erc1271\"".to_owned()),
    };
    Ok(Wallet {
        address,
        kind,
        proof: text("proof")?.to_owned(),
    })
}
