//! What the ledger says of rounds.

use serde_json::Value;
use x811_protocol::answer::{RoundView, Trace};
use x811_protocol::id::RoundId;
use x811_protocol::stream::Subject;
use x811_protocol::trace::Wid;

use super::error::ClientError;
use super::{LedgerClient, exchange};

impl LedgerClient {
    /// A round that the reader takes part in.
    ///
    /// # Errors
    /// [`ClientError`].
    pub async fn round(&self, id: RoundId) -> Result<RoundView, ClientError> {
        self.subject(Subject::Round(id)).await
    }

    /// The reader's own rounds, in order of id: all, or all behind `after`.
    ///
    /// # Errors
    /// [`ClientError`].
    pub async fn rounds(&self, after: Option<RoundId>) -> Result<Vec<RoundView>, ClientError> {
        self.list("rounds", &[], after.map(|id| id.to_string()))
            .await
    }

    /// All rounds that wait for a human.
    ///
    /// # Errors
    /// [`ClientError`].
    pub async fn escalations(&self) -> Result<Vec<RoundView>, ClientError> {
        self.list("escalations", &[], None).await
    }

    /// What humans decide on, as the ledger tells it.
    ///
    /// # Errors
    /// [`ClientError`].
    pub async fn escalation(&self, id: RoundId) -> Result<Value, ClientError> {
        let id = id.to_string();
        self.read_signed(&["api", "v1", "escalations", &id], &[])
            .await
    }

    /// The trace of a round and its retries, a session, an agreement or a contract, as the ledger signed it;
    /// nothing is checked here ([`x811_protocol::trace::check`]).
    ///
    /// # Errors
    /// [`ClientError`].
    pub async fn trace(&self, wid: Wid) -> Result<Trace, ClientError> {
        let wid = wid.to_string();
        self.read_signed(&["api", "v1", "traces", &wid], &[]).await
    }

    /// The same as a picture, in SVG.
    ///
    /// # Errors
    /// [`ClientError`].
    pub async fn trace_picture(&self, wid: Wid) -> Result<Vec<u8>, ClientError> {
        let wid = wid.to_string();
        let path = ["api", "v1", "traces", &wid];
        let reply = self.get_signed(&path, &[("format", "svg")], exchange::READ_LIMIT_MS);
        reply.await?.bytes()
    }
}
