//! Agents: keys, wallets, and signed envelopes.

use k256::ecdsa::SigningKey;
use serde_json::{Map, Value, json};
use sha3::{Digest as _, Keccak256};
use std::sync::Mutex;
use uuid::Uuid;
use x811_ledger::entropy::Entropy;
use x811_protocol::did::Did;
use x811_protocol::document::DidDocument;
use x811_protocol::envelope::{Header, PROTOCOL_VERSION, SealedEnvelope, seal};
use x811_protocol::evm::EvmAddress;
use x811_protocol::id::{EnvelopeId, Nonce};
use x811_protocol::key::{AgentKey, Profile, SecretKey};
use x811_protocol::time::TimestampMs;
use x811_protocol::wallet::binding_message;

/// Bytes that look random and are the same in every run (splitmix64).
#[derive(Debug)]
pub(crate) struct SeededEntropy(Mutex<u64>);

impl SeededEntropy {
    pub(crate) fn new(seed: u64) -> SeededEntropy {
        SeededEntropy(Mutex::new(seed))
    }

    fn next(&self) -> u64 {
        let mut state = self.0.lock().unwrap();
        *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = *state;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }
}

impl Entropy for SeededEntropy {
    fn fill(&self, bytes: &mut [u8]) {
        for chunk in bytes.chunks_mut(8) {
            let random = self.next().to_le_bytes();
            chunk.copy_from_slice(&random[..chunk.len()]);
        }
    }
}

/// An agent as its own software knows it.
#[derive(Debug, Clone)]
pub(crate) struct Party {
    pub(crate) did: Did,
    pub(crate) key: SecretKey,
}

/// What an envelope says besides its sender; each test changes what it is about.
#[derive(Debug, Clone)]
pub(crate) struct Letter {
    pub(crate) id: EnvelopeId,
    pub(crate) nonce: Nonce,
    pub(crate) created: TimestampMs,
    pub(crate) expires: Option<TimestampMs>,
    pub(crate) kind: String,
    pub(crate) to: Did,
    pub(crate) payload: Value,
}

impl Letter {
    /// A letter of now, with an id and a nonce never used before.
    pub(crate) fn new(
        entropy: &SeededEntropy,
        now: TimestampMs,
        kind: &str,
        to: Did,
        payload: Value,
    ) -> Letter {
        let mut id = [0; 10];
        let mut nonce = [0; 16];
        entropy.fill(&mut id);
        entropy.fill(&mut nonce);
        Letter {
            id: EnvelopeId::from_parts(now.as_ms(), &id),
            nonce: Nonce::from_random(nonce),
            created: now,
            expires: None,
            kind: kind.to_owned(),
            to,
            payload,
        }
    }
}

impl Party {
    /// A party with the key of that seed; nobody knows it yet.
    pub(crate) fn new(entropy: &SeededEntropy, at: TimestampMs) -> Party {
        let mut seed = [0; 32];
        entropy.fill(&mut seed);
        Party {
            did: Did::from_uuid(entropy.uuid_v7(at)).unwrap(),
            key: SecretKey::from_seed(seed),
        }
    }

    /// Signs a letter.
    pub(crate) fn seal(&self, letter: &Letter) -> SealedEnvelope {
        let header = Header {
            id: letter.id,
            version: PROTOCOL_VERSION.to_owned(),
            message_type: letter.kind.parse().unwrap(),
            from: self.did,
            to: letter.to,
            created_ms: letter.created,
            expires_ms: letter.expires,
            nonce: letter.nonce,
        };
        seal(header, object(&letter.payload), &self.key, Profile::Digest)
    }

    /// What it registers with.
    pub(crate) fn registration(&self, capabilities: &[&str], wallets: &[Value]) -> Value {
        let key = AgentKey {
            key: self.key.public(),
            profile: Profile::Digest,
        };
        json!({
            "document": DidDocument::build(self.did, &[key], None),
            "capabilities": capabilities,
            "wallets": wallets,
        })
    }
}

fn object(value: &Value) -> Map<String, Value> {
    value.as_object().unwrap().clone()
}

/// An account on Base and its key.
#[derive(Debug)]
pub(crate) struct Account {
    key: SigningKey,
    pub(crate) address: EvmAddress,
}

impl Account {
    /// The account whose key is this byte, 32 times.
    pub(crate) fn new(seed: u8) -> Account {
        let key = SigningKey::from_slice(&[seed; 32]).unwrap();
        let point = key.verifying_key().to_encoded_point(false);
        let hash: [u8; 32] = Keccak256::digest(&point.as_bytes()[1..]).into();
        let mut address = [0; 20];
        address.copy_from_slice(&hash[12..]);
        Account {
            key,
            address: EvmAddress::from_bytes(address),
        }
    }

    /// The wallet member that binds it to an agent (ledger-contract.md section 4).
    pub(crate) fn bound_to(&self, agent: Did, ledger: Did) -> Value {
        let text = binding_message(agent, ledger, self.address);
        let prefix = format!("\u{19}Ethereum Signed Message:\n{}", text.len());
        let hash = Keccak256::new().chain_update(prefix).chain_update(text);
        let hash: [u8; 32] = hash.finalize().into();
        let (signature, recovery_id) = self.key.sign_prehash_recoverable(&hash).unwrap();
        let v = 27 + recovery_id.to_byte();
        let proof = format!(
            "0x{}{}",
            hex::encode(signature.to_bytes()),
            hex::encode([v])
        );
        json!({"address": self.address.to_checksum(), "kind": "eoa", "proof": proof})
    }
}

/// A UUIDv7 that does not change.
pub(crate) fn log_id() -> Uuid {
    uuid::Builder::from_unix_timestamp_millis(1_767_225_600_000, &[7; 10]).into_uuid()
}
