//! Who there is, what they have earned, and that oneself is there (agents.md sections 3 and 4).

use serde::{Deserialize, Serialize};
use x811_protocol::answer::{Availability, FoundAgent, TrustShown};
use x811_protocol::capability::version::Version;
use x811_protocol::did::Did;

use super::LedgerClient;
use super::error::ClientError;
use super::exchange;
use crate::policy::Trust;

/// Which agents are asked for.
#[derive(Debug, Clone, Default)]
pub struct AgentQuery {
    /// Who offers this task type.
    pub capability: Option<String>,
    /// Whose descriptor has a capability of this type.
    pub advertised: Option<String>,
    /// Whose descriptor supports this version; with `advertised`, of that type.
    pub version: Option<Version>,
    /// Whose score is at least this.
    pub trust_min: Option<Trust>,
    /// Who is so now.
    pub availability: Option<Availability>,
    /// The `next` of the page before.
    pub after: Option<u64>,
    /// How many at most.
    pub limit: Option<u64>,
}

/// A page of agents, in order of registration.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentsPage {
    /// The agents; there may be none though a page follows.
    pub agents: Vec<FoundAgent>,
    /// Position of the last record that the page reflects.
    pub as_of: u64,
    /// For [`AgentQuery::after`]; absent when there are no more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<u64>,
}

impl LedgerClient {
    /// A page of the agents that may act.
    ///
    /// # Errors
    /// [`ClientError`].
    pub async fn agents(&self, asked: &AgentQuery) -> Result<AgentsPage, ClientError> {
        let numbers = [("after", asked.after), ("limit", asked.limit)];
        let numbers = numbers.map(|(name, number)| (name, number.map(|n| n.to_string())));
        let trust_min = asked.trust_min.map(|least| least.to_string());
        let mut query: Vec<(&str, &str)> = Vec::new();
        query.extend(asked.capability.iter().map(|name| ("capability", &**name)));
        query.extend(asked.advertised.iter().map(|name| ("type", &**name)));
        let version = asked.version.map(|version| version.to_string());
        query.extend(version.iter().map(|version| ("version", &**version)));
        query.extend(trust_min.iter().map(|least| ("trust_min", &**least)));
        let availability = asked.availability.map(Availability::as_str);
        query.extend(availability.map(|word| ("availability", word)));
        for (name, number) in &numbers {
            query.extend(number.iter().map(|number| (*name, &**number)));
        }
        self.get(&["api", "v1", "agents"], &query).await?.read()
    }

    /// What an agent has earned; with `as_of`, as of the record at that position.
    ///
    /// # Errors
    /// X811-1001 for a DID that is not registered; else as [`ClientError`] says.
    pub async fn trust(&self, did: Did, as_of: Option<u64>) -> Result<TrustShown, ClientError> {
        let uuid = did.uuid().to_string();
        let as_of = as_of.map(|position| position.to_string());
        let query: Vec<(&str, &str)> = as_of.iter().map(|as_of| ("as_of", &**as_of)).collect();
        let path = ["api", "v1", "agents", &uuid, "trust"];
        self.get(&path, &query).await?.read()
    }

    /// Says, as the reader of this client, that `me` is there for the next `ttl_s` seconds.
    ///
    /// # Errors
    /// [`ClientError`].
    pub async fn heartbeat(&self, me: Did, ttl_s: u64) -> Result<(), ClientError> {
        let uuid = me.uuid().to_string();
        let ttl_s = ttl_s.to_string();
        let path = ["api", "v1", "agents", &uuid, "heartbeat"];
        let query = [("ttl_s", ttl_s.as_str())];
        let reply = self.post_signed(&path, &query, exchange::READ_LIMIT_MS);
        reply.await?.bytes().map(|_| ())
    }
}
