//! What an audit is asked for, beside what it always does.

use std::fmt;
use std::sync::Arc;

use serde::Serialize;
use x811_eventlog::note::NoteKey;
use x811_eventlog::{Hash, Policy};

use crate::identity::agent_keys::KnownAgentKeys;
use crate::money::listing::Period;
use crate::refresh::Refresh;

/// Told how many records were audited, and of how many.
pub type OnProgress = Arc<dyn Fn(u64, u64) + Send + Sync>;

/// What an audit is asked for.
#[derive(Clone, Default)]
pub struct Options {
    /// A head noted earlier, from a source that is trusted: the log must hold it.
    pub expected_head: Option<Hash>,
    /// Whose checkpoints are trusted, by a source outside the file: every one must satisfy it, and
    /// there must be one. Without it the ledger's key is the one that the file names.
    pub trust: Option<TrustedBy>,
    /// Keys of agents that are known from another source: the log has to give the agents these keys.
    pub agent_keys: KnownAgentKeys,
    /// What the ledger said later of the file's checkpoint, where that is by a key which it replaced
    /// since (ledger-contract.md section 8).
    pub refresh: Option<Arc<Refresh>>,
    /// The last signed checkpoint of a store, which lies elsewhere; an export brings its own.
    pub checkpoint: Option<String>,
    /// Whether the report keeps the evidence of every payment, to be held against the network: some
    /// hundred bytes each.
    pub keeps_evidence: bool,
    /// A signed checkpoint noted earlier, from anywhere: the first records of a whole log must be
    /// those that it covers.
    pub noted_checkpoint: Option<String>,
    /// Whether the report lists every interaction and every payment by itself, and of which time:
    /// some eighty bytes each while the log is read, and four hundred in the report.
    pub listing: Option<Period>,
    /// Called now and then by the audit of a store, from any thread; whoever audits a file sees how
    /// far it is read.
    pub on_progress: Option<OnProgress>,
}

/// Whose checkpoints an auditor trusts.
#[derive(Debug, Clone)]
pub struct TrustedBy {
    pub(crate) policy: Arc<Policy>,
    pub(crate) given: Given,
}

/// What an auditor gave, to say whom they trust.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Given {
    /// The key of one log.
    Key,
    /// A policy: the keys of logs, and of witnesses.
    Policy,
}

impl From<NoteKey> for TrustedBy {
    fn from(key: NoteKey) -> Self {
        Self {
            policy: Arc::new(Policy::of_log(key)),
            given: Given::Key,
        }
    }
}

impl From<Policy> for TrustedBy {
    fn from(policy: Policy) -> Self {
        Self {
            policy: Arc::new(policy),
            given: Given::Policy,
        }
    }
}

/// The word for it.
impl fmt::Display for Given {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Given::Key => "key",
            Given::Policy => "policy",
        })
    }
}

impl Options {
    /// Says how far it is.
    pub fn tell(&self, done: u64, total: u64) {
        if let Some(on_progress) = &self.on_progress {
            on_progress(done, total);
        }
    }
}

impl From<Option<Hash>> for Options {
    fn from(expected_head: Option<Hash>) -> Options {
        Options {
            expected_head,
            ..Options::default()
        }
    }
}

impl fmt::Debug for Options {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Options")
            .field("expected_head", &self.expected_head)
            .field("trust", &self.trust)
            .field("agent_keys", &self.agent_keys)
            .field("refresh", &self.refresh)
            .field("checkpoint", &self.checkpoint)
            .field("keeps_evidence", &self.keeps_evidence)
            .field("noted_checkpoint", &self.noted_checkpoint)
            .field("listing", &self.listing)
            .finish_non_exhaustive()
    }
}
