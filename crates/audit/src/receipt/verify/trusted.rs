//! What a verifier has from other sources than the receipt.

use crate::KnownAgentKeys;
use crate::refresh::Refresh;
use x811_eventlog::Policy;

/// What a verifier has from other sources than the receipt.
#[derive(Debug, Clone, Copy, Default)]
pub struct Trusted<'a> {
    /// The log and the witnesses that are trusted.
    pub policy: Option<&'a Policy>,
    /// A later statement of the ledger about the receipt's checkpoint, where the trusted key is one that
    /// replaced the key of the checkpoint.
    pub refresh: Option<&'a Refresh>,
    /// Keys of agents.
    pub agent_keys: Option<&'a KnownAgentKeys>,
}
