//! Who an agent is: its DID and the keys that prove it.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use uuid::Builder;
use x811_protocol::did::Did;
use x811_protocol::evm::EvmAddress;
use x811_protocol::key::{AgentKey, KeyId, Profile, PublicKey, SecretKey};
use x811_protocol::time::TimestampMs;
use zeroize::Zeroizing;

use crate::clock::Clock;
use crate::entropy::{Entropy, EntropyError};
use crate::wallet::{WalletKey, WalletKeyError};

/// The version of the file that is written and read.
const FILE_VERSION: u8 = 1;

/// An agent's DID and keys. The keys are wiped from memory when dropped and never shown.
#[derive(Clone, PartialEq, Eq)]
pub struct Identity {
    /// What its owner calls it; only this computer knows the name.
    pub name: AgentName,
    /// DID of the agent.
    pub did: Did,
    /// When it was made.
    pub created_ms: TimestampMs,
    /// The Ed25519 key that signs its envelopes.
    pub signing_key: SecretKey,
    /// What that key signs (AX-23).
    pub profile: Profile,
    /// The key that is to take its place: kept before the ledger is asked to rotate, so that
    /// neither is lost whatever becomes of the message (AX-30).
    pub next_signing_key: Option<SecretKey>,
    /// The public keys that it signed with before, in order: what an audit of its own messages is held to.
    pub former_keys: Vec<PublicKey>,
    /// The Ethereum key it pays with and is paid to; without one it can do neither by itself.
    pub wallet_key: Option<WalletKey>,
    /// The ledger it registered with last.
    pub ledger: Option<Did>,
    /// Further ledgers that know its DID, in the order it registered with them. What it signs for
    /// one of them can be shown to the others (ledger-contract.md section 5).
    pub other_ledgers: Vec<Did>,
}

impl Identity {
    /// It has registered with `ledger`; those it had registered with before stay known.
    pub fn registered_with(&mut self, ledger: Did) {
        let before = self.ledger.replace(ledger);
        self.other_ledgers.extend(before);
        self.other_ledgers.retain(|other| *other != ledger);
    }

    /// The account of its own key.
    #[must_use]
    pub fn account(&self) -> Option<EvmAddress> {
        self.wallet_key.as_ref().map(WalletKey::address)
    }

    /// A new agent: DID of version 7, profile `digest`, a signing key and a wallet key.
    ///
    /// # Errors
    /// As [`Entropy::fill`].
    pub fn generate(
        name: AgentName,
        entropy: &dyn Entropy,
        clock: &dyn Clock,
    ) -> Result<Identity, EntropyError> {
        let seed = Zeroizing::new(entropy.array::<32>()?);
        let created_ms = clock.now();
        Ok(Identity {
            name,
            did: new_did(entropy, created_ms)?,
            created_ms,
            signing_key: SecretKey::from_seed(*seed),
            profile: Profile::Digest,
            next_signing_key: None,
            former_keys: Vec::new(),
            wallet_key: Some(WalletKey::generate(entropy)?),
            ledger: None,
            other_ledgers: Vec::new(),
        })
    }

    /// What verifies its envelopes.
    pub fn agent_key(&self) -> AgentKey {
        AgentKey {
            key: self.signing_key.public(),
            profile: self.profile,
        }
    }

    /// What would verify its envelopes after the rotation that was prepared, if one was.
    pub fn next_agent_key(&self) -> Option<AgentKey> {
        self.next_signing_key.as_ref().map(|next| AgentKey {
            key: next.public(),
            profile: self.profile,
        })
    }

    /// Every key of its own, the one that it signs with last.
    pub fn own_keys(&self) -> Vec<KeyId> {
        let former = self.former_keys.iter().copied();
        let keys = former.chain([self.signing_key.public()]);
        keys.map(|key| KeyId { did: self.did, key }).collect()
    }

    /// The key to rotate to: the one kept from an earlier try, which the ledger may yet accept,
    /// else a new one. Write the identity to its file before sending anything about it.
    ///
    /// # Errors
    /// As [`Entropy::fill`].
    pub fn prepare_rotation(&mut self, entropy: &dyn Entropy) -> Result<SecretKey, EntropyError> {
        if let Some(kept) = &self.next_signing_key {
            return Ok(kept.clone());
        }
        let seed = Zeroizing::new(entropy.array::<32>()?);
        let next = SecretKey::from_seed(*seed);
        self.next_signing_key = Some(next.clone());
        Ok(next)
    }

    /// Signs with the next key from here on, and keeps of the old one its public key, if the next key is one of
    /// those the ledger has registered; otherwise both stay. Says whether it was.
    pub fn settle_rotation(&mut self, registered: &[AgentKey]) -> bool {
        let is_registered = |next: &mut SecretKey| {
            let public = next.public();
            registered.iter().any(|known| known.key == public)
        };
        let next = self.next_signing_key.take_if(is_registered);
        let Some(next) = next else {
            return false;
        };
        let former = std::mem::replace(&mut self.signing_key, next);
        self.former_keys.push(former.public());
        true
    }

    /// The form of the file, secrets included.
    pub(crate) fn to_file(&self) -> Result<Zeroizing<Vec<u8>>, serde_json::Error> {
        let stored = Stored {
            v: FILE_VERSION,
            name: self.name.clone(),
            did: self.did,
            created_ms: self.created_ms,
            signing_key: Zeroizing::new(hex::encode(self.signing_key.seed())),
            profile: self.profile,
            next_signing_key: self
                .next_signing_key
                .as_ref()
                .map(|key| Zeroizing::new(hex::encode(key.seed()))),
            former_keys: self.former_keys.clone(),
            wallet_key: self.wallet_key.as_ref().map(WalletKey::to_hex),
            ledger: self.ledger,
            other_ledgers: self.other_ledgers.clone(),
        };
        serde_json::to_vec_pretty(&stored).map(Zeroizing::new)
    }

    /// Reads the form of the file.
    pub(crate) fn from_file(bytes: &[u8]) -> Result<Identity, IdentityError> {
        let stored: Stored =
            serde_json::from_slice(bytes).map_err(|error| IdentityError::Form(place_of(&error)))?;
        if stored.v != FILE_VERSION {
            return Err(IdentityError::Version(stored.v));
        }
        let wallet_key = stored.wallet_key.as_ref();
        Ok(Identity {
            name: stored.name,
            did: stored.did,
            created_ms: stored.created_ms,
            signing_key: read_seed(&stored.signing_key)?,
            profile: stored.profile,
            next_signing_key: stored
                .next_signing_key
                .as_ref()
                .map(|text| read_seed(text))
                .transpose()?,
            former_keys: stored.former_keys,
            wallet_key: wallet_key
                .map(|text| WalletKey::from_hex(text))
                .transpose()?,
            ledger: stored.ledger,
            other_ledgers: stored.other_ledgers,
        })
    }
}

fn read_seed(text: &str) -> Result<SecretKey, IdentityError> {
    let mut seed = Zeroizing::new([0_u8; 32]);
    hex::decode_to_slice(text, seed.as_mut_slice()).map_err(|_| IdentityError::SigningKey)?;
    Ok(SecretKey::from_seed(*seed))
}

fn new_did(entropy: &dyn Entropy, now: TimestampMs) -> Result<Did, EntropyError> {
    let uuid = Builder::from_unix_timestamp_millis(now.as_ms(), &entropy.array()?).into_uuid();
    #[expect(clippy::expect_used, reason = "the builder sets version 7")]
    let did = Did::from_uuid(uuid).expect("a UUIDv7 is the UUID of a DID");
    Ok(did)
}

impl fmt::Debug for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Identity")
            .field("name", &self.name)
            .field("did", &self.did)
            .field("ledger", &self.ledger)
            .finish_non_exhaustive()
    }
}

/// What an agent's owner calls it: 1 to 64 of `[a-z0-9_-]`, so that it is also a file name
/// everywhere.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct AgentName(String);

impl AgentName {
    /// The name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for AgentName {
    type Err = AgentNameError;

    fn from_str(text: &str) -> Result<AgentName, AgentNameError> {
        let allowed = |byte: u8| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'_' | b'-');
        if (1..=64).contains(&text.len()) && text.bytes().all(allowed) {
            Ok(AgentName(text.to_owned()))
        } else {
            Err(AgentNameError)
        }
    }
}

impl fmt::Display for AgentName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl TryFrom<String> for AgentName {
    type Error = AgentNameError;

    fn try_from(text: String) -> Result<AgentName, AgentNameError> {
        text.parse()
    }
}

impl From<AgentName> for String {
    fn from(name: AgentName) -> String {
        name.0
    }
}

/// The text is no agent name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not an agent name: use 1 to 64 lower-case letters, digits, hyphens and underscores")]
pub struct AgentNameError;

/// Why the contents of an identity file are no identity. Never repeats what the file says.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum IdentityError {
    /// Not the JSON object that is written; says where.
    #[error("it is not an identity file: {0}")]
    Form(String),
    /// The file of another version of this crate.
    #[error("it is an identity file of version {0} and this program reads version 1")]
    Version(u8),
    /// An Ed25519 seed is not 64 hex digits.
    #[error("a signing key is not 64 hex digits")]
    SigningKey,
    /// The Ethereum key cannot be read.
    #[error("wallet_key is {0}")]
    WalletKey(#[from] WalletKeyError),
}

/// The file. Strings with secrets are wiped when dropped.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Stored {
    v: u8,
    name: AgentName,
    did: Did,
    created_ms: TimestampMs,
    signing_key: Zeroizing<String>,
    profile: Profile,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    next_signing_key: Option<Zeroizing<String>>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    former_keys: Vec<PublicKey>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    wallet_key: Option<Zeroizing<String>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    ledger: Option<Did>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    other_ledgers: Vec<Did>,
}

/// Where JSON is wrong, without quoting it: the text around it may be a key.
fn place_of(error: &serde_json::Error) -> String {
    format!("line {}, column {}", error.line(), error.column())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{CountingEntropy, identity};

    #[test]
    fn the_file_reads_back_as_the_same_agent() {
        let mut agent = identity("alice", &CountingEntropy::default());
        assert_eq!(
            Identity::from_file(&agent.to_file().unwrap()).unwrap(),
            agent
        );
        agent.wallet_key = None;
        agent.ledger = Some(crate::testing::ledger_did());
        assert_eq!(
            Identity::from_file(&agent.to_file().unwrap()).unwrap(),
            agent
        );
    }

    /// A file of before other ledgers were remembered, and one that has none, read and look alike.
    #[test]
    fn every_ledger_that_knows_the_did_is_remembered_once() {
        let mut agent = identity("alice", &CountingEntropy::default());
        let [first, second] = [
            "did:x811:019c8c61-8129-7511-9f31-aa5142e65448",
            "did:x811:019c8c61-8129-7511-9f31-aa5142e65449",
        ]
        .map(|did| did.parse::<Did>().unwrap());
        agent.registered_with(first);
        agent.registered_with(first);
        let file = String::from_utf8(agent.to_file().unwrap().to_vec()).unwrap();
        assert!(!file.contains("other_ledgers"), "as before: {file}");

        agent.registered_with(second);
        assert_eq!(
            (agent.ledger, &*agent.other_ledgers),
            (Some(second), &[first][..])
        );
        agent.registered_with(first);
        assert_eq!(
            (agent.ledger, &*agent.other_ledgers),
            (Some(first), &[second][..])
        );
        let read = Identity::from_file(&agent.to_file().unwrap()).unwrap();
        assert_eq!(read, agent);
    }

    #[test]
    fn ax_030_a_rotation_keeps_both_keys_until_the_next_is_registered() {
        let entropy = CountingEntropy::default();
        let mut agent = identity("alice", &entropy);
        let old = agent.agent_key();
        assert!(!agent.settle_rotation(&[old]), "nothing was prepared");

        let next = agent.prepare_rotation(&entropy).unwrap();
        assert_eq!(agent.prepare_rotation(&entropy).unwrap(), next, "kept");
        let mut agent = Identity::from_file(&agent.to_file().unwrap()).unwrap();
        assert!(!agent.settle_rotation(&[old]));
        assert_eq!(agent.agent_key(), old);
        assert_eq!(agent.next_signing_key.as_ref(), Some(&next));

        let registered = AgentKey {
            key: next.public(),
            ..old
        };
        assert!(agent.settle_rotation(&[registered]));
        assert_eq!(agent.agent_key(), registered);
        let file = String::from_utf8(agent.to_file().unwrap().to_vec()).unwrap();
        assert!(file.contains(&hex::encode(next.seed())));
        assert_eq!(
            file.matches("signing_key").count(),
            1,
            "the old one is gone"
        );
    }

    #[test]
    fn secrets_are_in_no_debug_text() {
        let agent = identity("alice", &CountingEntropy::default());
        let shown = format!("{agent:?}");
        let wallet = agent.wallet_key.as_ref().unwrap().to_hex();
        assert!(!shown.contains(&hex::encode(agent.signing_key.seed())));
        assert!(!shown.contains(&wallet[2..]));
        assert!(shown.contains(&agent.did.to_string()), "{shown}");
    }

    #[test]
    fn two_agents_share_nothing() {
        let entropy = CountingEntropy::default();
        let (one, other) = (identity("one", &entropy), identity("other", &entropy));
        assert_ne!(one.did, other.did);
        assert_ne!(one.signing_key, other.signing_key);
        assert_ne!(one.wallet_key, other.wallet_key);
    }

    #[test]
    fn a_damaged_file_is_named_without_its_secrets() {
        let agent = identity("alice", &CountingEntropy::default());
        let text = String::from_utf8(agent.to_file().unwrap().to_vec()).unwrap();
        let seed = hex::encode(agent.signing_key.seed());
        let table = [
            text.replace("\"v\": 1", "\"v\": 2"),
            text.replace(&seed, &seed[1..]),
            text.replace("\"did\"", "\"id\""),
            text.replace("alice", "../alice"),
            text[..text.len() / 2].to_owned(),
        ];
        for damaged in table {
            let error = Identity::from_file(damaged.as_bytes()).unwrap_err();
            assert!(!error.to_string().contains(&seed[1..]), "{error}");
        }
    }

    #[test]
    fn names_are_file_names() {
        let longest = "a".repeat(64);
        for good in ["a", "alice", "agent-7_b", longest.as_str()] {
            assert_eq!(good.parse::<AgentName>().unwrap().as_str(), good);
        }
        let too_long = "a".repeat(65);
        for bad in [
            "",
            "..",
            "a/b",
            "Alice",
            "a b",
            "é",
            "a.json",
            too_long.as_str(),
        ] {
            assert_eq!(bad.parse::<AgentName>(), Err(AgentNameError), "{bad}");
        }
    }
}
