//! What the ledger says of rounds. Unknown members are ignored: a newer ledger may say more.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use x811_protocol::did::Did;
use x811_protocol::digest::Digest;
use x811_protocol::facts::consensus::{Mechanism, Voting};
use x811_protocol::id::RoundId;
use x811_protocol::stream::Subject;
use x811_protocol::time::TimestampMs;
use x811_protocol::trace::{OwnToken, Wid};

use super::answer::HistoryRecord;
use super::error::ClientError;
use super::{LedgerClient, exchange};

/// `GET /api/v1/rounds/{id}`: by the ledger's word.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize)]
pub struct RoundView {
    /// Which: the envelope id of its proposal.
    pub id: RoundId,
    /// Where it stands.
    pub status: String,
    /// What it is about.
    pub action_type: String,
    /// Which attempt it is.
    pub attempt: u64,
    /// Who proposed it.
    pub proposer: Did,
    /// The ledger, or the agent that leads.
    pub leader: Did,
    /// How votes decide.
    pub mechanism: Mechanism,
    /// Open or sealed.
    pub voting: Voting,
    /// Who votes.
    pub participants: Vec<Did>,
    /// The least number of votes.
    pub quorum: u64,
    /// What votes repeat.
    pub proposal_hash: Digest,
    /// The last moment for votes.
    pub timeout_ms: TimestampMs,
    /// Who is ready.
    pub ready: Vec<Did>,
    /// Who has cast a vote.
    pub voted: Vec<Did>,
    /// Who has done what was decided.
    pub executed: Vec<Did>,
    /// Who could not.
    pub failed: Vec<Did>,
    /// Counts, outcome, reason and votes digest, once it is decided.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outcome: Option<Map<String, Value>>,
    /// Whether humans were asked.
    pub escalated: bool,
    /// Position of the escalation, in lists of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub escalation: Option<u64>,
    /// The failed round that it retries.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resubmission_of: Option<RoundId>,
    /// Its retry.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retried_by: Option<RoundId>,
    /// The rival that was accepted in its place, or that stayed in a cycle.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub superseded_by: Option<RoundId>,
    /// End of the window that is open.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deadline_at_ms: Option<TimestampMs>,
    /// Its last record.
    pub last_position: u64,
}

/// `GET /api/v1/traces/{wid}`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Trace {
    /// What it is named by.
    pub wid: Wid,
    /// Tokens, each behind those that it rests on.
    pub tokens: Vec<String>,
    /// Tokens that agents put into their messages.
    #[serde(default)]
    pub own: Vec<OwnToken>,
}

impl LedgerClient {
    /// A round that the reader takes part in.
    ///
    /// # Errors
    /// [`ClientError`].
    pub async fn round(&self, id: RoundId) -> Result<RoundView, ClientError> {
        self.subject(Subject::Round(id)).await
    }

    /// Its records, each held against its hash. Before it is decided votes are not among them.
    ///
    /// # Errors
    /// [`ClientError`].
    pub async fn round_history(&self, id: RoundId) -> Result<Vec<HistoryRecord>, ClientError> {
        self.records_of(Subject::Round(id)).await
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
