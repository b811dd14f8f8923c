//! Facts of `x811.pledge/give`, the one message of the trial machine.

use serde::{Deserialize, Serialize};

verbs! {
    /// The message of a pledge.
    PledgeVerb, "pledge" {
        /// A word is given.
        Give = "give",
    }
}

/// What of a pledge decides.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PledgeFacts {
    /// For how long its giver is held to it, in seconds.
    pub window_s: u64,
}
