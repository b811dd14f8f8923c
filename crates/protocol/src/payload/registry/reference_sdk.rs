//! The payload by which the published TypeScript SDK registers (decision 0190): a REQUEST of the agent
//! to itself, `{name, description?, endpoint?, payment_address?, capabilities?}`.
//!
//! All that is recorded comes from what is signed: the key is the one that signed, and the document is
//! written from it. An account named there is good to be paid to, and to nothing else.

use serde_json::{Map, Value};

use super::super::member::Members;
use super::entry::capabilities;
use super::{Entry, Operation, Registration, mismatch};
use crate::canonical::to_canonical;
use crate::code::Code;
use crate::did::Did;
use crate::digest::Digest;
use crate::document::DidDocument;
use crate::event::ReferenceSdk;
use crate::evm::EvmAddress;
use crate::key::{AgentKey, Profile, PublicKey};
use crate::refusal::{Kind, Refusal};

impl Registration {
    /// Reads the payload of `from`, signed by `key` as whole bodies are.
    ///
    /// # Errors
    /// - X811-4001 when a member is missing or of the wrong type;
    /// - X811-1005 for capabilities that are malformed, repeated or too many;
    /// - X811-5002 for a payment address that is none.
    pub fn of_reference_sdk(
        from: Did,
        key: PublicKey,
        payload: &Map<String, Value>,
    ) -> Result<Registration, Refusal> {
        let members = Members::new("registration", payload);
        members.string("name")?;
        members.optional_string("description")?;
        members.optional_string("endpoint")?;
        let payment_address = members.optional_string("payment_address")?;
        let payment_address = payment_address.map(EvmAddress::parse_lenient).transpose();
        let payment_address = payment_address.map_err(|fault| {
            let message = format!("payment_address: {fault}");
            Refusal::new(Code::InvalidPaymentAddress, Kind::Shape, message)
        })?;
        let listed = members.optional_array("capabilities")?.unwrap_or_default();
        let names = listed.iter().map(|listed| {
            let name = listed.get("name").filter(|name| name.is_string());
            let nameless = || mismatch("a capability has no name: write {\"name\": \"…\"}");
            name.cloned().ok_or_else(nameless)
        });
        let names: Vec<Value> = names.collect::<Result<_, Refusal>>()?;
        let keys = vec![AgentKey {
            key,
            profile: Profile::Direct,
        }];
        let written = DidDocument::build(from, &keys, None);
        let entry = Entry {
            document: DidDocument {
                id: from,
                keys: vec![key],
            },
            document_digest: Digest::of(&to_canonical(&written)),
            capabilities: capabilities(&names)?,
            wallets: Vec::new(),
            expires_at_ms: None,
        };
        Ok(Registration {
            keys,
            entry,
            reference_sdk: Some(ReferenceSdk { payment_address }),
        })
    }
}

impl Operation {
    /// Reads the payload of a REQUEST to itself of an agent that registered so: `{}` deactivates it. The
    /// HTTP method that the SDK sends it by is not signed, so nothing else can be meant by it.
    ///
    /// # Errors
    /// X811-4001 for a payload that has members.
    pub fn of_reference_sdk(payload: &Map<String, Value>) -> Result<Operation, Refusal> {
        if payload.is_empty() {
            return Ok(Operation::Deactivate);
        }
        Err(Refusal::shape(
            "a REQUEST of an agent to itself deactivates it, and has an empty payload: change what is \
             registered by x811.registry/update",
        ))
    }
}
