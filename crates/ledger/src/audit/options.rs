//! What an audit is asked for, beside what it always does.

use std::fmt;
use std::sync::Arc;

use x811_eventlog::{Hash, Policy};

/// Told how many records were audited, and of how many.
pub type OnProgress = Arc<dyn Fn(u64, u64) + Send + Sync>;

/// What an audit is asked for.
#[derive(Clone, Default)]
pub struct Options {
    /// A head noted earlier, from a source that is trusted: the log must hold it.
    pub expected_head: Option<Hash>,
    /// Whose checkpoints are trusted, by a source outside the file: every one must satisfy it, and
    /// there must be one. Without it the ledger's key is the one that the file names.
    pub trust: Option<Arc<Policy>>,
    /// The last signed checkpoint of a store, which lies elsewhere; an export brings its own.
    pub checkpoint: Option<String>,
    /// Whether the report keeps the evidence of every payment, to be held against the network: some
    /// hundred bytes each.
    pub keeps_evidence: bool,
    /// Called now and then by the audit of a store, from any thread; whoever audits a file sees how
    /// far it is read.
    pub on_progress: Option<OnProgress>,
}

impl Options {
    /// Says how far it is.
    pub(super) fn tell(&self, done: u64, total: u64) {
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
            .field("checkpoint", &self.checkpoint)
            .field("keeps_evidence", &self.keeps_evidence)
            .finish_non_exhaustive()
    }
}
