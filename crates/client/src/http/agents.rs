//! Who there is, what they have earned, and that oneself is there (agents.md sections 3 and 4).

use serde::{Deserialize, Serialize};
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

/// Whether an agent is there, as far as the server knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Availability {
    /// It said so lately.
    Online,
    /// The same, and that it has much to do.
    Busy,
    /// It was, and is not heard of any more.
    Offline,
    /// It never said anything.
    Unknown,
}

impl Availability {
    /// As queries and answers write it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Availability::Online => "online",
            Availability::Busy => "busy",
            Availability::Offline => "offline",
            Availability::Unknown => "unknown",
        }
    }
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

/// An agent that may act.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FoundAgent {
    /// Its DID.
    pub did: Did,
    /// Place of its registration in the log.
    pub position: u64,
    /// Task types it offers.
    pub capabilities: Vec<String>,
    /// Whether it is there.
    pub availability: Availability,
    /// What it has earned.
    pub trust: TrustShown,
}

/// What an agent has earned, as the ledger counts it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct TrustShown {
    /// 0 to 100; 50 without history.
    pub score_hundredths: u8,
    /// Successes: how many interactions ended well.
    pub s: u32,
    /// Failures: how many ended because its RESULT or VERIFY did not come in time.
    pub f: u32,
    /// Disputes: how many ended in a dispute that counts against it.
    pub d: u32,
    /// Those of `d` that rest on the word of the other party alone.
    pub contested: u32,
    /// Accounts that confirmed payments to it came from; 1,000 are 1,000 or more.
    pub distinct_payers: u64,
}

impl TrustShown {
    /// The score, as policies compare it.
    pub const fn score(&self) -> Trust {
        Trust::of_hundredths(self.score_hundredths)
    }
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
