//! Sessions about capabilities and agreements as they stand, by the ledger's word.

use serde_json::Value;
use x811_protocol::answer::{AgreementView, Conduct, Lifted, SessionView};
use x811_protocol::did::Did;
use x811_protocol::id::{AgreementId, SessionId};
use x811_protocol::stream::Subject;

use super::error::ClientError;
use super::{LedgerClient, exchange};

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
