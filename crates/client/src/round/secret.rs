//! What a sealed vote stands for, kept until it may be revealed.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::{Deserialize, Serialize};
use x811_protocol::id::RoundId;
use x811_protocol::time::TimestampMs;

use crate::compose::{Ballot, RoundStep};
use crate::entropy::{Entropy, EntropyError};

/// Random bytes of a salt.
const SALT_BYTES: usize = 32;

/// What a commitment stands for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Secret {
    /// Id of the round: the envelope id of its proposal.
    pub round: RoundId,
    /// What is said.
    pub ballot: Ballot,
    /// Random bytes in base64url, so that nobody finds the vote by trying.
    pub salt: String,
    /// When it was committed to; the reveal repeats it.
    pub at: TimestampMs,
}

impl Secret {
    /// With a salt of its own.
    ///
    /// # Errors
    /// As [`Entropy::fill`].
    pub fn draw(
        round: RoundId,
        ballot: Ballot,
        at: TimestampMs,
        entropy: &dyn Entropy,
    ) -> Result<Secret, EntropyError> {
        let salt = URL_SAFE_NO_PAD.encode(entropy.array::<SALT_BYTES>()?);
        Ok(Secret {
            round,
            ballot,
            salt,
            at,
        })
    }

    /// Reveals it; the ledger takes that from the timeout on.
    pub fn reveal(&self) -> RoundStep {
        RoundStep::Reveal {
            round: self.round,
            ballot: self.ballot.clone(),
            salt: self.salt.clone(),
            at: self.at,
        }
    }
}
