//! How much of a page of the specification holds under a block of parameters.

use serde::{Deserialize, Serialize};

/// Which of its rules hold under a block: what was recorded before a rule was built keeps the meaning that it
/// had.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "u64", into = "u64")]
pub enum Edition {
    /// Of rounds (round.md): they know nothing of each other. Of capabilities (capability.md, "Breach and
    /// exclusion"): a breach moves no trust, and an exclusion is from sessions alone.
    #[default]
    First,
    /// Of rounds: they are held for rivals, cycles are broken, lasting silence is a deadlock, members get
    /// notices, and `deliveries_per_day` is a limit. Of capabilities: a breach counts as a dispute (CX-49), and
    /// an exclusion is from rounds too (CC-113).
    Second,
}

impl Edition {
    /// Serde hands a reference.
    #[expect(
        clippy::trivially_copy_pass_by_ref,
        reason = "serde calls it with a reference"
    )]
    pub(super) fn is_first(&self) -> bool {
        *self == Edition::First
    }
}

impl TryFrom<u64> for Edition {
    type Error = String;

    fn try_from(number: u64) -> Result<Edition, String> {
        match number {
            1 => Ok(Edition::First),
            2 => Ok(Edition::Second),
            _ => Err(format!(
                "version {number} of the block is not known here: read it with a later program"
            )),
        }
    }
}

impl From<Edition> for u64 {
    fn from(edition: Edition) -> u64 {
        match edition {
            Edition::First => 1,
            Edition::Second => 2,
        }
    }
}
