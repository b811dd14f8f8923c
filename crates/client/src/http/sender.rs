//! Whose signature it is: the sender's keys, from its DID document (AE-84, AE-93, AX-29), and those
//! it had before (ledger-contract.md section 4).

use std::sync::Arc;

use serde_json::Value;
use x811_protocol::answer::AgentStatus;
use x811_protocol::code::Code;
use x811_protocol::did::Did;
use x811_protocol::document::DidDocument;
use x811_protocol::envelope::{EnvelopeRules, ParsedEnvelope, VerifiedEnvelope};
use x811_protocol::key::{AgentKey, Profile};

use super::LedgerClient;
use super::error::ClientError;
use super::known_keys::{CachedHistory, CachedKeys, is_fresh};

impl LedgerClient {
    /// Reads an envelope that the ledger relays and took at `position`, and checks its signature by
    /// the keys its sender had then. Its age is not looked at: that was the ledger's part (AX-45).
    ///
    /// # Errors
    /// [`ClientError::Untrusted`] when it is malformed or not signed by its sender.
    pub async fn verified(
        &self,
        envelope: &[u8],
        position: u64,
    ) -> Result<VerifiedEnvelope, ClientError> {
        let rules = EnvelopeRules {
            lenient_ids: true,
            reference_sdk: true,
            ..EnvelopeRules::default()
        };
        let parsed = ParsedEnvelope::parse(envelope, &rules)
            .map_err(|refusal| untrusted(format!("an envelope is malformed: {refusal}")))?;
        let (id, from) = (parsed.header.id, parsed.header.from);
        let cached = self.cached_keys(from);
        let known = cached.as_ref();
        if let Some(verified) = known.and_then(|keys| keys.verify(&parsed, position)) {
            return Ok(verified);
        }
        // Not known yet, or its key was replaced since (AX-29).
        let mut keys = self.resolve_keys(from, cached).await?;
        if let Some(verified) = keys.verify(&parsed, position) {
            return Ok(verified);
        }
        // Said before its key was replaced, or not by it.
        if keys.history.is_none() {
            keys = self.with_history(from, keys).await?;
        }
        let verified = keys.verify(&parsed, position);
        verified.ok_or_else(|| untrusted(format!("envelope {id} is not signed by {from}")))
    }

    fn cached_keys(&self, did: Did) -> Option<CachedKeys> {
        self.keys.lock().ok()?.get(did, self.clock.now())
    }

    /// The present keys. While they are the same, a history read before still leads to them.
    async fn resolve_keys(
        &self,
        did: Did,
        before: Option<CachedKeys>,
    ) -> Result<CachedKeys, ClientError> {
        let present = match self.agent_keys(did).await {
            Err(ClientError::Refused(refused)) if refused.code == Code::DidNotFound => {
                self.ledger_keys(did).await?
            }
            keys => keys?,
        };
        let now = self.clock.now();
        let before = before.and_then(|before| before.history);
        let history = before
            .filter(|cached| is_fresh(cached.read_at, now) && cached.history.leads_to(&present));
        let resolved = CachedKeys {
            present,
            resolved_at: now,
            history,
        };
        self.cache(did, &resolved);
        Ok(resolved)
    }

    /// The same with the keys that led to the present ones; without, where the ledger shows none, as
    /// versions before it did (of itself later than of agents).
    async fn with_history(
        &self,
        did: Did,
        mut keys: CachedKeys,
    ) -> Result<CachedKeys, ClientError> {
        let history = match self.key_history(did).await {
            Err(ClientError::Refused(refused)) if refused.status == 404 => return Ok(keys),
            history => history?,
        };
        if !history.leads_to(&keys.present) {
            // Between the two answers a key may have been replaced.
            keys = self.resolve_keys(did, None).await?;
        }
        if !history.leads_to(&keys.present) {
            return Err(untrusted(format!(
                "the rotations of {did} do not lead to the keys of its document"
            )));
        }
        keys.history = Some(CachedHistory {
            history: Arc::new(history),
            read_at: self.clock.now(),
        });
        self.cache(did, &keys);
        Ok(keys)
    }

    fn cache(&self, did: Did, keys: &CachedKeys) {
        if let Ok(mut all) = self.keys.lock() {
            all.insert(did, keys.clone(), self.clock.now());
        }
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
