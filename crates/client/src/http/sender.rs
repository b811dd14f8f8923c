//! Whose signature it is: the sender's keys, from its DID document (AE-84, AE-93, AX-29).

use serde_json::Value;
use x811_protocol::code::Code;
use x811_protocol::did::Did;
use x811_protocol::document::DidDocument;
use x811_protocol::envelope::{EnvelopeRules, ParsedEnvelope, VerifiedEnvelope, verify};
use x811_protocol::key::{AgentKey, Profile};
use x811_protocol::time::TimestampMs;

use super::LedgerClient;
use super::answer::AgentStatus;
use super::error::ClientError;

/// How long a document may be used without asking again (AE-93).
const CACHED_MS: u64 = 300_000;

/// An agent's keys as of a moment.
#[derive(Debug, Clone)]
pub(super) struct CachedKeys {
    keys: Vec<AgentKey>,
    resolved_at: TimestampMs,
}

impl LedgerClient {
    /// Reads an envelope that the ledger relays and checks its signature. Its age is not looked at:
    /// that was the ledger's part (AX-45).
    ///
    /// # Errors
    /// [`ClientError::Untrusted`] when it is malformed or not signed by its sender.
    pub async fn verified(&self, envelope: &[u8]) -> Result<VerifiedEnvelope, ClientError> {
        let rules = EnvelopeRules {
            lenient_ids: true,
            ..EnvelopeRules::default()
        };
        let parsed = ParsedEnvelope::parse(envelope, &rules)
            .map_err(|refusal| untrusted(format!("an envelope is malformed: {refusal}")))?;
        let (id, from) = (parsed.header.id, parsed.header.from);
        let unsigned = || untrusted(format!("envelope {id} is not signed by {from}"));
        if let Some(keys) = self.cached_keys(from)
            && let Ok(verified) = verify(parsed.clone(), &keys)
        {
            return Ok(verified);
        }
        // Not known yet, or its key was replaced since (AX-29).
        let keys = self.resolve_keys(from).await?;
        verify(parsed, &keys).map_err(|_| unsigned())
    }

    fn cached_keys(&self, did: Did) -> Option<Vec<AgentKey>> {
        let cached = self.keys.lock().ok()?.get(&did)?.clone();
        (self.clock.now().since(cached.resolved_at) <= CACHED_MS).then_some(cached.keys)
    }

    async fn resolve_keys(&self, did: Did) -> Result<Vec<AgentKey>, ClientError> {
        let keys = match self.agent_keys(did).await {
            Err(ClientError::Refused(refused)) if refused.code == Code::DidNotFound => {
                self.ledger_keys(did).await?
            }
            keys => keys?,
        };
        let cached = CachedKeys {
            keys: keys.clone(),
            resolved_at: self.clock.now(),
        };
        if let Ok(mut all) = self.keys.lock() {
            all.insert(did, cached);
        }
        Ok(keys)
    }

    /// The keys of the agent's document; the registry adds which profile each signs by (AX-23).
    async fn agent_keys(&self, did: Did) -> Result<Vec<AgentKey>, ClientError> {
        let agent = self.agent(did).await?;
        let is_withdrawn = matches!(
            agent.status,
            AgentStatus::Deactivated | AgentStatus::Revoked
        );
        if is_withdrawn && agent.did == did {
            // Its document resolves no more (AX-30); what it said before is still its own.
            return Ok(agent.keys);
        }
        let document = self.document(did).await?;
        keys_of(did, &document, |key| {
            let known = agent.keys.iter().find(|known| known.key == key.key);
            known.map_or(Profile::Digest, |known| known.profile)
        })
    }

    /// The keys of the ledger itself, which signs notices (AX-32).
    async fn ledger_keys(&self, did: Did) -> Result<Vec<AgentKey>, ClientError> {
        let document: Value = self.get(&[".well-known", "did.json"], &[]).await?.read()?;
        keys_of(did, &document, |_| Profile::Digest)
    }
}

fn keys_of(
    did: Did,
    document: &Value,
    profile_of: impl Fn(&AgentKey) -> Profile,
) -> Result<Vec<AgentKey>, ClientError> {
    let document = DidDocument::parse(document)
        .map_err(|error| untrusted(format!("the document of {did} is not valid: {error}")))?;
    if document.id != did {
        return Err(untrusted(format!(
            "{did} has no document here; it is not registered"
        )));
    }
    let with_profile = |key| {
        let key = AgentKey {
            key,
            profile: Profile::Digest,
        };
        AgentKey {
            profile: profile_of(&key),
            ..key
        }
    };
    Ok(document.keys.into_iter().map(with_profile).collect())
}

fn untrusted(cause: String) -> ClientError {
    ClientError::Untrusted { cause }
}
