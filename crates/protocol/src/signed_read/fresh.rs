//! How long a signed request is good for (ledger-contract.md section 6).

use super::ReadProof;
use crate::time::TimestampMs;

/// How old a signature may be, in milliseconds.
const WINDOW_MS: u64 = 60_000;

/// How far ahead of the ledger's clock it may be dated, in milliseconds: for clocks that run fast.
const MAX_AHEAD_MS: u64 = 5_000;

/// Why a signature is not taken at some moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NotFresh {
    /// Made long before, or after.
    #[error(
        "it was not created within the last 60 s by this ledger's clock, nor within 5 s ahead of \
         it: synchronise the clock and sign anew"
    )]
    Created,
    /// Its maker wanted it taken until earlier.
    #[error("it has expired: sign anew")]
    Expired,
}

impl ReadProof {
    /// When it is said to have been made.
    #[must_use]
    pub fn created(&self) -> TimestampMs {
        TimestampMs::new(self.created_s.saturating_mul(1_000))
    }

    /// Whether it is taken at `now`, by the ledger's clock.
    ///
    /// # Errors
    /// Why it is not.
    pub fn check_fresh(&self, now: TimestampMs) -> Result<(), NotFresh> {
        let (now_ms, created_ms) = (now.as_ms(), self.created().as_ms());
        let expires_ms = self.expires_s.unwrap_or(u64::MAX).saturating_mul(1_000);
        let is_ahead = created_ms > now_ms.saturating_add(MAX_AHEAD_MS);
        if is_ahead || created_ms.saturating_add(WINDOW_MS) < now_ms {
            return Err(NotFresh::Created);
        }
        if expires_ms < now_ms {
            return Err(NotFresh::Expired);
        }
        Ok(())
    }
}
