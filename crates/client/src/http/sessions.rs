//! Sessions about capabilities and agreements as they stand, by the ledger's word. Unknown members are
//! ignored: a newer ledger may say more.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use x811_protocol::capability::version::Version;
use x811_protocol::did::Did;
use x811_protocol::digest::Digest;
use x811_protocol::facts::{SessionTerms, UsageLimits};
use x811_protocol::id::{AgreementId, EnvelopeId, SessionId};
use x811_protocol::stream::Subject;
use x811_protocol::time::TimestampMs;

use super::answer::HistoryRecord;
use super::error::ClientError;
use super::{LedgerClient, exchange};

/// A session.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SessionView {
    /// Which.
    pub id: SessionId,
    /// `requested`, `open`, `offered`, `countered`, `agreeing` or `closed`.
    pub status: String,
    /// The type of the capability.
    #[serde(rename = "type")]
    pub capability: String,
    /// The version that both use.
    pub version: Version,
    /// Who asked.
    pub initiator: Did,
    /// Who was asked.
    pub target: Did,
    /// The agreement that it makes, or negotiates again.
    pub agreement_id: AgreementId,
    /// The revision that it makes.
    pub revision: u64,
    /// Counters so far, of both sides together.
    pub counters: u64,
    /// Whose the last step was.
    pub author: Did,
    /// The message with the last terms.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step_id: Option<EnvelopeId>,
    /// What of them decides.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub terms: Option<SessionTerms>,
    /// Who has signed the agreement so far.
    #[serde(default)]
    pub signed_by: Vec<Did>,
    /// How it ended, if it has.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// End of the window that is open.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deadline_at_ms: Option<TimestampMs>,
}

/// An agreement.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AgreementView {
    /// Which.
    pub id: AgreementId,
    /// `active`, `revoked` or `ended`.
    pub status: String,
    /// The revision in force.
    pub revision: u64,
    /// Who may use the capability.
    pub consumer: Did,
    /// Who provides it.
    pub provider: Did,
    /// The type of the capability.
    #[serde(rename = "type")]
    pub capability: String,
    /// The version that both use.
    pub version: Version,
    /// What use is held to.
    pub limits: UsageLimits,
    /// Uses under this revision.
    pub requests: u64,
    /// SHA-256 of what both signed.
    pub agreement_hash: Digest,
    /// SHA-256 of its terms.
    pub terms_hash: Digest,
    /// The session that made the revision.
    pub session_id: SessionId,
    /// When the revision came into force.
    pub starts_at_ms: TimestampMs,
    /// From this moment on it is in force no longer.
    pub ends_at_ms: TimestampMs,
    /// What was in force as of the record that was asked for, where one was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub in_force: Option<InForce>,
}

/// The revision of an agreement that was in force as of some record.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct InForce {
    /// Which.
    pub revision: u64,
    /// Position of the record that put it in force.
    pub from_position: u64,
    /// Position of the record that ended it, or put the next one in force.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to_position: Option<u64>,
}

/// What an agent answers for.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Conduct {
    /// Whose.
    pub agent_id: Did,
    /// Breaches of agreements that were recorded.
    pub breaches: u64,
    /// Positions of those that count towards an exclusion.
    pub counted: Vec<u64>,
    /// Whether it is excluded from new sessions and rounds now.
    pub is_excluded: bool,
    /// The last exclusion, if there was one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exclusion: Option<Exclusion>,
}

/// An exclusion from new sessions and rounds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Exclusion {
    /// Whether an operator lifted it.
    pub is_lifted: bool,
    /// Position of its record.
    pub position: u64,
    /// It holds before this moment.
    pub until_ms: TimestampMs,
}

/// That an exclusion holds no longer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lifted {
    /// Whose it was.
    pub agent_id: Did,
    /// Position of the exclusion.
    pub excluded: u64,
    /// Position of the record that lifts it.
    pub position: u64,
    /// Its hash.
    pub record_hash: Digest,
}

impl LedgerClient {
    /// A session as it stands.
    ///
    /// # Errors
    /// [`ClientError`]; a refusal with HTTP status 404 for those who are no party to it.
    pub async fn session(&self, id: SessionId) -> Result<SessionView, ClientError> {
        self.subject(Subject::Session(id)).await
    }

    /// An agreement as it stands.
    ///
    /// # Errors
    /// As [`LedgerClient::session`].
    pub async fn agreement(&self, id: AgreementId) -> Result<AgreementView, ClientError> {
        self.subject(Subject::Agreement(id)).await
    }

    /// All of one's own sessions, in order of id.
    ///
    /// # Errors
    /// [`ClientError`].
    pub async fn sessions(&self) -> Result<Vec<SessionView>, ClientError> {
        self.list("sessions", &[], None).await
    }

    /// All of one's own agreements, in order of id; with `as_of`, those that were in force as of that
    /// record.
    ///
    /// # Errors
    /// [`ClientError`].
    pub async fn agreements(&self, as_of: Option<u64>) -> Result<Vec<AgreementView>, ClientError> {
        let as_of = as_of.map(|position| position.to_string());
        let query: Vec<_> = as_of.iter().map(|as_of| ("as_of", &**as_of)).collect();
        self.list("agreements", &query, None).await
    }

    /// Breaches that an agent answers for, and its exclusion: one's own, of others as auditor or operator.
    ///
    /// # Errors
    /// [`ClientError`].
    pub async fn conduct(&self, agent: Did) -> Result<Conduct, ClientError> {
        let id = agent.uuid().to_string();
        let path = ["api", "v1", "agents", &id, "conduct"];
        self.read_signed(&path, &[]).await
    }

    /// Has an exclusion lifted, as one of the ledger's operators; `excluded` is the position of its record.
    ///
    /// # Errors
    /// [`ClientError`]; X811-4001 when that exclusion does not hold.
    pub async fn lift_exclusion(&self, agent: Did, excluded: u64) -> Result<Lifted, ClientError> {
        let (id, excluded) = (agent.uuid().to_string(), excluded.to_string());
        let path = ["api", "v1", "agents", &id, "conduct", "lift"];
        let query = [("excluded", excluded.as_str())];
        let reply = self.post_signed(&path, &query, exchange::SUBMIT_LIMIT_MS);
        reply.await?.read()
    }

    /// All records of a session, in order, as [`LedgerClient::history`] gives those of an interaction.
    ///
    /// # Errors
    /// As [`LedgerClient::history`].
    pub async fn session_history(&self, id: SessionId) -> Result<Vec<HistoryRecord>, ClientError> {
        self.records_of(Subject::Session(id)).await
    }

    /// All records of an agreement, in order.
    ///
    /// # Errors
    /// As [`LedgerClient::history`].
    pub async fn agreement_history(
        &self,
        id: AgreementId,
    ) -> Result<Vec<HistoryRecord>, ClientError> {
        self.records_of(Subject::Agreement(id)).await
    }

    /// What both signed, as a JWS in its general JSON serialisation (RFC 7515); the last revision
    /// without `revision`. Nothing of it is checked here.
    ///
    /// # Errors
    /// As [`LedgerClient::session`].
    pub async fn agreement_jws(
        &self,
        id: AgreementId,
        revision: Option<u64>,
    ) -> Result<Value, ClientError> {
        let id = id.to_string();
        let revision = revision.map(|revision| revision.to_string());
        let query: Vec<_> = revision.iter().map(|text| ("revision", &**text)).collect();
        let path = ["api", "v1", "agreements", &id, "jws"];
        self.read_signed(&path, &query).await
    }
}
